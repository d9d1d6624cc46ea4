package confine

import (
	"fmt"
	"os"

	"toolpipe/stream/disk"
)

// PrivateTempDir makes a directory for files that another program will read by path. Others
// cannot look into a directory of os.MkdirTemp, but they can replace it if everybody may
// write to its parent. That is refused.
func PrivateTempDir(pattern string) (string, error) {
	temp := os.TempDir()
	if err := SafeDirectory(temp); err != nil {
		return "", fmt.Errorf("no temporary files are created: %w; set TMPDIR to a directory that belongs to you", err)
	}
	dir, err := os.MkdirTemp(temp, pattern)
	return dir, Reason(err)
}

// SafeDirectory returns an error if another user could replace a file in a directory:
// everybody may rename files in it or in a parent, or it belongs to another user. With the
// sticky bit, users can rename only their own files.
func SafeDirectory(dir string) error {
	if err := disk.CheckDirectories(dir); err != nil {
		return Reason(err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("%q: %w", dir, Reason(err))
	}
	if disk.Foreign(info) {
		return fmt.Errorf("%q belongs to another user", dir)
	}
	return nil
}
