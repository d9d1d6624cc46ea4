package process

import (
	"bytes"
	"slices"
	"sync"

	"toolpipe/stream/goroutine"
)

const (
	MaxStderr  = 64 << 10 // bytes of the end of a child's stderr that are kept
	MaxLogLine = 8 << 10  // bytes of a line that Log gets; the rest is dropped
)

// Output keeps the beginning and the end of a child's output, and counts the bytes between
// them. It may be read while one goroutine writes. Writing never fails. After a panic of Log
// or Full the run still ends cleanly.
type Output struct {
	Head, Tail int               // bytes that are kept at each end
	Log        func(line string) // gets each line that is not empty; may be nil
	Full       func()            // called when Head bytes are kept, possibly more than once; may be nil

	mu         sync.Mutex
	head, tail []byte
	seen       int64 // bytes after the head
	line       []byte
}

func (o *Output) Write(p []byte) (int, error) {
	defer goroutine.Recover()
	o.mu.Lock()
	n := min(len(p), o.Head-len(o.head))
	rest := p[n:]
	if n > cap(o.head)-len(o.head) {
		const grows = 8 // times; each move of a long output leaves a copy for the garbage collector
		o.head = slices.Grow(o.head, min(max(n, (grows-1)*len(o.head)), o.Head-len(o.head)))
	}
	o.head = append(o.head, p[:n]...)
	o.tail = append(o.tail, rest[max(0, len(rest)-o.Tail):]...)
	o.seen += int64(len(rest))
	if len(o.tail) > 2*o.Tail { // moved seldom
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-o.Tail:]...)
	}
	isFull := len(o.head) == o.Head
	o.mu.Unlock()
	if isFull && o.Full != nil {
		o.Full()
	}
	if o.Log != nil {
		o.log(p)
	}
	return len(p), nil
}

func (o *Output) log(p []byte) {
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		o.line = append(o.line, line[:min(len(line), MaxLogLine-len(o.line))]...)
		if whole {
			o.End()
		}
		p = rest
	}
}

// End passes an unfinished last line to Log.
func (o *Output) End() {
	if o.Log != nil && len(o.line) > 0 {
		o.Log(string(bytes.TrimSuffix(o.line, []byte("\r"))))
	}
	o.line = o.line[:0]
}

// Kept returns both ends and the number of bytes dropped between them. The head does not change when
// more is written.
func (o *Output) Kept() (head, tail []byte, dropped int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail = slices.Clone(o.tail[max(0, len(o.tail)-o.Tail):])
	return slices.Clip(o.head), tail, o.seen - int64(len(tail))
}

func (o *Output) Size() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return int64(len(o.head)) + o.seen
}

// From returns at most limit consecutive bytes: the first kept ones from offset on. They
// begin at at, which is greater than offset if bytes were dropped there. At the end of the
// output it returns none.
func (o *Output) From(offset int64, limit int) (b []byte, at int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail := o.tail[max(0, len(o.tail)-o.Tail):]
	headEnd := int64(len(o.head))
	tailAt := headEnd + o.seen - int64(len(tail))
	if at = max(offset, 0); at < headEnd {
		b = append(b, o.head[at:min(headEnd, at+int64(limit))]...)
		if tailAt == headEnd {
			b = append(b, tail[:min(len(tail), limit-len(b))]...)
		}
		return b, at
	}
	at = min(max(at, tailAt), tailAt+int64(len(tail)))
	tail = tail[at-tailAt:]
	return slices.Clone(tail[:min(len(tail), limit)]), at
}

// String is both ends of the output. If bytes between them were dropped, it has only whole
// lines.
func (o *Output) String() string {
	head, tail, dropped := o.Kept()
	if _, rest, found := bytes.Cut(tail, []byte("\n")); found && dropped > 0 {
		return string(append(head[:bytes.LastIndexByte(head, '\n')+1], rest...))
	}
	return string(append(head, tail...))
}
