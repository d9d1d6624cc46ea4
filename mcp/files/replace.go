package files

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"toolpipe/mcp/confine"
)

// replacement is a new file that takes the place of name in dir, or of
// nothing. Who reads sees the old or the new content. Neither a link nor
// another name of the old file is written through.
//
// The new file has no name until it is whole, where the system can do that.
// Then it has a temporary one, which is renamed at once. Its writer holds a
// lock on it, and the system takes that away from a process that was killed:
// what such a process left is removed by the next replacement in its
// directory, whichever machine or container that comes from.
type replacement struct {
	dir  *os.Root
	name string
	old  fs.FileInfo // the regular file that is replaced: its mode and owner are kept
	mode fs.FileMode // less the umask, where there is no old one
}

// ReplaceFile writes a file, whole or not at all. Its directory must be one in
// which no other user can replace it.
func ReplaceFile(path string, content []byte) error {
	if err := confine.SafeDirectory(filepath.Dir(path)); err != nil {
		return err
	}
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return confine.Reason(err)
	}
	defer dir.Close()
	r := replacement{dir: dir, name: filepath.Base(path), mode: 0o644}
	if old, err := dir.Lstat(r.name); err == nil && old.Mode().IsRegular() {
		r.old = old
	}
	return confine.Reason(r.write(content, func() error { return nil }))
}

// errOvertaken is told when the file is not there after it was put there.
var errOvertaken = errors.New("somebody else replaced it at the same time; read it again")

// write replaces if ready says so when all is prepared.
func (r *replacement) write(content []byte, ready func() error) error {
	d, err := r.dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	removeLeftovers(r.dir, d)
	f, temporary, err := r.create(d, content)
	if err != nil {
		return err
	}
	defer f.Close()
	if err = ready(); err == nil {
		err = r.dir.Rename(temporary, r.name)
	}
	if err != nil {
		r.dir.Remove(temporary)
		return err
	}
	confine.SyncDir(d)
	if info, err := f.Stat(); err == nil {
		if now, err := r.dir.Lstat(r.name); err != nil || !os.SameFile(now, info) {
			return errOvertaken
		}
	}
	return nil
}

// create makes the new file, whole, on the disk and locked, under a temporary
// name. d is dir.
func (r *replacement) create(d *os.File, content []byte) (f *os.File, name string, err error) {
	mode := r.mode
	if r.old != nil {
		mode = 0o600
	}
	if f, err = openUnnamed(d, mode); err == nil {
		confine.LockFile(f)
		if err := r.fill(f, content); err != nil {
			f.Close()
			return nil, "", err
		}
		name = temporaryName()
		if linkUnnamed(f, d, name) == nil {
			return f, name, nil
		}
		f.Close() // without /proc there is no link
	}
	for range 16 {
		name = temporaryName()
		if f, err = r.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
			return nil, "", err
		}
		confine.LockFile(f)
		if !isFile(r.dir, name, f) { // removed as a leftover before it had a lock
			f.Close()
			continue
		}
		if err = r.fill(f, content); err != nil {
			f.Close()
			r.dir.Remove(name)
			return nil, "", err
		}
		return f, name, nil
	}
	return nil, "", confine.ErrChanged
}

// fill writes content, gives f the owner and mode of what it replaces and
// waits for the disk.
func (r *replacement) fill(f *os.File, content []byte) error {
	if _, err := f.Write(content); err != nil {
		return err
	}
	if r.old != nil {
		confine.KeepOwner(f, r.old)
		if err := f.Chmod(r.old.Mode().Perm()); err != nil {
			return err
		}
	}
	return f.Sync()
}

func temporaryName() string { return confine.TemporaryStart + rand.Text() + confine.TemporaryEnd }

// isTemporary says whether a name is one of temporaryName.
func isTemporary(name string) bool {
	middle, start := strings.CutPrefix(name, confine.TemporaryStart)
	middle, end := strings.CutSuffix(middle, confine.TemporaryEnd)
	return start && end && len(middle) == len("ABCDEFGHIJKLMNOPQRSTUVWXYZ") && strings.Trim(middle, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// maxSwept bounds what a write looks at in a directory that is not its own.
const maxSwept = 100 * confine.ReadAtOnce

// removeLeftovers removes the temporary files of dead processes from dir,
// which is d.
func removeLeftovers(dir *os.Root, d *os.File) {
	for range maxSwept / confine.ReadAtOnce {
		names, err := d.Readdirnames(confine.ReadAtOnce)
		for _, name := range names {
			if isTemporary(name) {
				removeLeftover(dir, name)
			}
		}
		if err != nil {
			return
		}
	}
}

// removeLeftover removes a temporary file that no living process has locked.
func removeLeftover(dir *os.Root, name string) {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || confine.Foreign(info) {
		return
	}
	f, err := dir.OpenFile(name, confine.OpenFlags, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if confine.IsAbandoned(f) && isFile(dir, name, f) {
		dir.Remove(name)
	}
}

// isFile says whether a name in dir is that of the open file f.
func isFile(dir *os.Root, name string, f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := dir.Lstat(name)
	return err == nil && os.SameFile(now, info)
}
