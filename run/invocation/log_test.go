package invocation

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/run/event"
	"toolpipe/stream/disk"
	"toolpipe/stream/text/secrets"
)

// otherRun is the log at path as another run has it open.
func otherRun(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// A line that another run is writing is no half line, and one that it left is ended.
func TestLogShared(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	other := otherRun(t, path)
	synctest.Test(t, func(t *testing.T) {
		if err := disk.Lock(t.Context(), other, 0); err != nil {
			t.Fatal(err)
		}
		io.WriteString(other, `{"type":`)
		o := &Outputs{Emitter: event.NewEmitter(&secrets.Set{})}
		done := make(chan error)
		go func() {
			err := o.OpenLog(t.Context(), path)
			if err == nil {
				err = o.Emit(&event.Start{})
			}
			done <- err
		}()
		synctest.Wait() // for the lock
		io.WriteString(other, "\"other\"}\n")
		disk.Unlock(other)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		io.WriteString(other, "half")
		if err := o.Emit(&event.End{Text: event.Pieces{strings.Repeat("x", 100<<10), "y"}}); err != nil {
			t.Fatal(err)
		}
		if err := disk.Lock(t.Context(), other, 0); err != nil {
			t.Error(err)
		}
		io.WriteString(other, "last\n")
		o.log.Close()
	})
	var begins []string
	for _, line := range lines(t, path) {
		begins = append(begins, line[:min(14, len(line))])
	}
	if got := strings.Join(begins, "\n"); got != `{"type":"other
{"type":"start
half
{"type":"end",
last
` {
		t.Error(got)
	}
}

// A lock that another program keeps is an error before anything is written.
func TestLogLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	other := otherRun(t, path)
	synctest.Test(t, func(t *testing.T) {
		if err := disk.Lock(t.Context(), other, 0); err != nil {
			t.Fatal(err)
		}
		o, began := &Outputs{Emitter: event.NewEmitter(&secrets.Set{})}, time.Now()
		if err := o.OpenLog(t.Context(), path); err == nil || time.Since(began) < lockWait || !strings.Contains(err.Error(), "has held the lock") {
			t.Error(err)
		}
	})
}
