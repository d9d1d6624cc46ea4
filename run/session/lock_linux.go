//go:build !portable

package session

import (
	"errors"
	"os"
	"syscall"
)

// The commands of locks that belong to the open file, not to the process, and so end
// neither when another descriptor of the file is closed nor later than the process.
const (
	setLock = 37 // F_OFD_SETLK
	getLock = 36 // F_OFD_GETLK
)

// lock locks f until it is closed, also by the death of the process. All locks begin
// at the same byte, far behind the text, so that there is one at a time. The system
// does not tell which process has such a lock, so its length is the process's number.
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
