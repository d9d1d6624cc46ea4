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
	p := &pipe{}
	p.changed.L = &p.mu
	p.serving = newServing(ctx, s, p.put)
	return p
}

type pipe struct {
	serving *serving

	mu       sync.Mutex
	changed  sync.Cond // wakes those that wait for a change of what follows
	queue    [][]byte  // messages that were not received yet
	size     int       // bytes of the queue
	finished bool      // no further message is put into the queue
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
	defer p.mu.Unlock()
	if p.finished || mayDrop && len(p.queue) >= maxQueued {
		return
	}
	p.queue = append(p.queue, msg)
	p.size += len(msg) + messageCost
	p.changed.Broadcast()
}

// finish keeps further messages out of the queue. Those in it can still be received.
func (p *pipe) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished = true
	p.changed.Broadcast()
}

func (p *pipe) Send(ctx context.Context, msg []byte) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", wire.ErrNotSent, context.Cause(ctx))
	}
	p.mu.Lock()
	finished := p.finished
	p.mu.Unlock()
	if finished {
		return fmt.Errorf("%w: %w", wire.ErrNotSent, wire.ErrGone)
	}
	p.serving.handle(ctx, slices.Clone(msg))
	return nil
}

func (p *pipe) Receive() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) == 0 {
		if p.finished {
			return nil, io.EOF
		}
		p.changed.Wait()
	}
	msg := p.queue[0]
	p.queue[0] = nil
	p.queue = p.queue[1:]
	p.size -= len(msg) + messageCost
	p.changed.Broadcast()
	return msg, nil
}

// awaitRoom waits while the queue holds more bytes than it may.
func (p *pipe) awaitRoom() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.size > maxQueuedBytes && !p.finished {
		p.changed.Wait()
	}
}

// Close drops the messages that were not received.
func (p *pipe) Close() error {
	p.finish()
	p.mu.Lock()
	p.queue = nil
	p.mu.Unlock()
	p.serving.end()
	return nil
}
