package face

import (
	"testing"
	"time"

	"toolpipe/run/stdio"
)

func TestWaitsText(t *testing.T) {
	f := New(Options{Getenv: environ(nil)}, stdio.Streams{})
	want := func(text string) {
		t.Helper()
		if got := f.Awaited(); got != text {
			t.Errorf("waits for %q, want %q", got, text)
		}
	}
	want("")
	servers := []string{"a", "b", "c", "d", "e", "f"}
	f.Connecting(servers)
	want(`server "a", server "b", server "c", server "d" and 2 more`)
	for _, s := range servers[1:] {
		f.ServerReady(s)
	}
	f.ReadingStdin(true)
	want(`server "a", standard input`)
	f.ServerReady("a")
	f.ReadingStdin(false)
	f.Event(asked)
	want("the model")
	f.Event(callEvent(1, "fs__read", `{}`))
	want("tool fs__read")
	f.Pause()
	want("an answer on the terminal")
	f.Resume()
	f.Event(okResult(1, ""))
	want("the model")
}

// TestWaitsWhileStderrIsStuck holds that standard input can be read, and the error of
// --timeout can be worded, while a write to stderr holds the face's lock.
func TestWaitsWhileStderrIsStuck(t *testing.T) {
	f := New(Options{Getenv: environ(nil)}, stdio.Streams{})
	f.mu.Lock()
	defer f.mu.Unlock()
	text := make(chan string, 1)
	go func() {
		f.ReadingStdin(true)
		text <- f.Awaited()
	}()
	select {
	case got := <-text:
		if got != "standard input" {
			t.Errorf("waits for %q", got)
		}
	case <-time.After(20 * time.Second):
		t.Error("it waits for the lock")
	}
}
