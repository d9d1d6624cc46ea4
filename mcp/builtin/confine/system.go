package confine

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// OpenFlags prevent that an open waits for the other end of a FIFO, or makes a terminal the
// controlling one. os.Root does not request large files by itself.
const OpenFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY | largeFile

// stat is the system's record of a file that package os found.
func stat(info fs.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }

// DescriptorPath returns a path to an open file of this process, on systems with such paths.
func DescriptorPath(fd uintptr) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
