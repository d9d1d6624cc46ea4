//go:build unix && (!linux || portable)

package processes

import (
	"errors"
	"os"
)

// openTerminal says that there is no terminal for a program: every system makes one
// in a way of its own.
func openTerminal(size) (ours, program *os.File, err error) {
	return nil, nil, errors.New("there is no pseudo-terminal on this system: start it without pty")
}

// listening says that the system does not tell what processes listen on.
func listening([]int) ([]string, error) { return nil, errors.ErrUnsupported }

// setSize is not called where there is no terminal.
func setSize(*os.File, size) error { return errors.ErrUnsupported }
