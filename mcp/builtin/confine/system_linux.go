//go:build !portable

package confine

import (
	"io"
	"os"
	"syscall"
)

// largeFile lets a 32-bit process open files of 2 GiB and more.
const largeFile = syscall.O_LARGEFILE

// isKernelFileSystem reports whether the kernel generates the files of a directory's file
// system, wherever it is mounted.
func isKernelFileSystem(dir *os.Root) bool {
	f, err := dir.Open(".")
	if err != nil {
		return true
	}
	defer f.Close()
	var s syscall.Statfs_t
	if syscall.Fstatfs(int(f.Fd()), &s) != nil {
		return true
	}
	switch uint32(s.Type) {
	case 0x9fa0, // proc
		0x62656572,           // sysfs
		0x1cd1,               // devpts
		0x27e0eb, 0x63677270, // cgroup, cgroup2
		0x64626720, 0x74726163, // debugfs, tracefs
		0x73636673, 0xf97cff8c, // securityfs, selinuxfs
		0x62656570, 0xcafe4a11, // configfs, bpf
		0x6165676c, 0xde5e81e4, // pstore, efivarfs
		0x19800202, 0x42494e4d: // mqueue, binfmt_misc
		return true
	}
	return false
}

// A batchDirectory opens its files by direct system calls: an os.File would need three more
// for each.
type batchDirectory struct{ *os.File }

func openBatch(dir *os.Root) (batchDirectory, error) {
	f, err := dir.Open(".")
	return batchDirectory{f}, err
}

func (d batchDirectory) open(name string) (f io.ReadCloser, info syscall.Stat_t, err error) {
	fd := -1
	again(func() error {
		fd, err = syscall.Openat(int(d.Fd()), name, OpenFlags|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, info, err
	}
	if err = again(func() error { return syscall.Fstat(fd, &info) }); err == nil && info.Mode&syscall.S_IFMT != syscall.S_IFREG {
		err = ErrChanged // replaced since its entry was read
	}
	if err != nil {
		syscall.Close(fd)
		return nil, info, err
	}
	return batchFile(fd), info, nil
}

// again repeats a system call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}

// A batchFile is the descriptor of a file.
type batchFile int

func (f batchFile) Read(p []byte) (n int, err error) {
	err = again(func() error {
		n, err = syscall.Read(int(f), p)
		return err
	})
	if n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return max(n, 0), err
}

func (f batchFile) Close() error { return syscall.Close(int(f)) }
