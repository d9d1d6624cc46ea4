//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package approve

import (
	"syscall"
	"unsafe"
)

func selectFDs(n int, r, w *syscall.FdSet, timeout *syscall.Timeval) error {
	return syscall.Select(n, r, w, nil, timeout)
}

// fdBits is a byte: all processors of these systems are little-endian, where
// words of any size put the bits at the same places.
type fdBits uint8

// fdWord returns the byte of set that holds fd, and fd's bit in it.
func fdWord(set *syscall.FdSet, fd int) (*fdBits, fdBits) {
	bytes := (*[unsafe.Sizeof(*set)]fdBits)(unsafe.Pointer(set))
	return &bytes[fd/8], 1 << (fd % 8)
}

// flushInput throws away what was typed and not yet read.
func (t *tty) flushInput() error {
	read := int32(1) // FREAD
	return t.ioctl(syscall.TIOCFLUSH, unsafe.Pointer(&read))
}

// The locks belong to the process: these systems have no others of a range.
const (
	setLock = syscall.F_SETLK
	getLock = syscall.F_GETLK
)

// device returns "": the name behind /dev/tty is not known here. Where the
// system locks devices at all, processes meet at the number of their group.
func (t *tty) device() (path string, number uint64) { return "", 0 }
