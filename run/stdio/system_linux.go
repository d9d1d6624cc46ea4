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

// Stop stops this process like ^Z without a handler, and returns when it continues. It sends
// SIGTSTP with the default action. Unlike SIGSTOP, this does not stop a process that no shell can
// continue (an orphaned process group). The Go runtime keeps its handler of a signal after the
// first Notify, so the system call sets the default action here.
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

func awaitWritable(fd int) {
	p := struct {
		fd              int32
		events, revents int16
	}{int32(fd), 4 /* POLLOUT */, 0}
	syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, 0, 0, 0, 0)
}

// growPipe enlarges a pipe to 1 MiB, the limit without privileges (pipe(7)). A slightly slower
// reader then causes no waiting of the writer; each wait costs two thread switches.
func growPipe(fd int) {
	const getSize, setSize, most = 1032, 1031, 1 << 20
	if size, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), getSize, 0); size < most {
		syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), setSize, most)
	}
}

// pwritev2 is the number of this system call, which package syscall does not know. It is 0 on
// architectures for which it was not looked up.
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

// immediateWrite is writeNow if the system supports RWF_NOWAIT, else nil.
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

// obeysNowait reports whether this release of Linux supports RWF_NOWAIT for pipes, as the kernel
// does from 6.4. gVisor accepts the flag but waits for the reader; its release is 4.19.0-gvisor.
func obeysNowait(release string) bool {
	first, rest, _ := strings.Cut(release, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, _ := strconv.Atoi(first)
	minor, _ := strconv.Atoi(second)
	return (major > 6 || major == 6 && minor >= 4) && !strings.Contains(release, "gvisor")
}

// writeNow writes to a pipe or socket what it accepts without waiting, and returns the number of
// bytes. RWF_NOWAIT affects only this write; O_NONBLOCK would affect every process that shares the
// file description. If nothing was written (a terminal, any error), a later blocking write returns
// the error. Writing in a goroutine instead takes up to four times as long (BenchmarkBounded).
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
