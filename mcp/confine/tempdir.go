package confine

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// PrivateTempDir makes a directory for files that another program is going to
// read by path. os.MkdirTemp alone makes one that others cannot look into, but
// they can put another in its place where everybody may write above it.
func PrivateTempDir(pattern string) (string, error) {
	temp := os.TempDir()
	if err := SafeDirectory(temp); err != nil {
		return "", fmt.Errorf("no temporary files are made: %w; set TMPDIR to a directory of your own", err)
	}
	dir, err := os.MkdirTemp(temp, pattern)
	return dir, Reason(err)
}

// SafeDirectory says why another user could put something in the place of a
// file in a directory: the directory or one above it is one in which everybody
// may rename, or the directory belongs to another user. The sticky bit keeps
// each user to files of their own.
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
		case at == real && Foreign(info):
			return fmt.Errorf("%q belongs to another user", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
