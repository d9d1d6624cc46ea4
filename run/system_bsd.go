//go:build unix && !linux

package run

import "time"

// closeMemory has no equivalent that is safe on these systems.
func closeMemory() {}

// Stop is nil: ^Z does here what the system does.
var Stop func()

// awaitWritable waits a little: poll does not work on every terminal here.
func awaitWritable(int) { time.Sleep(time.Millisecond) }

// writable does not know, for the same reason.
func writable(int) bool { return false }
