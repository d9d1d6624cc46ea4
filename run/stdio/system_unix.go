//go:build unix

package stdio

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"toolpipe/mcp/process"
)

// OpenNonblock makes opening a FIFO return even without a writer.
const OpenNonblock = syscall.O_NONBLOCK

func DefaultConfigDir(home string) string {
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support")
	}
	return filepath.Join(home, ".config")
}

// Harden prepares the process for starting programs of others. If the system supports it, detached
// descendants become children of this process again, so that it can end them; inherited descriptors
// do not reach children; other processes of the user cannot read this process's memory and
// environment.
func Harden() {
	process.BecomeSubreaper()
	process.CloseDescriptorsOnExec()
	closeMemory()
}

// Raise sends s to this process and waits briefly for its arrival.
func Raise(s syscall.Signal) {
	syscall.Kill(os.Getpid(), s)
	time.Sleep(100 * time.Millisecond)
}

// Blocking returns f as a writer that waits while f would block. Another process that shares the
// file description may have made it non-blocking; Go's write then returns EAGAIN. If the reader of
// f is gone, the error is EPIPE. With os.File, such a write to standard output or error would end
// the process (package os/signal, "SIGPIPE").
func Blocking(f *os.File) io.Writer { return &blockingFile{f} }

type blockingFile struct{ f *os.File }

func (b *blockingFile) Write(p []byte) (int, error) {
	const most = 1 << 30 // macOS refuses a write of 2 GiB
	fd := int(b.f.Fd())
	for n := 0; ; {
		m, err := syscall.Write(fd, p[n:min(n+most, len(p))])
		n += max(m, 0)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			awaitWritable(fd)
		case err != nil || n == len(p):
			return n, err
		case m == 0:
			return n, io.ErrShortWrite
		}
	}
}

// Closed is a standard output that was closed at the start of the program.
type Closed struct{}

// Write fails with EBADF, as it would without the Go runtime.
func (Closed) Write([]byte) (int, error) { return 0, syscall.EBADF }

// IsReadable reports whether f is open for reading too. The Go runtime opens /dev/null in this way
// in place of a closed standard stream (runtime, checkfds); a shell opens /dev/null only for
// writing.
func IsReadable(f *os.File) bool {
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFL, 0)
	return errno == 0 && flags&syscall.O_ACCMODE == syscall.O_RDWR
}

func TerminalWidth(f *os.File) int {
	var size struct{ rows, columns, x, y uint16 }
	if !control(f, syscall.TIOCGWINSZ, unsafe.Pointer(&size)) {
		return 0
	}
	return int(size.columns)
}

// InBackground reports whether this process is in the background of the terminal f, and whether f
// stops background processes that write to it (stty tostop).
func InBackground(f *os.File) (background, stops bool) {
	var group int32
	var modes syscall.Termios
	if !control(f, syscall.TIOCGPGRP, unsafe.Pointer(&group)) || int(group) == syscall.Getpgrp() {
		return false, false
	}
	return true, control(f, getModes, unsafe.Pointer(&modes)) && modes.Lflag&syscall.TOSTOP != 0
}

func control(f *os.File, request uintptr, value unsafe.Pointer) bool {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(value))
	return errno == 0
}
