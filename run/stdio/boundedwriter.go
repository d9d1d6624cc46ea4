// Package stdio is the real streams and the terminal of the process: writes
// that block without losing a byte and without waiting for ever, the width of
// the terminal, job control, and what the process does to protect itself.
package stdio

import (
	"bytes"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"toolpipe/stream/goroutine"
)

// endGrace is how long a blocked write may go on after the end of the run: a
// reader that is only slow still gets the rest.
const endGrace = 3 * time.Second

// A boundedWriter writes to a reader that may stop reading. As long as the run
// goes on a write waits for the reader. endGrace after the end of ctx, the
// context of the run, a blocked write is given up, and every further write
// fails with the cause of ctx.
type boundedWriter struct {
	ctx   context.Context
	file  *blockingFile
	waits *ReaderWaits
	grace time.Duration // endGrace
	over  atomic.Bool
	now   func(fd int, p []byte) int // see immediateWrite; may be nil
	grown bool                       // the pipe was full once
}

// Bounded returns w as a writer whose waiting is bounded by ctx and measured by
// waits. Only a Blocking writer of a pipe, a socket or a terminal waits; any other
// writer is returned as it is.
func Bounded(ctx context.Context, w io.Writer, waits *ReaderWaits) io.Writer {
	f, ok := w.(*blockingFile)
	if !ok {
		return w
	}
	if info, err := f.f.Stat(); err == nil && info.Mode().IsRegular() {
		return w
	}
	return &boundedWriter{ctx: ctx, file: f, waits: waits, grace: endGrace, now: immediateWrite()}
}

// Write writes at once what the reader takes, and waits with the rest piece by piece: a
// reader that is slow has endGrace for each of them.
func (b *boundedWriter) Write(p []byte) (written int, err error) {
	if b.over.Load() {
		return 0, context.Cause(b.ctx)
	}
	const piece = 4 << 10 // a pipe or socket has room for it as soon as it is read
	for written < len(p) && err == nil {
		n := 0
		if b.now != nil {
			n = b.now(int(b.file.f.Fd()), p[written:])
		}
		if n == 0 && !b.grown {
			b.grown = true
			growPipe(int(b.file.f.Fd()))
			continue
		}
		if n == 0 {
			n, err = b.wait(p[written:min(written+piece, len(p))])
		}
		written += n
	}
	return written, err
}

// wait writes in a goroutine, which is left behind with a copy of p when the writer
// gives up.
func (b *boundedWriter) wait(p []byte) (int, error) {
	defer b.waits.begin()()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer goroutine.AfterContext(b.ctx, func() {
		goroutine.AfterFunc(b.grace, func() { cancel(context.Cause(b.ctx)) })
	})()
	p = bytes.Clone(p)
	n, err := goroutine.AwaitResult(ctx, func() (int, error) { return b.file.Write(p) })
	b.over.Store(ctx.Err() != nil)
	return n, err
}

// ReaderWaits measures how long the run has waited for the reader of its
// output. In that time the run takes in no answers, so the time does not count
// as a server's silence.
type ReaderWaits struct {
	mu      sync.Mutex
	writers int // writers that wait now
	since   time.Time
	total   time.Duration // the time of the waits that have ended
}

// begin begins a wait; calling the returned function ends it.
func (r *ReaderWaits) begin() (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writers++; r.writers == 1 {
		r.since = time.Now()
	}
	return r.end
}

func (r *ReaderWaits) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writers--; r.writers == 0 {
		r.total += time.Since(r.since)
	}
}

// Time is the whole time waited until now.
func (r *ReaderWaits) Time() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writers > 0 {
		return r.total + time.Since(r.since)
	}
	return r.total
}
