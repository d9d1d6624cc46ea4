//go:build unix && (!linux || portable)

package stdio

import "time"

// closeMemory has no equivalent that is safe on these systems.
func closeMemory() {}

// Stop is nil: ^Z has its default action here.
var Stop func()

// awaitWritable waits a moment: poll does not work on every terminal here.
func awaitWritable(int) { time.Sleep(time.Millisecond) }

// growPipe does nothing: these systems size their pipes by themselves.
func growPipe(int) {}

// immediateWrite is nil: O_NONBLOCK would hold for every process that shares the file
// description.
func immediateWrite() func(fd int, p []byte) int { return nil }
