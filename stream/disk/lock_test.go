package disk

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
