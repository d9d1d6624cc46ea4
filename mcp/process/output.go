package process

import (
	"bytes"
	"slices"
	"sync"
)

const (
	MaxStderr  = 64 << 10 // bytes that are kept of the end of a child's stderr
	maxLogLine = 4 << 10  // bytes of a line that Log gets
)

// Output keeps the beginning and the end of what a child writes, and counts the
// bytes between them. It may be read while one goroutine writes. Writing never
// fails.
type Output struct {
	Head, Tail int               // bytes that are kept of each end
	Log        func(line string) // gets each line that is not empty; may be nil

	mu         sync.Mutex
	head, tail []byte
	next       int // where the next byte goes in tail, which is a circle once it is full
	dropped    int64
	line       []byte
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	rest := o.keep(&o.head, o.Head, p)
	rest = o.keep(&o.tail, o.Tail, rest)
	o.dropped += int64(len(rest))
	for rest = rest[max(0, len(rest)-o.Tail):]; len(rest) > 0; {
		n := copy(o.tail[o.next:], rest)
		o.next = (o.next + n) % o.Tail
		rest = rest[n:]
	}
	o.mu.Unlock()
	if o.Log != nil {
		o.log(p)
	}
	return len(p), nil
}

// keep appends to kept as long as it has less than limit bytes, and returns the rest.
func (o *Output) keep(kept *[]byte, limit int, p []byte) (rest []byte) {
	n := min(len(p), limit-len(*kept))
	*kept = append(*kept, p[:n]...)
	return p[n:]
}

func (o *Output) log(p []byte) {
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		o.line = append(o.line, line[:min(len(line), maxLogLine-len(o.line))]...)
		if whole {
			o.End()
		}
		p = rest
	}
}

// End gives Log a last line that has no line end.
func (o *Output) End() {
	if o.Log != nil && len(o.line) > 0 {
		o.Log(string(bytes.TrimSuffix(o.line, []byte("\r"))))
	}
	o.line = o.line[:0]
}

// Kept returns both ends, and how many bytes between them were dropped.
func (o *Output) Kept() (head, tail []byte, dropped int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.head), slices.Concat(o.tail[o.next:], o.tail[:o.next]), o.dropped
}

// String is the end of the output, from the first whole line if something was
// dropped.
func (o *Output) String() string {
	head, tail, dropped := o.Kept()
	if _, rest, found := bytes.Cut(tail, []byte("\n")); found && dropped > 0 {
		return string(rest)
	}
	return string(append(head, tail...))
}
