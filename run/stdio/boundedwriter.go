// Package stdio handles the real streams and the terminal of the process: writes that can block
// without losing bytes and with a time limit at the end, the width of the terminal, job control,
// and measures to protect the process.
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

// endGrace is how long a blocked write may go on after the end of the run: a slow reader still gets
// the rest.
const endGrace = 3 * time.Second

// A boundedWriter writes to a reader that may stop reading. During the run a write waits for the
// reader. endGrace after the end of ctx, the context of the run, a blocked write is given up, and
// every further write fails with the cause of ctx.
type boundedWriter struct {
	ctx   context.Context
	file  *blockingFile
	waits *ReaderWaits
	grace time.Duration // endGrace
	over  atomic.Bool
	now   func(fd int, p []byte) int // see immediateWrite; may be nil
	grown bool                       // the pipe was full once
}

// Bounded returns w with waits limited by ctx and measured by waits. Only a Blocking writer of a
// pipe, a socket or a terminal waits; any other writer is returned unchanged.
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

// Write writes immediately what the reader accepts, then waits for the rest piece by piece. A slow
// reader has endGrace for each piece.
func (b *boundedWriter) Write(p []byte) (written int, err error) {
	if b.over.Load() {
		return 0, context.Cause(b.ctx)
	}
	const piece = 4 << 10 // fits into a pipe or socket as soon as it was read
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

// wait writes a copy of p in a goroutine. If the writer gives up, the goroutine keeps waiting.
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

// ReaderWaits measures how long the run has waited for the reader of its output. The run receives
// no answers meanwhile, so this time does not count as silence of a server.
type ReaderWaits struct {
	mu      sync.Mutex
	writers int // writers waiting now
	since   time.Time
	total   time.Duration // total of the finished waits
}

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

func (r *ReaderWaits) Time() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writers > 0 {
		return r.total + time.Since(r.since)
	}
	return r.total
}
