package approve

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// A tty is an open terminal. Its descriptor is non-blocking, so that a terminal
// that accepts no output (Ctrl-S) cannot hang the program. It is an open file of
// its own, so that this mode changes for no other descriptor.
type tty struct{ fd int }

// openTTY opens the terminal at path without making it the controlling one. It
// opens the terminal's own device where that is known: /dev/tty is one file for
// all terminals, and so would be a lock on it.
func openTTY(path string) (*tty, error) {
	const flags = syscall.O_RDWR | syscall.O_NOCTTY | syscall.O_CLOEXEC | syscall.O_NONBLOCK
	fd, err := syscall.Open(path, flags, 0)
	if err != nil {
		return nil, err
	}
	t := &tty{fd}
	if device, number := t.device(); device != "" {
		var stat syscall.Stat_t
		own, err := syscall.Open(device, flags, 0)
		switch {
		case err != nil:
		case syscall.Fstat(own, &stat) == nil && uint64(stat.Rdev) == number:
			t.close()
			t.fd = own
		default:
			_ = syscall.Close(own)
		}
	}
	var pgrp int32
	if err := t.ioctl(syscall.TIOCGPGRP, unsafe.Pointer(&pgrp)); err != nil {
		t.close()
		return nil, err
	}
	if t.fd >= maxSelect {
		t.close()
		return nil, fmt.Errorf("too many open files to wait for a terminal")
	}
	return t, nil
}

// lock locks the terminal against the other processes of our process group,
// until close, and reports whether that worked. Each group has its own lock,
// because only one group is in the foreground: so a job that was stopped while
// it asked does not keep other jobs from asking. On a system that cannot lock
// devices lock always works, and processes may ask at the same time.
func (t *tty) lock() bool {
	lock := groupLock()
	err := syscall.FcntlFlock(uintptr(t.fd), setLock, &lock)
	return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES)
}

// locked reports whether another process of our process group has the lock.
func (t *tty) locked() bool {
	lock := groupLock()
	return syscall.FcntlFlock(uintptr(t.fd), getLock, &lock) == nil && lock.Type != syscall.F_UNLCK
}

// groupLock is a lock on one byte, whose offset is our process group's number.
func groupLock() syscall.Flock_t {
	return syscall.Flock_t{Type: syscall.F_WRLCK, Start: int64(syscall.Getpgrp()), Len: 1}
}

func (t *tty) close() { _ = syscall.Close(t.fd) }

func (t *tty) ioctl(request uintptr, arg unsafe.Pointer) error {
	for {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(t.fd), request, uintptr(arg))
		switch errno {
		case 0:
			return nil
		case syscall.EINTR:
		default:
			return errno
		}
	}
}

// foreground reports whether our process group is in the terminal's foreground.
func (t *tty) foreground() bool {
	var pgrp int32
	return t.ioctl(syscall.TIOCGPGRP, unsafe.Pointer(&pgrp)) == nil && int(pgrp) == syscall.Getpgrp()
}

// hungUp reports whether the terminal was closed.
func (t *tty) hungUp() bool {
	var pgrp int32
	return t.ioctl(syscall.TIOCGPGRP, unsafe.Pointer(&pgrp)) != nil
}

// size returns the columns and rows, 80 and 24 when the terminal does not say.
func (t *tty) size() (width, height int) {
	var w struct{ rows, columns, x, y uint16 }
	if t.ioctl(syscall.TIOCGWINSZ, unsafe.Pointer(&w)) != nil || w.columns == 0 || w.rows == 0 {
		return 80, 24
	}
	return int(w.columns), int(w.rows)
}

// write writes all of s. If the terminal accepts no output, it ends at the
// deadline or with ctx. The error is errHangUp if the terminal was closed.
func (t *tty) write(ctx context.Context, s string, deadline time.Time) error {
	for len(s) > 0 {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n, err := syscall.Write(t.fd, []byte(s))
		switch {
		case err == nil:
			s = s[n:]
		case errors.Is(err, syscall.EAGAIN):
			if time.Now().After(deadline) {
				return errors.New("the terminal takes no output")
			}
			if _, err := t.wait(false, pollInterval); err != nil {
				return err
			}
		case errors.Is(err, syscall.EIO):
			return errHangUp
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
	return nil
}

// writeNotice writes s, unless our process group is in the background, where
// the system may stop it for writing.
func (t *tty) writeNotice(s string) {
	if t.foreground() {
		_ = t.write(context.Background(), s, time.Now().Add(noticeTime))
	}
}

// read waits at most d for input, appends it to line and returns its length. The
// error is errHangUp at the end of file.
func (t *tty) read(line *[]byte, d time.Duration) (int, error) {
	ready, err := t.wait(true, d)
	if err != nil || !ready {
		return 0, err
	}
	var b [256]byte
	n, err := syscall.Read(t.fd, b[:])
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return 0, nil
	case errors.Is(err, syscall.EIO):
		return 0, errHangUp
	case err != nil:
		return 0, err
	case n == 0:
		return 0, errHangUp
	}
	*line = append(*line, b[:n]...)
	return n, nil
}

// maxSelect is how many descriptors an FdSet holds.
const maxSelect = int(unsafe.Sizeof(syscall.FdSet{}) * 8)

// wait waits at most d until the terminal can be read, or else written, and
// reports whether it can. It uses select: on darwin, poll does not work with
// terminals.
func (t *tty) wait(read bool, d time.Duration) (bool, error) {
	var set syscall.FdSet
	word, bit := fdWord(&set, t.fd)
	*word |= bit
	timeout := syscall.NsecToTimeval(int64(d))
	var err error
	if read {
		err = selectFDs(t.fd+1, &set, nil, &timeout)
	} else {
		err = selectFDs(t.fd+1, nil, &set, &timeout)
	}
	if errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return *word&bit != 0, err
}
