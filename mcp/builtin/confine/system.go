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

// stat is what the system says about a file that was found by package os.
func stat(info fs.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }

// DescriptorPath returns the path by which this process can name an open file,
// on a system that has such paths.
func DescriptorPath(fd uintptr) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
