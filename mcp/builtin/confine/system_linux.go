//go:build !portable

package confine

import (
	"os"
	"syscall"
)

// largeFile lets a 32-bit process open files of 2 GiB and more.
const largeFile = syscall.O_LARGEFILE

// isKernelFileSystem reports whether the kernel makes up the files of a directory's
// file system, wherever that is mounted.
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
