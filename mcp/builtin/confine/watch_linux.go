//go:build !portable

package confine

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when the system last changed anything about a file. No program can set it.
func changeTime(info fs.FileInfo) (time.Time, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(int64(stat.Ctim.Sec), int64(stat.Ctim.Nsec)), true
}
