//go:build !portable

package confine

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when the system last changed anything of a file, which no program can set.
func changeTime(info fs.FileInfo) (time.Time, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(int64(stat.Ctim.Sec), int64(stat.Ctim.Nsec)), true
}
