package local

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// private is a directory that only this user can write to.
func private(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPath(t *testing.T) {
	for address, want := range map[string]string{"unix:/a/b": "/a/b", "unix:///a": "/a", "unix:a": "a", "unix:": "", "/a": "no", "http://x": "no", "unix:////a": "//a"} {
		path, is := Path(address)
		if !is {
			path = "no"
		}
		if path != want {
			t.Errorf("%s: %q", address, path)
		}
	}
}

// TestListen holds which paths can be listened at, that a live socket is not taken and a dead
// one is, and that the file goes at the end.
func TestListen(t *testing.T) {
	dir := private(t)
	path := filepath.Join(dir, "s")
	l, err := Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), path); !errors.Is(err, ErrTaken) {
		t.Errorf("a second time: %v", err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	l.unix.SetUnlinkOnClose(false) // as if the process was killed
	l.Close()
	if l, err = Listen(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
	if _, err := Listen(t.Context(), filepath.Join(dir, strings.Repeat("x", MaxPath))); err == nil {
		t.Error("a path that is too long")
	}
}

// TestServe: it ends with its context, or when nobody has come for a time, and waits for
// those who are there.
func TestServe(t *testing.T) {
	path := filepath.Join(private(t), "s")
	l, err := Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(t.Context(), 500*time.Millisecond, func(_ context.Context, n int, c io.ReadWriter) {
			buf := make([]byte, 8)
			k, _ := c.Read(buf)
			c.Write(buf[:k])
		})
	}()
	c, err := Dial(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // longer than it would wait without a client
	if err := c.Send(t.Context(), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if msg, err := c.Receive(); string(msg) != "{}" || err != nil {
		t.Errorf("%q, %v", msg, err)
	}
	c.Close()
	if err := <-served; err != nil {
		t.Errorf("idle: %v", err)
	}
	if l, err = Listen(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := l.Serve(ctx, 0, nil); err != why {
		t.Errorf("%v", err)
	}
}

// TestServeDeaf: a client that does not read keeps the server from ending for a moment only.
func TestServeDeaf(t *testing.T) {
	path := filepath.Join(private(t), "s")
	l, err := Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served, writing := make(chan error, 1), make(chan struct{})
	go func() {
		served <- l.Serve(ctx, 0, func(_ context.Context, _ int, c io.ReadWriter) {
			close(writing)
			for {
				if _, err := c.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		})
	}()
	c, err := Dial(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	<-writing
	cancel()
	select {
	case err := <-served:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it waits for a client that does not read")
	}
}
