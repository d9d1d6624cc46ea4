package local

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"toolpipe/stream/goroutine"
)

// Serve accepts clients until ctx ends, or until no client was connected for the time idle
// (0: no limit); then the error is nil. handle serves the client with number n, from 1 on. It
// returns when the client disconnects or ctx ends; then its connection is closed. After the
// end of ctx nothing more is read, and remaining writes get a second. Serve waits for all
// clients and closes the listener.
func (l *Listener) Serve(ctx context.Context, idle time.Duration, handle func(ctx context.Context, n int, c io.ReadWriter)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer l.Close()
	defer goroutine.AfterContext(ctx, l.Close)()
	count := &counter{limit: idle}
	if idle > 0 {
		count.timer = goroutine.AfterFunc(idle, func() { stop(errIdle) })
	}
	var clients sync.WaitGroup
	for n := 1; ; n++ {
		c, err := l.Accept()
		if err != nil {
			stop(err) // without a failure, ctx has ended
			break
		}
		count.add(1)
		clients.Add(1)
		goroutine.StartMany(func() {
			defer clients.Done()
			defer count.add(-1)
			peer := &client{in: c, out: c, first: l.first}
			peer.serve(ctx, func() { handle(ctx, n, peer) })
		})
	}
	clients.Wait()
	if err := context.Cause(ctx); !errors.Is(err, errIdle) {
		return err
	}
	return nil
}

var errIdle = errors.New("no client connected")

// counter counts clients, and calls a function when there was none for a time.
type counter struct {
	limit time.Duration
	timer *time.Timer // nil: there is no limit

	mu      sync.Mutex
	clients int
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients += n
	switch {
	case c.timer == nil:
	case c.clients == 0:
		c.timer.Reset(c.limit)
	default:
		c.timer.Stop()
	}
}
