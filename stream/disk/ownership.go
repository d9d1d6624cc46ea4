// Package disk protects the files of this program against other users and processes. It
// finds the owner of a file and all users that can replace it, follows no foreign link on the
// path, and locks files. It also waits until the content of a file is on the disk. All other
// packages may use it.
package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Foreign reports whether a file belongs to another user than this process and root.
func Foreign(info fs.FileInfo) bool {
	return Uid(info) != 0 && int(Uid(info)) != os.Geteuid()
}

// Uid is the number of the user who owns a file.
func Uid(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }

// An OpenDirectoryError is about a directory in which everybody can replace files.
type OpenDirectoryError struct {
	Directory string
	Mode      fs.FileMode
}

func (e *OpenDirectoryError) Error() string {
	return fmt.Sprintf("everybody can replace files in %q, which has mode %04o and no sticky bit", e.Directory, e.Mode.Perm())
}

// OpenFile is os.OpenFile for a file that is written to. It does not follow a link of another
// user, neither as the file nor as a directory on the way to it. Linux itself refuses some of
// these links, but only in directories with the sticky bit, and only if fs.protected_symlinks
// is 1; other systems refuse none. With O_TRUNC, OpenFile empties a file only after it has
// checked that it is the right one.
func OpenFile(path string, flags int, mode fs.FileMode) (*os.File, error) {
	real, err := Resolve(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if !inProc(real) {
		flags |= syscall.O_NOFOLLOW
	}
	f, err := os.OpenFile(real, flags&^os.O_TRUNC, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !inProc(real) {
		err = stillAt(path, info)
	}
	if err == nil && flags&os.O_TRUNC != 0 && info.Mode().IsRegular() {
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

// stillAt returns an error if a path leads elsewhere than to the opened file: a directory on
// the way may have been replaced by a link during the open.
func stillAt(path string, opened fs.FileInfo) error {
	real, err := Resolve(path)
	if err != nil {
		return err
	}
	info, err := os.Lstat(real)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil || !os.SameFile(info, opened):
		return errors.New("somebody replaced it while it was opened")
	}
	return nil
}

// Resolve returns path without links. The file itself need not exist. A link of another user is
// an error: it can lead elsewhere at any time.
func Resolve(path string) (string, error) {
	return follow(path, func(at string, info fs.FileInfo) error {
		if info.Mode()&fs.ModeSymlink != 0 && Foreign(info) {
			return fmt.Errorf("the symbolic link %q belongs to user %d, and is not followed", at, Uid(info))
		}
		return nil
	})
}

// CheckDirectories returns an OpenDirectoryError if everybody can rename files in a directory
// on the way to path, also after links. With the sticky bit, users can rename only their own
// files. Nobody can replace files on a read-only mount, and nobody passes a directory that this
// user may not search.
func CheckDirectories(path string) error {
	if !filepath.IsAbs(path) {
		here, err := os.Getwd()
		if err != nil {
			return err
		}
		path = here + "/" + path // not cleaned: .. after a link does not lead to the directory of the link
	}
	_, err := follow(path, func(at string, info fs.FileInfo) error {
		const writing = 2 // W_OK of access(2)
		if info.IsDir() && info.Mode()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 && syscall.Access(at, writing) != syscall.EROFS {
			return &OpenDirectoryError{at, info.Mode()}
		}
		return nil
	})
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// follow follows a path as the system does, and calls see for each directory and link on the
// way, and for the file. It returns the path without links; a relative one stays relative.
// Links in /proc may lead to objects without a path, such as a pipe, and are left as they are.
func follow(path string, see func(at string, info fs.FileInfo) error) (real string, err error) {
	at, names := "", elements(path)
	for links := 0; len(names) > 0; {
		name := names[0]
		names = names[1:]
		if name == "" || name == "." {
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) && len(names) == 0 {
			return next, nil
		}
		if err == nil {
			err = see(next, info)
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > 40 { // as Linux
			return "", syscall.ELOOP
		}
		if inProc(next) {
			return filepath.Join(append([]string{next}, names...)...), nil
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			at = ""
		}
		names = append(elements(target), names...)
	}
	return cmp.Or(at, "."), nil
}

// elements returns the names in a path. The first name of an absolute path is "/".
func elements(path string) []string {
	names := strings.Split(path, "/")
	if filepath.IsAbs(path) {
		names[0] = "/"
	}
	return names
}

func inProc(path string) bool { return strings.HasPrefix(path, "/proc/") }
