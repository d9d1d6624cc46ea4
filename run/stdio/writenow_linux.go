//go:build !portable

package stdio

import (
	"errors"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// pwritev2 is the number of that system call, which package syscall does not
// know, on the architectures that have been looked up.
var pwritev2 = map[string]uintptr{"386": 379, "amd64": 328, "arm": 393, "arm64": 287, "loong64": 287, "riscv64": 287}[runtime.GOARCH]

// writeNow writes to a pipe or socket what it takes without waiting: RWF_NOWAIT
// asks for that for one write, where O_NONBLOCK would ask it for everybody who
// shares the description. EAGAIN says that it took nothing, and
// errors.ErrUnsupported that the system cannot (a terminal, Linux before 6.4).
// A write in a goroutine of its own, which the system-independent code uses
// instead, takes three to four times as long (BenchmarkBounded).
func writeNow(fd int, p []byte) (int, error) {
	if pwritev2 == 0 || len(p) == 0 {
		return 0, errors.ErrUnsupported
	}
	const nowait = 8
	vector := syscall.Iovec{Base: &p[0]}
	vector.SetLen(len(p))
	here := ^uintptr(0) // offset -1: as write
	n, _, errno := syscall.Syscall6(pwritev2, uintptr(fd), uintptr(unsafe.Pointer(&vector)), 1, here, here, nowait)
	runtime.KeepAlive(p)
	switch errno {
	case 0:
		return int(n), nil
	case syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EINVAL:
		return 0, errors.ErrUnsupported
	}
	return 0, errno
}

// writable tells whether a write to fd would not wait, within the time given.
func writable(fd int, within time.Duration) bool {
	wait := syscall.NsecToTimespec(int64(within))
	return poll(fd, &wait)
}
