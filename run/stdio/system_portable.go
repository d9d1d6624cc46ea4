//go:build unix && (!linux || portable)

package stdio

import (
	"errors"
	"time"
)

// closeMemory has no equivalent that is safe on these systems.
func closeMemory() {}

// Stop is nil: ^Z does here what the system does.
var Stop func()

// awaitWritable waits a little: poll does not work on every terminal here.
func awaitWritable(int) { time.Sleep(time.Millisecond) }

// writeNow cannot be had: O_NONBLOCK would be for everybody who shares the file.
func writeNow(int, []byte) (int, error) { return 0, errors.ErrUnsupported }

func writable(_ int, within time.Duration) bool {
	time.Sleep(within)
	return true
}
