package endtoend

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// openTerminal makes a pseudo-terminal. It returns the side of the person, and
// the path of the side of the programs.
func openTerminal() (master *os.File, slave string, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, "", err
	}
	var number uint32
	if err = terminalControl(master, syscall.TIOCGPTN, unsafe.Pointer(&number)); err == nil {
		var unlock int32
		err = terminalControl(master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	}
	if err != nil {
		master.Close()
		return nil, "", err
	}
	return master, fmt.Sprintf("/dev/pts/%d", number), nil
}

func resizeTerminal(master *os.File, columns, rows int) error {
	size := [4]uint16{uint16(rows), uint16(columns)}
	return terminalControl(master, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
}

func terminalControl(f *os.File, request uintptr, argument unsafe.Pointer) error {
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
