//go:build !portable

package files

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// direntBuffers hold the entries that one system call reads.
var direntBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Offsets in struct linux_dirent64 (getdents64(2)).
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// readDirectory calls visit with some entries after the other of f, which is dir
// open as a file.
func readDirectory(dir *os.Root, f *os.File, visit func([]entry) error) error {
	buffer := direntBuffers.Get().(*[32 << 10]byte)
	defer direntBuffers.Put(buffer)
	fd := int(f.Fd())
	var list []entry
	for {
		n, err := syscall.ReadDirent(fd, buffer[:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		list = list[:0]
		for b := buffer[:n]; len(b) >= direntName; {
			length := int(binary.NativeEndian.Uint16(b[direntLength:]))
			if length < direntName || length > len(b) {
				return syscall.EIO
			}
			if e, ok := parseDirent(dir, b[:length]); ok {
				list = append(list, e)
			}
			b = b[length:]
		}
		if err := visit(list); err != nil {
			return err
		}
	}
}

func parseDirent(dir *os.Root, b []byte) (entry, bool) {
	name := b[direntName:]
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	if len(name) == 0 || string(name) == "." || string(name) == ".." {
		return entry{}, false
	}
	switch b[direntType] {
	case syscall.DT_REG:
		return entry{string(name), 0}, true
	case syscall.DT_DIR:
		return entry{string(name), fs.ModeDir}, true
	case syscall.DT_LNK:
		return entry{string(name), fs.ModeSymlink}, true
	}
	return statEntry(dir, string(name))
}
