//go:build unix && (!linux || portable)

package processes

import (
	"errors"
	"os"
)

// openTerminal always fails: every system creates terminals in its own way.
func openTerminal(size) (ours, program *os.File, err error) {
	return nil, nil, errors.New("there is no pseudo-terminal on this system: start it without pty")
}

// listening is not supported: the system does not report what processes listen on.
func listening([]int) ([]string, error) { return nil, errors.ErrUnsupported }

// setSize is never called on a system without terminals.
func setSize(*os.File, size) error { return errors.ErrUnsupported }
