package run

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	"toolpipe/stream/goroutine"
)

// lastWords is how long a write that blocks may go on when the run is over: a
// reader that is only slow still gets what was for it.
const lastWords = 3 * time.Second

// boundedWriter writes to somebody who may stop reading. Waiting for him has
// no bound but ctx, the run's (DESIGN part 7): lastWords after its end a
// blocked write is left behind, and every further one fails with its cause.
type boundedWriter struct {
	ctx  context.Context
	file *blockingFile
	over bool
}

// bounded is w with waiting bounded by ctx; only a file of the system waits.
func bounded(ctx context.Context, w io.Writer) io.Writer {
	if f, ok := w.(*blockingFile); ok {
		return &boundedWriter{ctx: ctx, file: f}
	}
	return w
}

func (b *boundedWriter) Write(p []byte) (written int, err error) {
	fd := int(b.file.f.Fd())
	for !b.over {
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
	const look = 100 * time.Millisecond // how long the end of the run may go unnoticed
	for began := time.Now(); !writable(fd, look); {
		if b.ctx.Err() == nil {
			began = time.Now()
		} else if time.Since(began) > lastWords {
			b.over = true
			return
		}
	}
}

// leave writes where the system cannot tell beforehand whether a write waits:
// in a goroutine, which is left behind when waiting is over.
func (b *boundedWriter) leave(p []byte) (int, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer goroutine.AfterContext(b.ctx, func() {
		goroutine.AfterFunc(lastWords, func() { cancel(context.Cause(b.ctx)) })
	})()
	n, err := waitFor(ctx, func() (int, error) { return b.file.Write(p) })
	b.over = ctx.Err() != nil
	return n, err
}
