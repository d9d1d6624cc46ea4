package confine

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// OpenFlags keep an open from waiting for the other end of a FIFO, and from
// making a terminal the controlling one. os.Root does not ask for large files by
// itself.
const OpenFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY | largeFile

// device returns the number of the file system that a file is on.
func device(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev)
	}
	return 0
}

func hasOtherNames(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 1
}

// isForeign says whether a file belongs to another user than this process and
// root.
func isForeign(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Uid != 0 && int(s.Uid) != os.Geteuid()
}

// DescriptorPath returns the path by which this process can name an open file,
// on a system that has such paths.
func DescriptorPath(fd uintptr) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
