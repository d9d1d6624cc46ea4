//go:build !portable

package stdio

import (
	"syscall"
	"unsafe"
)

const prSetDumpable = 4

// closeMemory makes the process non-dumpable: other processes of the same
// user cannot read its environment and memory under /proc.
func closeMemory() { syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0) }

// Stop stops this process as its terminal's ^Z would have, had nobody wished
// to be told of that, and returns when it goes on: at once where no shell is
// there to continue it, which is why it is not SIGSTOP. The runtime keeps its
// handler of a signal that was once asked for, so the default is set here.
var Stop = func() {
	var standard, ours [8]uintptr // struct sigaction, zero: SIG_DFL
	const words = 8               // bytes of a signal set
	tstp := uintptr(syscall.SIGTSTP)
	if _, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, tstp, uintptr(unsafe.Pointer(&standard)), uintptr(unsafe.Pointer(&ours)), words, 0, 0); e != 0 {
		Raise(syscall.SIGSTOP)
		return
	}
	Raise(syscall.SIGTSTP)
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, tstp, uintptr(unsafe.Pointer(&ours)), 0, words, 0, 0)
}

// awaitWritable waits until fd can be written to.
func awaitWritable(fd int) { poll(fd, nil) }

func poll(fd int, wait *syscall.Timespec) bool {
	p := struct {
		fd              int32
		events, revents int16
	}{int32(fd), 4 /* POLLOUT */, 0}
	n, _, _ := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(wait)), 0, 0, 0)
	return n == 1
}
