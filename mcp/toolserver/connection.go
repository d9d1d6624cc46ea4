package toolserver

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
)

// Pipe connects to the server inside this process. Requests that need no tool are answered
// within Send; each call runs in its own goroutine. Close cancels the running calls and waits a
// moment for them.
func (s *Server) Pipe() wire.Transport { return s.connect(context.Background()) }

// A connection is a server with one client. It handles requests, and keeps messages until the
// client receives them.
type connection struct {
	outbox
	server *Server
	client int                     // its number; 0 if it is the only one
	ctx    context.Context         // after its end no further request is answered
	stop   context.CancelCauseFunc // of ctx
	calls  sync.WaitGroup          // counts the requests that are being answered

	mu sync.Mutex // guards the fields below
	requests
	user    user    // of the client
	listens listens // the client's subscriptions
}

// requests are the client's requests that are being answered.
type requests struct {
	running map[string]*request // by id, as received
	taken   int                 // bytes of their parameters
	freed   sync.Cond           // wakes the reader, which waits until there are fewer
	asked   chan struct{}       // one element for each running request that is not a call
}

type request struct {
	id       []byte // as received; nil while the answer was a question
	cancel   context.CancelCauseFunc
	logLevel int    // that the request asks for
	size     int    // bytes of its parameters
	settled  func() // called when the client has read so much that there is room after the answer
}

// maxRunning is how many requests may be answered at once. With more, no further request is
// read from a stream, unless a question to the client is open: its answer would not be read
// either. A request that arrives nevertheless is refused.
const maxRunning = 1024

// maxAsked is how many requests other than calls run at once.
const maxAsked = 16

// connect makes a connection. Its calls end with ctx.
func (s *Server) connect(ctx context.Context) *connection {
	c := &connection{server: s}
	c.requests = requests{running: map[string]*request{}, asked: make(chan struct{}, maxAsked)}
	c.user = user{asking: make(chan struct{}, 1), waiting: map[int64]chan<- wire.Message{}, held: map[string]*heldCall{}, gone: make(chan struct{})}
	c.listens = listens{logLevel: len(logLevels), lowest: len(logLevels), legacy: &listener{client: c}}
	c.outbox.changed.L, c.freed.L = &c.outbox.lock, &c.mu
	c.ctx, c.stop = context.WithCancelCause(ctx)
	return c
}

// outbox keeps messages until the client receives them.
type outbox struct {
	lock     sync.Mutex
	changed  sync.Cond // wakes waiters for a change of the fields below
	queue    [][]byte  // messages that were not received yet
	size     int       // bytes of the queue
	fullAt   time.Time // when a sender last waited for room
	finished bool      // no further message is queued
}

// maxQueued is how many messages may wait for a slow receiver before progress and logs are
// dropped. Answers are kept.
const maxQueued = 1024

// maxQueuedBytes is how many bytes may wait for a slow receiver. With more, progress and logs
// are dropped, no further call runs and no further request is read. It is also how many bytes
// of requests may wait for their answers before no further one is read.
const maxQueuedBytes = 16 << 20

const messageCost = 64 // bytes that a message counts in addition to its own

func (o *outbox) put(msg []byte, mayDrop bool) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.finished || mayDrop && (len(o.queue) >= maxQueued || o.size > maxQueuedBytes) {
		return
	}
	o.queue = append(o.queue, msg)
	o.size += len(msg) + messageCost
	o.changed.Broadcast()
}

// finish keeps further messages out of the queue. Queued messages can still be received, unless
// drop is set.
func (o *outbox) finish(drop bool) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.finished = true
	if drop {
		o.queue = nil
	}
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

// awaitRoom waits while the queue exceeds maxQueuedBytes, unless the connection ends.
func (c *connection) awaitRoom() {
	c.lock.Lock()
	defer c.lock.Unlock()
	for c.size > maxQueuedBytes && c.ctx.Err() == nil {
		c.changed.Wait()
		c.fullAt = time.Now()
	}
}

// wasFull reports whether a sender waited for room within the last d.
func (o *outbox) wasFull(d time.Duration) bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.size > maxQueuedBytes || time.Since(o.fullAt) < d
}

// awaitFewer waits while too many requests are being answered, or too large ones.
func (c *connection) awaitFewer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for (len(c.running) >= maxRunning || c.taken > maxQueuedBytes) && len(c.user.waiting) == 0 && c.ctx.Err() == nil {
		c.freed.Wait()
	}
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
	c.finish(true)
	c.end()
	return nil
}

// clients are the clients of Serve, at most thousands.
type clients struct {
	guard       sync.Mutex // guards the fields below
	served      map[*connection]bool
	subscribers map[string][]*listener // of each resource; a slice is never changed
}

// leave removes a client. It does not wait for the servers to stop announcing changes of its
// resources.
func (s *Server) leave(c *connection) {
	s.guard.Lock()
	delete(s.served, c)
	s.guard.Unlock()
	goroutine.Start(func() { s.forget(c.listens.legacy) })
}

func (s *Server) eachClient(visit func(*connection)) {
	s.guard.Lock()
	all := slices.Collect(maps.Keys(s.served))
	s.guard.Unlock()
	for _, c := range all {
		visit(c)
	}
}
