//go:build unix

package mcp

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep an open from waiting for a FIFO's other end and from making
// a terminal ours. os.Root does not ask for large files by itself.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY | largeFile

// device is the number of the file system that a file is on.
func device(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev)
	}
	return 0
}

// aliased says whether a file has more names than one.
func aliased(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 1
}

// foreign says whether a file belongs to a user who is neither we nor root.
func foreign(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Uid != 0 && int(s.Uid) != os.Geteuid()
}

// keepOwner gives f the owner of the file it replaces, where it may.
func keepOwner(f *os.File, info fs.FileInfo) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		f.Chown(int(s.Uid), int(s.Gid))
	}
}

// syncDir makes a rename in d last.
func syncDir(d *os.File) error { return d.Sync() }

// lockFile locks a file for as long as it is open. A file system without locks
// gives none.
func lockFile(f *os.File) { syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// isAbandoned says whether nobody has a lock on f; it is false where the file
// system has no locks.
func isAbandoned(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil
}
