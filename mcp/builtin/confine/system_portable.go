//go:build unix && (!linux || portable)

package confine

import (
	"io"
	"os"
	"syscall"
)

const largeFile = 0 // all files are large

// isKernelFileSystem is always false: on this system only inKernelDirectory is checked.
func isKernelFileSystem(*os.Root) bool { return false }

type batchDirectory struct{ *os.Root }

func openBatch(dir *os.Root) (batchDirectory, error) {
	d, err := dir.OpenRoot(".")
	return batchDirectory{d}, err
}

func (d batchDirectory) open(name string) (io.ReadCloser, syscall.Stat_t, error) {
	f, info, err := OpenRegular(d.Root, name)
	if err != nil {
		return nil, syscall.Stat_t{}, err
	}
	return f, *stat(info), nil
}
