package confine

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// PrivateTempDir makes a directory for files that another program will read by
// path. Others cannot look into a directory of os.MkdirTemp, but where everybody
// may write above it they can put another one in its place: that is refused.
func PrivateTempDir(pattern string) (string, error) {
	temp := os.TempDir()
	if err := SafeDirectory(temp); err != nil {
		return "", fmt.Errorf("no temporary files are made: %w; set TMPDIR to a directory of your own", err)
	}
	dir, err := os.MkdirTemp(temp, pattern)
	return dir, Reason(err)
}

// SafeDirectory returns an error when another user could replace a file in a
// directory: everybody may rename files in the directory or in one above it, or
// it belongs to another user. With the sticky bit, users rename only their own.
func SafeDirectory(dir string) error {
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", dir, Reason(err))
	}
	for at := real; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		switch {
		case err != nil:
			return fmt.Errorf("%q: %w", at, Reason(err))
		case info.Mode()&fs.ModeSticky != 0:
		case info.Mode()&0o002 != 0:
			return fmt.Errorf("everybody can replace files in %q, which has mode %04o and no sticky bit", at, info.Mode().Perm())
		case at == real && isForeign(info):
			return fmt.Errorf("%q belongs to another user", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
