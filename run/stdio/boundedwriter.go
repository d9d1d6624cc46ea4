// Package stdio is the real streams and the terminal of the process: writes
// that block without losing a byte and without waiting for ever, the width of
// the terminal, job control, and what the process does to protect itself.
package stdio

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"toolpipe/stream/goroutine"
)

// lastWords is how long a write that blocks may go on when the run is over: a
// reader that is only slow still gets what was for it.
const lastWords = 3 * time.Second

// boundedWriter writes to somebody who may stop reading. Waiting for him has
// no bound but ctx, the run's: lastWords after its end a blocked write is left
// behind, and every further one fails with its cause.
type boundedWriter struct {
	ctx   context.Context
	file  *blockingFile
	waits *ReaderWaits
	over  atomic.Bool
}

// Bounded is w with waiting bounded by ctx and counted in waits, which may be
// nil. Only a file of the system waits, and not a regular one.
func Bounded(ctx context.Context, w io.Writer, waits *ReaderWaits) io.Writer {
	f, ok := w.(*blockingFile)
	if !ok {
		return w
	}
	if info, err := f.f.Stat(); err == nil && info.Mode().IsRegular() {
		return w
	}
	if waits == nil {
		waits = &ReaderWaits{}
	}
	return &boundedWriter{ctx: ctx, file: f, waits: waits}
}

func (b *boundedWriter) Write(p []byte) (written int, err error) {
	fd := int(b.file.f.Fd())
	for !b.over.Load() {
		n, err := writeNow(fd, p[written:])
		written += n
		switch {
		case written == len(p):
			return written, nil
		case err == nil || err == syscall.EAGAIN:
			b.wait(fd)
		case errors.Is(err, errors.ErrUnsupported):
			n, err := b.leave(p[written:])
			return written + n, err
		case err != syscall.EINTR:
			return written, err
		}
	}
	return written, context.Cause(b.ctx)
}

// wait returns when fd may take more, or when waiting is over.
func (b *boundedWriter) wait(fd int) {
	defer b.waits.begin()()
	const look = 100 * time.Millisecond // how long the end of the run may go unnoticed
	for began := time.Now(); !writable(fd, look); {
		if b.ctx.Err() == nil {
			began = time.Now()
		} else if time.Since(began) > lastWords {
			b.over.Store(true)
			return
		}
	}
}

// leave writes where the system cannot tell beforehand whether a write waits:
// in a goroutine, which is left behind when waiting is over.
func (b *boundedWriter) leave(p []byte) (int, error) {
	defer b.waits.begin()()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer goroutine.AfterContext(b.ctx, func() {
		goroutine.AfterFunc(lastWords, func() { cancel(context.Cause(b.ctx)) })
	})()
	n, err := Await(ctx, func() (int, error) { return b.file.Write(p) })
	b.over.Store(ctx.Err() != nil)
	return n, err
}

// ReaderWaits measures how long the run has waited for whoever reads its
// output: in that time it takes in no answer, so that it is nobody's silence.
type ReaderWaits struct {
	mu      sync.Mutex
	writers int // that wait now
	since   time.Time
	total   time.Duration // without the wait that goes on
}

// begin begins a wait that ends when the returned function is called.
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

// Time is all of it until now.
func (r *ReaderWaits) Time() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writers > 0 {
		return r.total + time.Since(r.since)
	}
	return r.total
}
