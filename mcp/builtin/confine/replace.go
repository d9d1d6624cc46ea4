package confine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"toolpipe/stream/disk"
)

// replacement writes a new file under name in dir and replaces an old one, if any. A reader
// sees the old or the new content. It never writes through a link or through another name of
// the old file.
//
// The new file has a temporary name until it is complete. Its writer locks it, and the lock
// ends with the process. So a temporary file without a lock was left by a killed process, and
// the next replacement in the directory removes it.
type replacement struct {
	dir  *os.Root
	name string
	old  fs.FileInfo // the regular file that has the name; its mode and owner are kept; nil for none
	mode fs.FileMode // of a new file, before the umask
}

// ReplaceFile writes a file, completely or not at all. It replaces old, a regular file, or
// nil for none. Its directory must be one in which no other user can replace it.
func ReplaceFile(ctx context.Context, path string, old fs.FileInfo, content []byte) error {
	if old != nil && !old.Mode().IsRegular() { // such as /dev/null, which root could replace
		return errors.New("it is not a regular file")
	}
	if err := SafeDirectory(filepath.Dir(path)); err != nil {
		return err
	}
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return Reason(err)
	}
	defer dir.Close()
	r := replacement{dir: dir, name: filepath.Base(path), old: old, mode: 0o644}
	return Reason(r.write(ctx, content))
}

// errOvertaken means that another writer replaced the file after this one did.
var errOvertaken = errors.New("somebody else replaced it at the same time; read it again")

// An unsureError means that it is unknown whether the file was written: the system failed at
// the rename or at the check after it. Some network file systems perform a rename that they
// report as failed (rename(2), BUGS). It hides the cause from errors.Is, so that no caller
// reports only the cause.
type unsureError struct{ cause error }

func (e *unsureError) Error() string {
	return "it may have been written: " + Reason(e.cause).Error() + "; read it again"
}

// mayBeWritten reports whether the file may have changed although a replacement failed.
func mayBeWritten(err error) bool {
	_, unsure := errors.AsType[*unsureError](err)
	return unsure || errors.Is(err, errOvertaken)
}

// write writes the file, unless the call has ended or the name no longer belongs to old when
// the new file is ready.
func (r *replacement) write(ctx context.Context, content []byte) error {
	d, err := r.dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxSwept)
	for _, name := range names {
		removeLeftover(r.dir, name)
	}
	f, temporary, err := r.create()
	if err != nil {
		return err
	}
	defer f.Close()
	if err = r.fill(f, content); err == nil {
		err = r.check(ctx)
	}
	if err != nil {
		r.dir.Remove(temporary)
		return err
	}
	return r.renamed(f, temporary, r.dir.Rename(temporary, r.name), d)
}

// renamed decides the outcome of the write after the rename of the new file f, which returned
// err. d is the directory.
func (r *replacement) renamed(f *os.File, temporary string, err error, d *os.File) error {
	if err != nil {
		r.dir.Remove(temporary)
	}
	there, lookErr := isFile(r.dir, r.name, f)
	switch {
	case lookErr != nil:
		return &unsureError{cmp.Or(err, lookErr)}
	case there:
		d.Sync()
		return nil
	}
	return cmp.Or(err, errOvertaken)
}

func (r *replacement) check(ctx context.Context) error {
	now, err := r.dir.Lstat(r.name)
	absent := errors.Is(err, fs.ErrNotExist)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case absent && r.old == nil:
		return nil
	case err != nil && !absent:
		return err
	case absent || r.old == nil || !os.SameFile(now, r.old) || now.Size() != r.old.Size() || !now.ModTime().Equal(r.old.ModTime()):
		return errors.New("somebody else changed it meanwhile; read it again")
	}
	return nil
}

// The temporary file of a write; it becomes the file when it is complete. The table of protected
// names contains it.
const temporaryPrefix, temporarySuffix = ".toolpipe-", ".tmp"

// create makes the new file under a temporary name. If the file system has locks, the file is
// locked while it is open.
func (r *replacement) create() (f *os.File, name string, err error) {
	mode := r.mode
	if r.old != nil {
		mode = 0o600
	}
	for range attempts {
		name = temporaryPrefix + rand.Text() + temporarySuffix
		if f, err = r.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
			return nil, "", err
		}
		syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if there, _ := isFile(r.dir, name, f); there {
			return f, name, nil
		}
		f.Close() // another writer removed it before it was locked
	}
	return nil, "", ErrChanged
}

// fill writes content, gives f the owner and mode of the old file, and waits for the disk.
func (r *replacement) fill(f *os.File, content []byte) error {
	if _, err := f.Write(content); err != nil {
		return err
	}
	if r.old != nil {
		f.Chown(int(stat(r.old).Uid), int(stat(r.old).Gid)) // if the user may do that
		if err := f.Chmod(r.old.Mode().Perm()); err != nil {
			return err
		}
	}
	return f.Sync()
}

// maxSwept limits how many names in a large directory a write checks.
const maxSwept = 100_000

// removeLeftover removes a temporary file of create that a killed process left, unless a
// living process has locked it. On a file system without locks, every file may be locked.
func removeLeftover(dir *os.Root, name string) {
	middle, start := strings.CutPrefix(name, temporaryPrefix)
	middle, end := strings.CutSuffix(middle, temporarySuffix)
	if !start || !end || len(middle) != 26 || strings.Trim(middle, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return
	}
	f, info, err := OpenRegular(dir, name)
	if err != nil {
		return
	}
	defer f.Close()
	locked := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
	if there, _ := isFile(dir, name, f); there && !locked && !disk.Foreign(info) {
		dir.Remove(name)
	}
}

// isFile reports whether a name in dir is the open file f. An error means that it is unknown.
func isFile(dir *os.Root, name string, f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(now, info), err
}
