package process

import (
	"bytes"
	"sync"
)

const (
	maxTail    = 64 << 10 // kept of a child's stderr
	maxLogLine = 4 << 10  // shown of one line
)

// Tail keeps the last bytes written to it and hands on whole lines.
type Tail struct {
	Log  func(line string) // nil drops them
	mu   sync.Mutex
	ring []byte // grows to maxTail, then wraps at next
	next int
	line []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.keep(p)
	t.mu.Unlock()
	if t.Log != nil {
		t.lines(p)
	}
	return len(p), nil
}

func (t *Tail) keep(p []byte) {
	p = p[max(0, len(p)-maxTail):]
	if n := min(len(p), maxTail-len(t.ring)); n > 0 {
		t.ring = append(t.ring, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(t.ring[t.next:], p)
		t.next = (t.next + n) % maxTail
		p = p[n:]
	}
}

func (t *Tail) lines(p []byte) {
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		t.line = append(t.line, line[:min(len(line), maxLogLine-len(t.line))]...)
		if whole {
			t.End()
		}
		p = rest
	}
}

// End hands on a last line that has no end.
func (t *Tail) End() {
	if t.Log != nil && len(t.line) > 0 {
		t.Log(string(bytes.TrimSuffix(t.line, []byte("\r"))))
	}
	t.line = t.line[:0]
}

// String is what is kept, from the first whole line if something was dropped.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ring) < maxTail {
		return string(t.ring)
	}
	kept := append(bytes.Clone(t.ring[t.next:]), t.ring[:t.next]...)
	if _, rest, ok := bytes.Cut(kept, []byte("\n")); ok {
		kept = rest
	}
	return string(kept)
}
