package socket

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

	"toolpipe/mcp/filelock"
	"toolpipe/stream/ownership"
)

// A Listener is a socket that this process serves. Only processes of the same user get in.
type Listener struct {
	unix *net.UnixListener
	path string
	lock *os.File // holds the lock that says that this process is alive; nil: the socket is another program's
}

// MaxPath is how many bytes the path of a socket may have: a sockaddr_un has 108 on Linux
// and 104 on other systems, one of which is 0.
const MaxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// lockWait is how long another process may need for its end.
const lockWait = 200 * time.Millisecond

// ErrTaken is why a socket cannot be listened at: another process does.
var ErrTaken = errors.New("another process listens there")

// Listen makes the socket at path, whose file only this user may use, in a directory that
// nobody else can write to. It takes the place of a socket whose process is dead, as the
// lock of the file PATH.lock tells. The process that goes on ending keeps that lock for a
// moment, which is waited for.
func Listen(ctx context.Context, path string) (l *Listener, err error) {
	if err := checkPlace(path); err != nil {
		return nil, err
	}
	lock, err := ownership.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	if err := filelock.Wait(ctx, lock, lockWait); err != nil {
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
	return &Listener{unix, path, lock}, nil
}

// Check says why Listen would fail; nil where it would not. It makes no file.
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
	if filelock.Wait(ctx, lock, lockWait) != nil {
		return ErrTaken
	}
	return nil
}

// checkPlace refuses a path that no socket can have, and one where it would not be this
// user's alone.
func checkPlace(path string) error {
	if len(path) > MaxPath {
		return fmt.Errorf("its path has %d bytes, and the path of a socket may have %d", len(path), MaxPath)
	}
	if err := checkDirectory(filepath.Dir(path)); err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return errors.New("there is a file that is no socket")
	}
	return nil
}

// checkDirectory refuses a directory in which another user could put another socket in the
// place of ours, or one that is another user's.
func checkDirectory(dir string) error {
	if err := ownership.CheckDirectories(dir + "/."); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("other users can write to its directory %q, which has mode %04o", dir, info.Mode().Perm())
	case ownership.Foreign(info):
		return fmt.Errorf("its directory %q belongs to user %d", dir, ownership.Uid(info))
	}
	return nil
}

// firstInherited is the descriptor of the first socket that systemd hands to a service,
// SD_LISTEN_FDS_START of sd_listen_fds(3).
const firstInherited = 3

// Inherited is the socket that systemd, or whoever else speaks its protocol of socket
// activation, has made for this process, as the variables LISTEN_PID and LISTEN_FDS tell;
// nil where there is none. Its file is that program's.
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

// Accept waits for a client. One of another user, who is not root, is turned away.
func (l *Listener) Accept() (*net.UnixConn, error) {
	for {
		c, err := l.unix.AcceptUnix()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) {
			time.Sleep(10 * time.Millisecond) // until a client has gone
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

// Close lets no more clients in, and removes the file of the socket. Those that are in stay.
func (l *Listener) Close() {
	l.unix.Close()
	if l.lock != nil {
		l.lock.Close()
	}
}
