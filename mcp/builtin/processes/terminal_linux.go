//go:build !portable

package processes

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// openTerminal makes a pseudo-terminal of 80 columns and 24 rows (pts(4)): our side,
// and the side of a program. Neither becomes the terminal of this process.
func openTerminal() (ours, program *os.File, err error) {
	const flags = syscall.O_RDWR | syscall.O_NOCTTY | syscall.O_CLOEXEC
	master, err := syscall.Open("/dev/ptmx", flags|syscall.O_NONBLOCK, 0) // so that reads can be ended
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	ours = os.NewFile(uintptr(master), "/dev/ptmx")
	number, unlock, size := uint32(0), int32(0), [4]uint16{24, 80}
	for request, argument := range map[uintptr]unsafe.Pointer{
		syscall.TIOCGPTN: unsafe.Pointer(&number), syscall.TIOCSPTLCK: unsafe.Pointer(&unlock), syscall.TIOCSWINSZ: unsafe.Pointer(&size),
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
