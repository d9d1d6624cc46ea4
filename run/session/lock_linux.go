//go:build !portable

package session

import (
	"errors"
	"os"
	"syscall"
)

// Commands for locks that belong to the open file, not to the process. They do not end when another
// descriptor of the file is closed, and they end with the process at the latest.
const (
	setLock = 37 // F_OFD_SETLK
	getLock = 36 // F_OFD_GETLK
)

// lock locks f until it is closed or the process dies. All locks begin at the same byte, far after
// the text, so only one can exist at a time. The system does not report the process of such a lock,
// so the length of the lock is the process id.
func lock(f *os.File) error {
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Start: 1 << 40, Len: int64(os.Getpid())}
	err := syscall.FcntlFlock(f.Fd(), setLock, &l)
	if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES) {
		return err
	}
	l.Pid = 0
	if syscall.FcntlFlock(f.Fd(), getLock, &l) != nil || l.Type == syscall.F_UNLCK {
		l.Len = 0
	}
	return &heldError{pid: int(l.Len)}
}
