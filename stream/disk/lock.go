package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// poll is the time between two attempts. It is short, so that a process gets its turn among
// others that lock the file again and again.
const poll = 2 * time.Millisecond

// Lock locks the open file f. It waits at most limit for other holders. The lock ends when f
// is closed, also by the death of the process.
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
			return fmt.Errorf("another process has held the lock %s for %v", f.Name(), limit.Round(time.Millisecond))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}

// Unlock ends this process's lock on f.
func Unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// Sync waits until the content of a file, or the names in a directory, are on the disk.
func Sync(f *os.File) error {
	if err := f.Sync(); !errors.Is(err, syscall.EINVAL) { // some file systems do not support it
		return err
	}
	return nil
}

// SyncDir is Sync for the directory at path. It does nothing in a directory that is writable
// but not readable.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if errors.Is(err, os.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	return Sync(d)
}
