//go:build !portable

package confine

import (
	"os"
	"testing"
)

// A file system of the kernel is known by its kind, wherever it is mounted.
func TestKernelFileSystemByKind(t *testing.T) {
	procfs, err := os.OpenRoot("/proc")
	if err != nil {
		t.Skip(err)
	}
	defer procfs.Close()
	if !isKernelFileSystem(procfs) {
		t.Error("/proc is not seen for what it is")
	}
	temporary, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer temporary.Close()
	if isKernelFileSystem(temporary) {
		t.Error("a temporary directory is taken for a file system of the kernel")
	}
}

// A file of /proc has content, and the size 0.
func TestReadWholeWithoutSize(t *testing.T) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	if content, err := readWhole(f, 0); len(content) == 0 || err != nil {
		t.Errorf("read %d bytes (%v)", len(content), err)
	}
}
