//go:build unix && (!linux || portable)

package session

import (
	"errors"
	"os"
	"syscall"
)

// lock locks f until it is closed or the process dies. The system does not report the process of
// such a lock.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return &heldError{}
	}
	return err
}
