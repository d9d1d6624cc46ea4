package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"toolpipe/stream/disk"
)

// The files of a store. Each has the mode 0600 and the directory 0700. A file is replaced as
// a whole, by renaming, so that a reader gets the old or the new login, and a killed process
// leaves one of the two.

const maxLogin = 64 << 10 // bytes of a stored login

// id names the login: the SHA-256 of the server's URL and the account.
func (k Key) id() string {
	sum := sha256.Sum256([]byte(k.Server + "\x00" + k.Account))
	return hex.EncodeToString(sum[:])
}

// path is the file of the login with an id.
func (s *Store) path(id string) string { return filepath.Join(s.Dir, id+".json") }

// checkDir refuses a directory in which another user could put a file. A missing directory is
// fs.ErrNotExist, also for a user without a home directory.
func (s *Store) checkDir() error {
	info, err := os.Lstat(s.Dir)
	if err != nil {
		return err
	}
	if !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
		return &RefusedError{s.Dir, "it is not a directory"}
	}
	return refuse(s.Dir, info)
}

func (s *Store) makeDir() error {
	if s.Dir == "" {
		return errors.New("there is no directory to keep logins in: neither XDG_STATE_HOME nor HOME is an absolute path")
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	return s.checkDir()
}

// refuse is the error for a file or directory that another user controls.
func refuse(path string, info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &RefusedError{path, "it is a symbolic link"}
	case int(disk.Uid(info)) != os.Geteuid():
		return &RefusedError{path, fmt.Sprintf("it belongs to user %d", disk.Uid(info))}
	case info.Mode()&0o022 != 0:
		return &RefusedError{path, fmt.Sprintf("others can write to it (mode %04o)", info.Mode().Perm())}
	}
	return nil
}

// readFile reads the file of a login; nil if there is none. It checks the file after opening it,
// so that nobody can replace it in between.
func (s *Store) readFile(id string) ([]byte, error) {
	path := s.path(id)
	if err := s.checkDir(); errors.Is(err, fs.ErrPermission) {
		return nil, nil // a directory that this user cannot enter has none of this user's logins
	} else if err != nil {
		return nil, unlessMissing(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) { // FreeBSD reports EMLINK
		return nil, &RefusedError{path, "it is a symbolic link"}
	}
	if err != nil {
		return nil, unlessMissing(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &RefusedError{path, "it is not a regular file"}
	}
	if err == nil {
		err = refuse(path, info)
	}
	if err != nil {
		return nil, err
	}
	if info.Mode()&0o044 != 0 {
		s.warnOnce("login_readable", "", fmt.Sprintf("%s contains a login, and others can read it (mode %04o): chmod 600 it, and sign in again if somebody may have read it", path, info.Mode().Perm()))
	}
	doc, err := io.ReadAll(io.LimitReader(f, maxLogin+1))
	if err == nil && len(doc) > maxLogin {
		err = &RefusedError{path, "it is longer than any login"}
	}
	return doc, err
}

func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s *Store) warnOnce(code, server, message string) {
	if _, again := s.warned.LoadOrStore(message, true); !again && s.Warn != nil {
		s.Warn(code, server, message)
	}
}

// writeFile writes a temporary file and renames it. The caller holds the lock, so all writers can
// use the same temporary file, and each removes what a killed writer left.
func (s *Store) writeFile(id string, doc []byte) error {
	if err := s.makeDir(); err != nil {
		return err
	}
	temporary := s.path(id) + ".tmp"
	if err := os.Remove(temporary); unlessMissing(err) != nil {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(doc)
	err = errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temporary, s.path(id))
	}
	if err != nil {
		os.Remove(temporary)
		return err
	}
	return disk.SyncDir(s.Dir)
}

func (s *Store) removeFile(id string) error {
	if err := s.checkDir(); err != nil {
		return unlessMissing(err)
	}
	if err := os.Remove(s.path(id)); err != nil {
		return unlessMissing(err)
	}
	return disk.SyncDir(s.Dir)
}

func (s *Store) listFiles() (ids []string, err error) {
	if err := s.checkDir(); err != nil {
		return nil, unlessMissing(err)
	}
	entries, err := os.ReadDir(s.Dir)
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && len(id) == hex.EncodedLen(sha256.Size) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

const lockTime = time.Minute

// lock waits until no other process or goroutine changes the login. The lock ends with its
// holder, also when that is killed. The lock file stays: if it was removed, two processes
// could lock different files of one name.
func (s *Store) lock(ctx context.Context, k Key) (unlock func(), err error) {
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.Dir, k.id()+".lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := disk.Lock(ctx, f, lockTime); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
