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
	outbox
	server *Server
	client int                     // its number; 0 where there is one
	ctx    context.Context         // at its end no further request is answered
	stop   context.CancelCauseFunc // of ctx
	calls  sync.WaitGroup          // counts the requests that are being answered

	mu      sync.Mutex          // guards what follows
	running map[string]*request // by its id, as it came
	user    user                // of the client
	listens listens             // what the client wants to hear of
}

// request is a request that is being answered.
type request struct {
	id       []byte // as it came; nil while the client has the answer that its user is to be asked
	cancel   context.CancelCauseFunc
	logLevel int // that the request asks for
}

// maxRunning is how many requests may be answered at once. A further one is refused: to
// wait with it would keep the end of the client from being seen.
const maxRunning = 1024

// connect makes a connection whose calls end with ctx.
func (s *Server) connect(ctx context.Context) *connection {
	c := &connection{server: s, running: map[string]*request{}, user: newUser(), listens: listens{logLevel: len(logLevels), lowest: len(logLevels)}}
	c.outbox.changed.L = &c.outbox.lock
	c.ctx, c.stop = context.WithCancelCause(ctx)
	return c
}

// outbox holds messages until the client receives them.
type outbox struct {
	lock     sync.Mutex
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

func (o *outbox) put(msg []byte, mayDrop bool) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.finished || mayDrop && len(o.queue) >= maxQueued {
		return
	}
	o.queue = append(o.queue, msg)
	o.size += len(msg) + messageCost
	o.changed.Broadcast()
}

// finish keeps further messages out of the queue. Those in it can still be received.
func (o *outbox) finish() {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.finished = true
	o.changed.Broadcast()
}

func (o *outbox) Receive() ([]byte, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	for len(o.queue) == 0 {
		if o.finished {
			return nil, io.EOF
		}
		o.changed.Wait()
	}
	msg := o.queue[0]
	o.queue[0] = nil
	o.queue = o.queue[1:]
	o.size -= len(msg) + messageCost
	o.changed.Broadcast()
	return msg, nil
}

// awaitRoom waits while the queue holds more bytes than it may.
func (o *outbox) awaitRoom() {
	o.lock.Lock()
	defer o.lock.Unlock()
	for o.size > maxQueuedBytes && !o.finished {
		o.changed.Wait()
	}
}

// drop drops the messages that were not received.
func (o *outbox) drop() {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.queue = nil
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

// Close drops the messages that were not received.
func (c *connection) Close() error {
	c.finish()
	c.drop()
	c.end()
	return nil
}
