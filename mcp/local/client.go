package local

import (
	"context"
	"io"
	"time"

	"toolpipe/stream/goroutine"
)

// unreadLimit is how long a client may leave data unread. A slow client delays only itself;
// but a client that is stopped for good must not keep its data for ever.
const unreadLimit = 10 * time.Minute

// endLimit is unreadLimit at the end of the server.
const endLimit = time.Second

// A client is a process at the other end of two pipes, or of a socket, which is both in and out.
// It may never read or send.
type client struct {
	in, out end
	first   time.Duration // how long it may take to send something; 0: no limit
	ctx     context.Context
}

type end interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// serve calls handle and then closes the connection. After the end of ctx nothing more is read,
// and remaining writes get endLimit.
func (c *client) serve(ctx context.Context, handle func()) {
	defer c.close()
	c.ctx = ctx
	if c.first > 0 {
		c.in.SetReadDeadline(time.Now().Add(c.first))
	}
	defer goroutine.AfterContext(ctx, func() {
		c.in.SetReadDeadline(time.Unix(1, 0))
		c.out.SetWriteDeadline(time.Now().Add(endLimit))
	})()
	handle()
}

func (c *client) close() {
	c.in.Close()
	c.out.Close()
}

// Read reads a request. A client that has sent one may take its time for the next.
func (c *client) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if c.first == 0 {
		return n, err
	}
	c.first = 0
	if c.in.SetReadDeadline(time.Time{}); c.ctx.Err() != nil {
		c.in.SetReadDeadline(time.Unix(1, 0))
	}
	return n, err
}

func (c *client) Write(p []byte) (int, error) {
	if c.out.SetWriteDeadline(time.Now().Add(unreadLimit)); c.ctx.Err() != nil {
		c.out.SetWriteDeadline(time.Now().Add(endLimit))
	}
	return c.out.Write(p)
}
