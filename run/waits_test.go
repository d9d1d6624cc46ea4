package run

import "testing"

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

// A reader of stderr who has stopped holds the face's lock: the time is over
// all the same.
func TestWaitsWhileStderrIsStuck(t *testing.T) {
	f := newFace(&Config{}, Streams{})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waits.text()
}
