package toolserver

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"toolpipe/mcp/wire"
)

// Pipe connects to the server inside this process. Requests that need no tool
// are answered within Send; a call has a goroutine of its own. Close cancels
// the calls that run and waits a moment for them.
func (s *Server) Pipe() wire.Transport { return s.pipe(context.Background()) }

// pipe is Pipe; the calls end with ctx too.
func (s *Server) pipe(ctx context.Context) *pipe {
	p := &pipe{wake: make(chan struct{}, 1), taken: make(chan struct{}, 1), finished: make(chan struct{}), closed: make(chan struct{})}
	p.serving = newServing(ctx, s, p.put)
	return p
}

type pipe struct {
	serving  *serving
	closing  sync.Once
	finished chan struct{} // closed: nothing is put any more
	closed   chan struct{}
	wake     chan struct{} // one element: queue is not empty
	taken    chan struct{} // one element: the queue became shorter

	mu    sync.Mutex
	queue [][]byte // messages that were not received yet
	size  int      // bytes of the queue
}

// maxQueued is how many messages may wait for a slow receiver before progress and
// logs are dropped. Answers are kept: there are no more of them than requests.
const maxQueued = 1024

// maxQueuedBytes is how much may wait for a slow receiver before no further request
// is read.
const maxQueuedBytes = wire.MaxFrame

const messageCost = 64 // bytes that a message costs beside its own

func (p *pipe) put(msg []byte, mayDrop bool) {
	p.mu.Lock()
	if mayDrop && len(p.queue) >= maxQueued {
		p.mu.Unlock()
		return
	}
	p.queue = append(p.queue, msg)
	p.size += len(msg) + messageCost
	p.mu.Unlock()
	signal(p.wake)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (p *pipe) Send(ctx context.Context, msg []byte) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", wire.ErrNotSent, context.Cause(ctx))
	}
	select {
	case <-p.closed:
		return fmt.Errorf("%w: %w", wire.ErrNotSent, wire.ErrGone)
	default:
	}
	p.serving.handle(ctx, slices.Clone(msg))
	return nil
}

func (p *pipe) Receive() ([]byte, error) {
	for finished := false; ; {
		select {
		case <-p.closed:
			return nil, io.EOF
		default:
		}
		if msg := p.take(); msg != nil {
			return msg, nil
		}
		if finished {
			return nil, io.EOF
		}
		select {
		case <-p.wake:
		case <-p.finished:
			finished = true
		case <-p.closed:
			return nil, io.EOF
		}
	}
}

// take takes the first message out of the queue, nil if there is none.
func (p *pipe) take() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return nil
	}
	msg := p.queue[0]
	p.queue[0] = nil
	p.queue = p.queue[1:]
	p.size -= len(msg) + messageCost
	signal(p.taken)
	return msg
}

// awaitRoom waits while more waits for the receiver than may.
func (p *pipe) awaitRoom() {
	for {
		p.mu.Lock()
		full := p.size > maxQueuedBytes
		p.mu.Unlock()
		if !full {
			return
		}
		select {
		case <-p.taken:
		case <-p.serving.ctx.Done():
			return
		}
	}
}

func (p *pipe) Close() error {
	p.closing.Do(func() {
		close(p.closed)
		p.serving.end()
	})
	return nil
}
