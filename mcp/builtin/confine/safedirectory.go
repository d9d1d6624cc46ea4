package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

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

// RemoveTree removes a directory with everything in it, also below directories without the
// permission to write, such as Go's module cache has. It follows no link.
func RemoveTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	parent, failed := os.OpenRoot(filepath.Dir(dir))
	if failed != nil {
		return err
	}
	defer parent.Close()
	if parent.Chmod(filepath.Base(dir), 0o700) != nil {
		return err
	}
	root, failed := parent.OpenRoot(filepath.Base(dir))
	if failed != nil {
		return err
	}
	defer root.Close()
	allowRemoving(root)
	return os.RemoveAll(dir)
}

// allowRemoving gives the permissions that removing needs to the directories in root. If a link
// replaces a directory meanwhile, nothing outside of root changes.
func allowRemoving(root *os.Root) {
	steps := 1 << 20 // names that are read, and names in the paths of directories
	for dirs := []string{"."}; len(dirs) > 0 && steps > 0; {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		steps -= strings.Count(dir, "/") + 1
		if root.Chmod(dir, 0o700) != nil {
			continue
		}
		opened, err := root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
		if err != nil {
			continue
		}
		entries, _ := opened.ReadDir(max(1, steps))
		opened.Close()
		steps -= len(entries)
		for _, entry := range entries {
			if entry.IsDir() {
				dirs = append(dirs, filepath.Join(dir, entry.Name()))
			}
		}
	}
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
