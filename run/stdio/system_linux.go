//go:build !portable

package stdio

import (
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

const prSetDumpable = 4

// closeMemory makes the process non-dumpable: other processes of the same
// user cannot read its environment and memory under /proc.
func closeMemory() { syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0) }

// Stop stops this process as ^Z does without a handler, and returns when it is
// continued. It sends SIGTSTP with the default action: unlike SIGSTOP that
// signal does not stop a process which no shell can continue (an orphaned
// process group). The Go runtime keeps its handler of a signal that was once
// asked for, so the default action is set here by the system call.
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
func awaitWritable(fd int) {
	p := struct {
		fd              int32
		events, revents int16
	}{int32(fd), 4 /* POLLOUT */, 0}
	syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, 0, 0, 0, 0)
}

// growPipe makes a pipe 1 MiB large, which is what a process without privileges may
// have (pipe(7)), if it is smaller. A reader that is only a little slower than the
// writer then costs no waiting: each wait of the writer is two switches between threads.
func growPipe(fd int) {
	const getSize, setSize, most = 1032, 1031, 1 << 20
	if size, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), getSize, 0); size < most {
		syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), setSize, most)
	}
}

// pwritev2 is the number of that system call, which package syscall does not
// know, on the architectures that have been looked up; 0 on others.
func pwritev2() uintptr {
	switch runtime.GOARCH {
	case "386":
		return 379
	case "amd64":
		return 328
	case "arm":
		return 393
	case "arm64", "loong64", "riscv64":
		return 287
	}
	return 0
}

// immediateWrite is writeNow where the system obeys RWF_NOWAIT, and nil elsewhere.
func immediateWrite() func(fd int, p []byte) int {
	var system syscall.Utsname
	if pwritev2() == 0 || syscall.Uname(&system) != nil {
		return nil
	}
	var release []byte
	for _, c := range system.Release {
		release = append(release, byte(c))
	}
	if !obeysNowait(string(release)) {
		return nil
	}
	return writeNow
}

// obeysNowait reports whether the release of Linux obeys RWF_NOWAIT for pipes, as the
// kernel does from 6.4 on. gVisor accepts the flag, but then waits for the reader; it
// calls itself 4.19.0-gvisor.
func obeysNowait(release string) bool {
	first, rest, _ := strings.Cut(release, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, _ := strconv.Atoi(first)
	minor, _ := strconv.Atoi(second)
	return (major > 6 || major == 6 && minor >= 4) && !strings.Contains(release, "gvisor")
}

// writeNow writes to a pipe or socket what it takes without waiting, and returns how
// much that was: RWF_NOWAIT asks for that for one write, where O_NONBLOCK would ask it
// for everybody who shares the description. Where nothing was written (a terminal,
// any error) the write that may wait says why. A write in a
// goroutine of its own takes up to four times as long (BenchmarkBounded).
func writeNow(fd int, p []byte) int {
	if len(p) == 0 {
		return 0
	}
	const nowait = 8
	vector := syscall.Iovec{Base: &p[0]}
	vector.SetLen(len(p))
	here := ^uintptr(0) // offset -1: as write
	n, _, errno := syscall.Syscall6(pwritev2(), uintptr(fd), uintptr(unsafe.Pointer(&vector)), 1, here, here, nowait)
	runtime.KeepAlive(p)
	if errno != 0 {
		return 0
	}
	return int(n)
}
