package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"toolpipe/stream/disk"
)

// A Listener is a socket that this process serves. Only processes of the same user can
// connect.
type Listener struct {
	unix *net.UnixListener
	path string
	lock *os.File // the lock shows that this process is alive; nil: another program owns the socket

	first time.Duration // how long a client may take to send something; 0: no limit
}

// MaxPath is how many bytes the path of a socket may have: a sockaddr_un has 108 on Linux and
// 104 on other systems, including a final 0.
const MaxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// lockWait is how long another process may need for its end.
const lockWait = 200 * time.Millisecond

// ErrTaken is the error for a socket that another process listens at.
var ErrTaken = errors.New("another process listens there")

// Listen creates the socket at path. Only this user may use its file, and nobody else can
// write to its directory. It replaces the socket of a dead process, which the lock of the
// file PATH.lock shows. A process that is just ending still holds that lock; Listen waits
// lockWait for it.
func Listen(ctx context.Context, path string) (l *Listener, err error) {
	if err := checkPlace(path); err != nil {
		return nil, err
	}
	lock, err := disk.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	if err := disk.Lock(ctx, lock, lockWait); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, ErrTaken
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	unix, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	unix.SetUnlinkOnClose(true)
	if err := os.Chmod(path, 0o600); err != nil {
		unix.Close()
		return nil, err
	}
	return &Listener{unix: unix, path: path, lock: lock}, nil
}

// Check returns the error that Listen would return, or nil. It creates no file.
func Check(ctx context.Context, path string) error {
	if err := checkPlace(path); err != nil {
		return err
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if disk.Lock(ctx, lock, lockWait) != nil {
		return ErrTaken
	}
	return nil
}

// checkPlace refuses a path that cannot be a socket, and one where other users could replace
// it.
func checkPlace(path string) error {
	if len(path) > MaxPath {
		return fmt.Errorf("its path has %d bytes, and the path of a socket may have %d", len(path), MaxPath)
	}
	if err := checkDirectory(filepath.Dir(path)); err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return errors.New("there is a file that is not a socket")
	}
	return nil
}

// checkDirectory refuses a directory of another user, or one where another user could replace
// our socket.
func checkDirectory(dir string) error {
	if err := disk.CheckDirectories(dir + "/."); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("other users can write to its directory %q, which has mode %04o", dir, info.Mode().Perm())
	case disk.Foreign(info):
		return fmt.Errorf("its directory %q belongs to user %d", dir, disk.Uid(info))
	}
	return nil
}

// firstInherited is the descriptor of the first socket that systemd passes to a service,
// SD_LISTEN_FDS_START of sd_listen_fds(3).
const firstInherited = 3

// Inherited is the socket that systemd, or another program with its socket activation
// protocol, made for this process according to LISTEN_PID and LISTEN_FDS; nil if there is
// none. That program owns the socket's file.
func Inherited(path string, getenv func(string) string) (*Listener, error) {
	if getenv("LISTEN_FDS") == "" || getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	if n := getenv("LISTEN_FDS"); n != "1" {
		return nil, fmt.Errorf("LISTEN_FDS is %q, but toolpipe listens at exactly one socket", n)
	}
	syscall.CloseOnExec(firstInherited)
	f := os.NewFile(firstInherited, "LISTEN_FDS")
	defer f.Close()
	made, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d of LISTEN_FDS: %w", firstInherited, err)
	}
	unix, is := made.(*net.UnixListener)
	if !is || unix.Addr().String() != path {
		made.Close()
		return nil, fmt.Errorf("the socket of LISTEN_FDS is %q, and not this one", made.Addr())
	}
	unix.SetUnlinkOnClose(false)
	return &Listener{unix: unix, path: path}, nil
}

// Accept waits for a client. It rejects clients of other users except root.
func (l *Listener) Accept() (*net.UnixConn, error) {
	for {
		c, err := l.unix.AcceptUnix()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) {
			time.Sleep(10 * time.Millisecond) // until a client disconnects
			continue
		}
		if err != nil {
			return nil, err
		}
		if uid, known := user(c); !known || uid == 0 || int(uid) == os.Geteuid() {
			return c, nil
		}
		c.Close()
	}
}

// Close accepts no more clients and removes the file of the socket. Connected clients stay.
func (l *Listener) Close() {
	l.unix.Close()
	if l.lock != nil {
		l.lock.Close()
	}
}
