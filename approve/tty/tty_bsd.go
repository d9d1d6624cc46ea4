//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"syscall"
	"unsafe"
)

// FlushInput throws away the input that was not read yet.
func (t *TTY) FlushInput() error {
	read := int32(1) // FREAD
	return t.ioctl(syscall.TIOCFLUSH, unsafe.Pointer(&read))
}

// The commands of locks that belong to the process. These systems have no locks
// on a range of bytes that belong to the open file.
const (
	setLock = syscall.F_SETLK
	getLock = syscall.F_GETLK
)

// The requests that read and set the modes of a terminal.
const (
	getModes = syscall.TIOCGETA
	setModes = syscall.TIOCSETA
)

// device returns "" and 0: these systems do not report the device of /dev/tty. Processes of one
// group then lock the same byte of /dev/tty itself.
func (t *TTY) device() (path string, number uint64) { return "", 0 }
