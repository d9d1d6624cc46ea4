//go:build unix

package confine

import (
	"io/fs"
	"os"
	"syscall"
)

// OpenFlags keep an open from waiting for a FIFO's other end and from making
// a terminal ours. os.Root does not ask for large files by itself.
const OpenFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY | LargeFile

// device is the number of the file system that a file is on.
func device(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev)
	}
	return 0
}

// Aliased says whether a file has more names than one.
func Aliased(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 1
}

// Foreign says whether a file belongs to a user who is neither we nor root.
func Foreign(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Uid != 0 && int(s.Uid) != os.Geteuid()
}

// KeepOwner gives f the owner of the file it replaces, where it may.
func KeepOwner(f *os.File, info fs.FileInfo) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		f.Chown(int(s.Uid), int(s.Gid))
	}
}

// SyncDir makes a rename in d last.
func SyncDir(d *os.File) error { return d.Sync() }

// LockFile locks a file for as long as it is open. A file system without locks
// gives none.
func LockFile(f *os.File) { syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// IsAbandoned says whether nobody has a lock on f; it is false where the file
// system has no locks.
func IsAbandoned(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil
}
