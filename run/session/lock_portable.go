//go:build unix && (!linux || portable)

package session

import (
	"errors"
	"os"
	"syscall"
)

// lock locks f until it is closed, also by the death of the process. Such a lock does
// not tell which process has it.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return &heldError{}
	}
	return err
}
