//go:build darwin || freebsd || netbsd

package mcp

import (
	"io/fs"
	"syscall"
	"time"
)

// identity is what of a file changes when it is replaced or written, whatever
// is done to its modification time.
func identity(info fs.FileInfo) (inode uint64, changed time.Time, ok bool) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino), time.Unix(int64(s.Ctimespec.Sec), int64(s.Ctimespec.Nsec)), true
	}
	return 0, time.Time{}, false
}
