package sharedfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Two open files of one path are two holders, as two processes are.
func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	first, second := open(t, path), open(t, path)
	if err := Lock(t.Context(), first, 0); err != nil {
		t.Fatal(err)
	}
	if err := Lock(t.Context(), second, time.Millisecond); err == nil || !strings.Contains(err.Error(), "has held the lock "+path) {
		t.Errorf("a lock that is held: %v", err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if err := Lock(ctx, second, time.Hour); !errors.Is(err, stop) {
		t.Errorf("after the end of the context: %v", err)
	}
	waited := make(chan error)
	go func() { waited <- Lock(t.Context(), second, time.Hour) }()
	first.Close()
	if err := <-waited; err != nil {
		t.Errorf("after the holder has gone: %v", err)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, temporary := filepath.Join(dir, "f"), filepath.Join(dir, "f.tmp")
	good := func() error { return nil }
	if err := os.WriteFile(temporary, []byte("left by a process that was killed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, temporary, []byte("new"), 0o640, good); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	if err := Replace(path, temporary, []byte("newer"), 0o600, func() error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a check that fails: %v", err)
	}
	content, err := os.ReadFile(path)
	if err != nil || string(content) != "new" {
		t.Errorf("the file is %q, %v", content, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}
