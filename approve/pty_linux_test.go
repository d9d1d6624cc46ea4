package approve

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// control does an ioctl. It leaves the file pollable, as f.Fd would not.
func control(t testing.TB, f *os.File, request uintptr, arg unsafe.Pointer) {
	c, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var errno syscall.Errno
	err = c.Control(func(fd uintptr) { _, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(arg)) })
	if err != nil || errno != 0 {
		t.Fatalf("ioctl %#x: %v, %v", request, err, errno)
	}
}

// openPTY opens a pseudo-terminal of 80 columns and 24 rows.
func openPTY(t testing.TB) (master, slave *os.File) {
	fd, err := syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	var locked, number int32
	control(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	control(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	setSize(t, slave, 80, 24)
	t.Cleanup(func() { master.Close(); slave.Close() })
	return master, slave
}

func setSize(t testing.TB, f *os.File, columns, rows uint16) {
	size := [4]uint16{rows, columns}
	control(t, f, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
}

// stopOutput does what Ctrl-S does.
func stopOutput(t testing.TB, f *os.File) {
	const tcxonc = 0x540a
	control(t, f, tcxonc, nil) // TCOOFF
}

// modes returns the terminal's settings.
func modes(t testing.TB, f *os.File) (m syscall.Termios) {
	control(t, f, syscall.TCGETS, unsafe.Pointer(&m))
	return m
}

func setModesOf(t testing.TB, f *os.File, m syscall.Termios) {
	control(t, f, syscall.TCSETS, unsafe.Pointer(&m))
}
