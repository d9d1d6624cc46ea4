//go:build !portable

package processes

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// openTerminal makes a pseudo-terminal of 80 columns and 24 rows (pts(4)): our side,
// and the side of a program.
func openTerminal() (ours, program *os.File, err error) {
	ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	var number uint32
	unlock := int32(0)
	size := [4]uint16{24, 80}
	for request, argument := range map[uintptr]unsafe.Pointer{
		syscall.TIOCGPTN: unsafe.Pointer(&number), syscall.TIOCSPTLCK: unsafe.Pointer(&unlock), syscall.TIOCSWINSZ: unsafe.Pointer(&size),
	} {
		if err = control(ours, request, argument); err != nil {
			ours.Close()
			return nil, nil, os.NewSyscallError("ioctl", err)
		}
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		ours.Close()
		return nil, nil, err
	}
	return ours, program, nil
}

func control(f *os.File, request uintptr, argument unsafe.Pointer) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	if err := raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(argument))
	}); err != nil {
		return err
	}
	if errno != 0 {
		return errno
	}
	return nil
}
