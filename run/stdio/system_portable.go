//go:build unix && (!linux || portable)

package stdio

import "time"

// closeMemory does nothing: these systems have no safe equivalent.
func closeMemory() {}

// Stop is nil: ^Z keeps its default action here.
var Stop func()

// awaitWritable sleeps briefly: poll does not work on every terminal here.
func awaitWritable(int) { time.Sleep(time.Millisecond) }

// growPipe does nothing: these systems adapt the size of pipes themselves.
func growPipe(int) {}

// immediateWrite is nil: O_NONBLOCK would affect every process that shares the file description.
func immediateWrite() func(fd int, p []byte) int { return nil }
