//go:build unix && !darwin && !freebsd && !netbsd

package gitdiff

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when a file was last changed in any way: it differs after the file
// was replaced or written, whatever was done to its modification time.
func changeTime(info fs.FileInfo) time.Time {
	s := info.Sys().(*syscall.Stat_t)
	return time.Unix(int64(s.Ctim.Sec), int64(s.Ctim.Nsec))
}
