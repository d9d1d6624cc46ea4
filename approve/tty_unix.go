package approve

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// tty is an open terminal. Its descriptor is not blocking, so that a terminal
// that takes no output (Ctrl-S) holds nothing up; it is an open file of its
// own, so that nobody else's descriptor changes.
type tty struct{ fd int }

// openTTY opens the terminal at path without making it the controlling one:
// under its own name where that is known, for a lock on /dev/tty would be one
// on everybody's terminal.
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

// lock makes the terminal ours among the processes of our process group until
// it is closed, and tells whether it is. Of another group nobody is asked
// meanwhile: only one is in the foreground. So a job that was stopped in the
// middle of its question holds up nobody. Where the system locks no devices,
// everybody asks at once.
func (t *tty) lock() bool {
	group := lockOfGroup()
	err := syscall.FcntlFlock(uintptr(t.fd), setLock, &group)
	return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES)
}

// locked tells whether somebody else in our process group has the lock.
func (t *tty) locked() bool {
	group := lockOfGroup()
	return syscall.FcntlFlock(uintptr(t.fd), getLock, &group) == nil && group.Type != syscall.F_UNLCK
}

// lockOfGroup is a lock on the byte that has our process group's number.
func lockOfGroup() syscall.Flock_t {
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

// foreground reports whether our process group is the terminal's foreground.
func (t *tty) foreground() bool {
	var pgrp int32
	return t.ioctl(syscall.TIOCGPGRP, unsafe.Pointer(&pgrp)) == nil && int(pgrp) == syscall.Getpgrp()
}

// gone reports whether the terminal has hung up.
func (t *tty) gone() bool {
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

// write writes all of s; the deadline and ctx end it when the terminal takes
// nothing. The error is errHangUp when the terminal is gone.
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
			if _, err := t.wait(false, tick); err != nil {
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

// note writes a last word, if that may be written without being stopped for it.
func (t *tty) note(s string) {
	if t.foreground() {
		_ = t.write(context.Background(), s, time.Now().Add(time.Second))
	}
}

// read waits at most d and appends what was typed. The error is errHangUp at
// the end of file.
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

// wait waits at most d until the terminal can be read, or written. Select, for
// poll does not know terminals on darwin.
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
