package run

import (
	"testing"
	"time"
)

func TestWaitsText(t *testing.T) {
	f := newFace(&Config{}, Streams{})
	want := func(text string) {
		t.Helper()
		if got := f.waits.text(); got != text {
			t.Errorf("waits for %q, want %q", got, text)
		}
	}
	want("")
	servers := make([]server, 6)
	for i := range servers {
		servers[i].Name = string(rune('a' + i))
	}
	f.connecting(servers)
	want(`server "a", server "b", server "c", server "d" and 2 more`)
	for _, s := range servers[1:] {
		f.serverReady(s.Name)
	}
	f.waits.set(func(w *waits) { w.stdin = true })
	want(`server "a", standard input`)
	f.serverReady("a")
	f.waits.set(func(w *waits) { w.stdin = false })
	f.event(asked)
	want("the model")
	f.event(callEvent(1, "fs__read", `{}`))
	want("tool fs__read")
	f.pause()
	want("an answer on the terminal")
	f.resume()
	f.event(okResult(1, ""))
	want("the model")
}

// TestWaitsWhileStderrIsStuck holds that the error of --timeout can be worded
// while a write to stderr holds the face's lock.
func TestWaitsWhileStderrIsStuck(t *testing.T) {
	f := newFace(&Config{}, Streams{})
	f.waits.set(func(w *waits) { w.stdin = true })
	f.mu.Lock()
	defer f.mu.Unlock()
	text := make(chan string, 1)
	go func() { text <- f.waits.text() }()
	select {
	case got := <-text:
		if got != "standard input" {
			t.Errorf("waits for %q", got)
		}
	case <-time.After(20 * time.Second):
		t.Error("it waits for the lock")
	}
}
