//go:build !portable

package door

import (
	"os"
	"syscall"
	"unsafe"
)

// Available returns the reason why there are no doors here.
func Available() error { return nil }

func openDoor(path string) (*os.File, error) {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// closed reports whether nobody reads from the door any more. A pipe without a name can be opened
// even then.
func closed(door *os.File) (is bool) {
	connection, err := door.SyscallConn()
	if err != nil {
		return true
	}
	connection.Control(func(fd uintptr) {
		const pollErr = 8 // poll(2)
		p := struct {
			fd              int32
			events, revents int16
		}{fd: int32(fd)}
		syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&syscall.Timespec{})), 0, 0, 0)
		is = p.revents&pollErr != 0
	})
	return is
}

func session() int {
	leader, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	return int(leader)
}
