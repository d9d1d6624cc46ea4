// Package sharedfile is for files that several processes change: a lock that is
// waited for, and a new content in the place of the old, whole or not at all.
package sharedfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const lockPoll = 20 * time.Millisecond

// Lock waits until nobody else has a lock on the open file f, at most for limit. The
// lock ends when f is closed, also by the death of the process.
func Lock(ctx context.Context, f *os.File, limit time.Duration) error {
	for deadline := time.Now().Add(limit); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return fmt.Errorf("%s cannot be locked: %w", f.Name(), err)
		case time.Now().After(deadline):
			return fmt.Errorf("another process has held the lock %s for %v", f.Name(), limit)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockPoll):
		}
	}
}

// Replace puts a file with the content and the mode in the place of the one at path,
// if check, which it calls at the last moment, returns no error. Until it is whole,
// the new file is at the path temporary in the same directory. The caller holds a
// lock, so that it is nobody else's: what a process that was killed has left goes with
// the next call.
func Replace(path, temporary string, content []byte, mode fs.FileMode, check func() error) error {
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = check()
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		os.Remove(temporary)
		return err
	}
	return SyncDirectory(filepath.Dir(path))
}

// SyncDirectory waits until the disk knows the names in a directory.
func SyncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // some file systems cannot
		return err
	}
	return nil
}
