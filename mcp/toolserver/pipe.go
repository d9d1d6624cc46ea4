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
func (s *Server) Pipe() wire.Transport {
	p := &pipe{wake: make(chan struct{}, 1), closed: make(chan struct{})}
	p.serving = newServing(context.Background(), s, p.put)
	return p
}

type pipe struct {
	serving *serving
	closing sync.Once
	closed  chan struct{}
	wake    chan struct{} // one element: queue is not empty

	mu    sync.Mutex
	queue [][]byte // messages that were not received yet
}

// maxQueued is how many messages may wait for a slow receiver before progress is
// dropped. Answers are kept: there are no more of them than requests.
const maxQueued = 1024

func (p *pipe) put(msg []byte, mayDrop bool) {
	p.mu.Lock()
	if mayDrop && len(p.queue) >= maxQueued {
		p.mu.Unlock()
		return
	}
	p.queue = append(p.queue, msg)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
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
	for {
		p.mu.Lock()
		if len(p.queue) > 0 {
			msg := p.queue[0]
			p.queue[0] = nil
			p.queue = p.queue[1:]
			p.mu.Unlock()
			return msg, nil
		}
		p.mu.Unlock()
		select {
		case <-p.wake:
		case <-p.closed:
			return nil, io.EOF
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
