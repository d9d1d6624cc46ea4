package tty

import (
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// FlushInput throws away the input that was not read yet.
func (t *TTY) FlushInput() error {
	request := uintptr(0x540b) // TCFLSH
	switch {
	case strings.HasPrefix(runtime.GOARCH, "mips"):
		request = 0x5407
	case strings.HasPrefix(runtime.GOARCH, "ppc64"):
		request = 0x2000741f
	}
	return t.ioctl(request, nil) // nil means TCIFLUSH, which is 0
}

// The commands of locks that belong to the open file, not to the process.
const (
	setLock = 37 // F_OFD_SETLK
	getLock = 36 // F_OFD_GETLK
)

// The requests that read and set the modes of a terminal.
const (
	getModes = syscall.TCGETS
	setModes = syscall.TCSETS
)

// device returns the path and the number of the terminal's device, if it is a
// pseudo-terminal; else "" and 0.
func (t *TTY) device() (path string, number uint64) {
	request := uintptr(0x80045432) // TIOCGDEV
	switch {
	case strings.HasPrefix(runtime.GOARCH, "mips"), strings.HasPrefix(runtime.GOARCH, "ppc64"):
		request = 0x40045432
	}
	var dev uint32
	const firstMajor = 136 // of pseudo-terminals
	if t.ioctl(request, unsafe.Pointer(&dev)) != nil || dev>>8&0xfff != firstMajor {
		return "", 0
	}
	return "/dev/pts/" + strconv.Itoa(int(dev&0xff|dev>>12&0xfff00)), uint64(dev)
}
