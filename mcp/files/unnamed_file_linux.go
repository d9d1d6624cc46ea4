//go:build linux && !portable

package files

import (
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"toolpipe/mcp/confine"
)

// From open(2) and linkat(2); the syscall package lacks them.
const (
	openTemporary = 0o20000000 | syscall.O_DIRECTORY // O_TMPFILE
	fromHere      = -100                             // AT_FDCWD
	followLink    = 0x400                            // AT_SYMLINK_FOLLOW
)

// openUnnamed opens a new file on the file system of dir that has no name and
// goes with the process, unless linkUnnamed gives it one. Not every file
// system can do that.
func openUnnamed(dir *os.File, mode fs.FileMode) (*os.File, error) {
	fd, err := syscall.Openat(int(dir.Fd()), ".", openTemporary|syscall.O_WRONLY|syscall.O_CLOEXEC|confine.LargeFile, uint32(mode.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "unnamed file"), nil
}

// linkUnnamed gives f a name in dir, which nothing has yet.
func linkUnnamed(f, dir *os.File, name string) error {
	from, err := syscall.BytePtrFromString(confine.DescriptorPath(f.Fd()))
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	here := fromHere
	_, _, errno := syscall.Syscall6(syscall.SYS_LINKAT, uintptr(here), uintptr(unsafe.Pointer(from)), dir.Fd(), uintptr(unsafe.Pointer(to)), followLink, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
