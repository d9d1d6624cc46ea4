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
func (s *Server) Pipe() wire.Transport { return s.connect(context.Background()) }

// A connection is a server with one client: it takes requests, and holds messages until
// the client receives them.
type connection struct {
	server *Server
	ctx    context.Context         // at its end no further request is answered
	stop   context.CancelCauseFunc // of ctx
	calls  sync.WaitGroup          // counts the requests in running

	mu       sync.Mutex
	changed  sync.Cond          // wakes those that wait for a change of what follows
	running  map[string]request // by its id, as it came
	queue    [][]byte           // messages that were not received yet
	size     int                // bytes of the queue
	finished bool               // no further message is put into the queue
	logLevel int                // that a legacy client set: the index in logLevels
}

// request is a request that is being answered.
type request struct {
	cancel   context.CancelCauseFunc
	logLevel int // that the request asks for
}

// maxRunning is how many requests may be answered at once. A further one is refused: to
// wait with it would keep the end of the client from being seen.
const maxRunning = 1024

// connect makes a connection whose calls end with ctx.
func (s *Server) connect(ctx context.Context) *connection {
	c := &connection{server: s, running: map[string]request{}, logLevel: len(logLevels)}
	c.changed.L = &c.mu
	c.ctx, c.stop = context.WithCancelCause(ctx)
	return c
}

// maxQueued is how many messages may wait for a slow receiver before progress and
// logs are dropped. Answers are kept: there are no more of them than requests.
const maxQueued = 1024

// maxQueuedBytes is how much may wait for a slow receiver before no further request
// is read.
const maxQueuedBytes = wire.MaxFrame

const messageCost = 64 // bytes that a message costs beside its own

func (c *connection) put(msg []byte, mayDrop bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished || mayDrop && len(c.queue) >= maxQueued {
		return
	}
	c.queue = append(c.queue, msg)
	c.size += len(msg) + messageCost
	c.changed.Broadcast()
}

// finish keeps further messages out of the queue. Those in it can still be received.
func (c *connection) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished = true
	c.changed.Broadcast()
}

func (c *connection) Send(ctx context.Context, msg []byte) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", wire.ErrNotSent, context.Cause(ctx))
	}
	if c.ctx.Err() != nil {
		return fmt.Errorf("%w: %w", wire.ErrNotSent, wire.ErrGone)
	}
	c.handle(ctx, slices.Clone(msg))
	return nil
}

func (c *connection) Receive() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 {
		if c.finished {
			return nil, io.EOF
		}
		c.changed.Wait()
	}
	msg := c.queue[0]
	c.queue[0] = nil
	c.queue = c.queue[1:]
	c.size -= len(msg) + messageCost
	c.changed.Broadcast()
	return msg, nil
}

// awaitRoom waits while the queue holds more bytes than it may.
func (c *connection) awaitRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.size > maxQueuedBytes && !c.finished {
		c.changed.Wait()
	}
}

// Close drops the messages that were not received.
func (c *connection) Close() error {
	c.finish()
	c.mu.Lock()
	c.queue = nil
	c.mu.Unlock()
	c.end()
	return nil
}
