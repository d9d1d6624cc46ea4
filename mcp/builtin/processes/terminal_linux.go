//go:build !portable

package processes

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// openTerminal makes a pseudo-terminal (pts(4)): our side, and the program's side. Neither
// becomes the terminal of this process.
func openTerminal(of size) (ours, program *os.File, err error) {
	const flags = syscall.O_RDWR | syscall.O_NOCTTY | syscall.O_CLOEXEC
	master, err := syscall.Open("/dev/ptmx", flags|syscall.O_NONBLOCK, 0) // so that reads can be ended
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	ours = os.NewFile(uintptr(master), "/dev/ptmx")
	number, unlock, window := uint32(0), int32(0), window(of)
	for request, argument := range map[uintptr]unsafe.Pointer{
		syscall.TIOCGPTN: unsafe.Pointer(&number), syscall.TIOCSPTLCK: unsafe.Pointer(&unlock), syscall.TIOCSWINSZ: unsafe.Pointer(&window),
	} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(master), request, uintptr(argument)); errno != 0 {
			ours.Close()
			return nil, nil, os.NewSyscallError("ioctl", errno)
		}
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), flags, 0); err != nil {
		ours.Close()
		return nil, nil, err
	}
	return ours, program, nil
}

// window is the size in the form of tty_ioctl(4).
func window(of size) [4]uint16 { return [4]uint16{uint16(of.rows), uint16(of.columns)} }

// setSize changes the size of a pseudo-terminal; its programs get the signal WINCH.
func setSize(ours *os.File, to size) error {
	c, err := ours.SyscallConn()
	if err != nil {
		return err
	}
	w, errno := window(to), syscall.Errno(0)
	err = c.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&w)))
	})
	if err == nil && errno != 0 {
		err = os.NewSyscallError("ioctl", errno)
	}
	return err
}
