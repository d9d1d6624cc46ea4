package run

import (
	"context"
	"io"
	"time"
)

// lastWords is how long a write that blocks may go on when the run is over: a
// reader that is only slow still gets what was for it.
const lastWords = 3 * time.Second

// atomicPipeWrite is the most that a pipe with room takes without blocking:
// PIPE_BUF of Linux.
const atomicPipeWrite = 4096

// boundedWriter writes to somebody who may stop reading. Waiting for him has
// no bound but ctx, the run's (DESIGN part 7): lastWords after its end a
// blocked write is left behind, and every further one fails with its cause.
type boundedWriter struct {
	ctx  context.Context
	w    io.Writer
	room func() bool // tells that a pipe or terminal has room
	over bool
}

// bounded is w with waiting bounded by ctx. What cannot block is left as it
// is: only a file of the system has room to run out of.
func bounded(ctx context.Context, w io.Writer) io.Writer {
	if f, ok := w.(interface{ room() bool }); ok {
		return &boundedWriter{ctx: ctx, w: w, room: f.room}
	}
	return w
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	if b.over {
		return 0, context.Cause(b.ctx)
	}
	if len(p) <= atomicPipeWrite && b.room() {
		return b.w.Write(p)
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() { // a write of the system knows no context
		n, err := b.w.Write(p)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-b.ctx.Done():
	}
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.n, r.err
	case <-timer.C:
		b.over = true
		return 0, context.Cause(b.ctx)
	}
}
