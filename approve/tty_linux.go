package approve

import (
	"runtime"
	"strings"
	"syscall"
	"unsafe"
)

func selectFDs(n int, r, w *syscall.FdSet, timeout *syscall.Timeval) error {
	_, err := syscall.Select(n, r, w, nil, timeout)
	return err
}

// fdWord returns the word of set that holds fd, and fd's bit in it.
func fdWord(set *syscall.FdSet, fd int) (*fdBits, fdBits) {
	size := int(unsafe.Sizeof(set.Bits[0]) * 8)
	return (*fdBits)(unsafe.Pointer(&set.Bits[fd/size])), 1 << (fd % size)
}

// fdBits has the size of C's long on all systems Go knows.
type fdBits uint

// flushInput throws away what was typed and not yet read.
func (t *tty) flushInput() error {
	request := uintptr(0x540b) // TCFLSH
	switch {
	case strings.HasPrefix(runtime.GOARCH, "mips"):
		request = 0x5407
	case strings.HasPrefix(runtime.GOARCH, "ppc64"):
		request = 0x2000741f
	}
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(t.fd), request, syscall.TCIFLUSH)
	if errno != 0 {
		return errno
	}
	return nil
}
