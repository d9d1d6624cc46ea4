package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"toolpipe/stream/goroutine"
)

// A FrameWriter sends messages to a peer that may not read. Any number of goroutines may
// send.
type FrameWriter struct {
	to        DeadlineWriter
	headed    bool          // frames have Content-Length headers
	writing   chan struct{} // a lock for truncated and writes: it holds one element
	truncated bool          // a message was sent in part
}

// A DeadlineWriter is a pipe or a socket.
type DeadlineWriter interface {
	Write(p []byte) (int, error)
	SetWriteDeadline(t time.Time) error
}

// NewFrameWriter makes a writer. With headed, frames have a Content-Length header; otherwise
// each is a line.
func NewFrameWriter(to DeadlineWriter, headed bool) FrameWriter {
	return FrameWriter{to: to, headed: headed, writing: make(chan struct{}, 1)}
}

// Send writes the message in one piece. If the peer does not read it completely until ctx
// ends, nothing can be sent any more.
func (w *FrameWriter) Send(ctx context.Context, msg []byte) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotSent, context.Cause(ctx))
	}
	frame := make([]byte, 0, len(msg)+40)
	if w.headed {
		frame = append(fmt.Appendf(frame, "Content-Length: %d\r\n\r\n", len(msg)), msg...)
	} else {
		frame = append(append(frame, msg...), '\n')
	}
	select { // a full pipe may block the current writer for longer than ctx lasts
	case w.writing <- struct{}{}:
		defer func() { <-w.writing }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrNotSent, context.Cause(ctx))
	}
	if w.truncated {
		return fmt.Errorf("%w: the server does not read, part of an earlier message is still in the pipe", ErrNotSent)
	}
	n, err := w.write(ctx, frame)
	if err == nil {
		return nil
	}
	if n == 0 {
		return fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	w.truncated = true
	return err
}

// write writes until ctx ends. It removes the deadline that ended it, for later writes.
func (w *FrameWriter) write(ctx context.Context, frame []byte) (int, error) {
	expired := make(chan struct{})
	stop := goroutine.AfterContext(ctx, func() {
		w.to.SetWriteDeadline(time.Unix(1, 0))
		close(expired)
	})
	n, err := w.to.Write(frame)
	if !stop() { // the function has begun, and may still run
		<-expired
		w.to.SetWriteDeadline(time.Time{})
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return n, err
}
