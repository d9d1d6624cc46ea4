package approve

import (
	"context"
	"errors"
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
	if _, err := t.foregroundGroup(); err != nil {
		t.close()
		return nil, err
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

// foregroundGroup is the process group in the terminal's foreground. It fails when
// the terminal was closed.
func (t *tty) foregroundGroup() (group int32, err error) {
	err = t.ioctl(syscall.TIOCGPGRP, unsafe.Pointer(&group))
	return group, err
}

// foreground reports whether our process group is in the terminal's foreground.
func (t *tty) foreground() bool {
	group, err := t.foregroundGroup()
	return err == nil && int(group) == syscall.Getpgrp()
}

// hungUp reports whether the terminal was closed.
func (t *tty) hungUp() bool {
	_, err := t.foregroundGroup()
	return err != nil
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
			if err := sleep(ctx, pollInterval); err != nil {
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

// read appends the input to line and returns its length. If there is none, it
// waits a pollInterval and returns 0: select and poll do not work with terminals
// on all systems. The error is errHangUp at the end of file, or ctx's cause.
func (t *tty) read(ctx context.Context, line *[]byte) (int, error) {
	var b [256]byte
	n, err := syscall.Read(t.fd, b[:])
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return 0, sleep(ctx, pollInterval)
	case errors.Is(err, syscall.EIO), err == nil && n == 0:
		return 0, errHangUp
	case err != nil:
		return 0, err
	}
	*line = append(*line, b[:n]...)
	return n, nil
}
