// Package tty accesses a terminal: its input and output, its lock, and whether our process
// group is in its foreground.
package tty

import (
	"context"
	"errors"
	"syscall"
	"time"
	"unsafe"
)

// Times of a terminal. Tests shorten them.
var (
	// NoticeTime is how long the terminal may take to accept the line that ends a question.
	NoticeTime = time.Second
	// PollInterval is how soon a cancelled context or a stopped process is noticed.
	PollInterval = 50 * time.Millisecond
)

// ErrHangUp is the error of a terminal that was closed.
var ErrHangUp = errors.New("end of file on the terminal")

// A TTY is an open terminal. Its descriptor is non-blocking, so that a terminal that accepts no
// output (Ctrl-S) cannot hang the program. It is a separate open file, so that no other
// descriptor changes its mode.
type TTY struct{ fd int }

// Of returns the terminal of a descriptor.
func Of(fd int) *TTY { return &TTY{fd} }

// Open opens the terminal at path without making it the controlling one. It opens the
// terminal's device if that is known: /dev/tty is one file for all terminals, and a lock on it
// would be one, too.
func Open(path string) (*TTY, error) {
	const flags = syscall.O_RDWR | syscall.O_NOCTTY | syscall.O_CLOEXEC | syscall.O_NONBLOCK
	fd, err := syscall.Open(path, flags, 0)
	if err != nil {
		return nil, err
	}
	t := Of(fd)
	if device, number := t.device(); device != "" {
		var stat syscall.Stat_t
		own, err := syscall.Open(device, flags, 0)
		switch {
		case err != nil:
		case syscall.Fstat(own, &stat) == nil && uint64(stat.Rdev) == number:
			t.Close()
			t.fd = own
		default:
			_ = syscall.Close(own)
		}
	}
	if _, err := t.foregroundGroup(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Lock locks the terminal against the other processes of our process group, until Close, and
// reports whether that worked. The lock is per group, because only one group is in the
// foreground: a job that was stopped while it asked does not block other jobs. On a system that
// cannot lock devices Lock always works, and processes may ask at the same time.
func (t *TTY) Lock() bool {
	lock := groupLock()
	err := syscall.FcntlFlock(uintptr(t.fd), setLock, &lock)
	return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES)
}

// Locked reports whether another process of our process group has the lock.
func (t *TTY) Locked() bool {
	lock := groupLock()
	return syscall.FcntlFlock(uintptr(t.fd), getLock, &lock) == nil && lock.Type != syscall.F_UNLCK
}

// groupLock is a lock on one byte at the offset of our process group's number.
func groupLock() syscall.Flock_t {
	return syscall.Flock_t{Type: syscall.F_WRLCK, Start: int64(syscall.Getpgrp()), Len: 1}
}

func (t *TTY) Close() { _ = syscall.Close(t.fd) }

func (t *TTY) ioctl(request uintptr, arg unsafe.Pointer) error {
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
func (t *TTY) foregroundGroup() (group int32, err error) {
	err = t.ioctl(syscall.TIOCGPGRP, unsafe.Pointer(&group))
	return group, err
}

// Foreground reports whether our process group is in the terminal's foreground.
func (t *TTY) Foreground() bool {
	group, err := t.foregroundGroup()
	return err == nil && int(group) == syscall.Getpgrp()
}

// HungUp reports whether the terminal was closed.
func (t *TTY) HungUp() bool {
	_, err := t.foregroundGroup()
	return err != nil
}

// Size returns the columns and rows, 80 and 24 when the terminal does not say.
func (t *TTY) Size() (width, height int) {
	var w struct{ rows, columns, x, y uint16 }
	if t.ioctl(syscall.TIOCGWINSZ, unsafe.Pointer(&w)) != nil || w.columns == 0 || w.rows == 0 {
		return 80, 24
	}
	return int(w.columns), int(w.rows)
}

// Write writes all of s. If the terminal accepts no output, it ends at the
// deadline or with ctx. The error is ErrHangUp if the terminal was closed.
func (t *TTY) Write(ctx context.Context, s string, deadline time.Time) error {
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
			if err := Sleep(ctx, PollInterval); err != nil {
				return err
			}
		case errors.Is(err, syscall.EIO):
			return ErrHangUp
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
	return nil
}

// WriteNotice writes s, unless our process group is in the background, where
// the system may stop it for writing.
func (t *TTY) WriteNotice(s string) {
	if t.Foreground() {
		_ = t.Write(context.Background(), s, time.Now().Add(NoticeTime))
	}
}

// Read appends the input to line and returns its length. If there is none, it
// waits a PollInterval and returns 0: select and poll do not work with terminals
// on all systems. The error is ErrHangUp at the end of file, or ctx's cause.
func (t *TTY) Read(ctx context.Context, line *[]byte) (int, error) {
	var b [256]byte
	n, err := syscall.Read(t.fd, b[:])
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return 0, Sleep(ctx, PollInterval)
	case errors.Is(err, syscall.EIO), err == nil && n == 0:
		return 0, ErrHangUp
	case err != nil:
		return 0, err
	}
	*line = append(*line, b[:n]...)
	return n, nil
}

// HideInput makes the terminal hide typed input and deliver it at once; show restores the mode.
func (t *TTY) HideInput() (show func(), err error) {
	var usual syscall.Termios
	if err := t.ioctl(getModes, unsafe.Pointer(&usual)); err != nil {
		return nil, err
	}
	hidden := usual
	hidden.Lflag &^= syscall.ECHO | syscall.ICANON
	hidden.Cc[syscall.VMIN], hidden.Cc[syscall.VTIME] = 1, 0
	if err := t.ioctl(setModes, unsafe.Pointer(&hidden)); err != nil {
		return nil, err
	}
	return func() {
		if t.Foreground() { // in the background the mode belongs to the shell
			_ = t.ioctl(setModes, unsafe.Pointer(&usual))
		}
	}, nil
}

// Sleep waits for that long. The error is ctx's cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
