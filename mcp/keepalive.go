package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// connections are those to one server. They are kept and used again until
// they prove fleeting: there are servers that close one after each reply
// without announcing it, and what is sent on it just then is lost.
type connections struct {
	kept, single *http.Transport // single: a connection for each request
	fleeting     atomic.Bool
}

// fleetingTime is how soon after its last byte the end of a connection means
// that the server does not keep any; an idle time-out is longer.
const fleetingTime = time.Second

func newConnections() *connections {
	c := &connections{kept: newTransport(), single: newTransport()}
	c.kept.DialContext = c.dial
	c.single.DisableKeepAlives = true
	return c
}

// roundTrip fails with errGone when the server closed the connection before it
// answered.
func (c *connections) roundTrip(req *http.Request) (*http.Response, error) {
	t := c.kept
	if c.fleeting.Load() {
		t = c.single
	}
	res, err := t.RoundTrip(req)
	// net/http closes its side of an ended connection, and a write that comes
	// just then fails by that.
	if closedByServer(err) || errors.Is(err, net.ErrClosed) && req.Context().Err() == nil {
		c.fleeting.Store(true)
		err = fmt.Errorf("%w without an answer", errGone)
	}
	return res, err
}

func (c *connections) closeIdle() {
	c.kept.CloseIdleConnections()
	c.single.CloseIdleConnections()
}

func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Conn: conn, fleeting: &c.fleeting}, nil
}

// watchedConn notices a server that ends the connection right after a reply.
// It makes the first use of such a server certain to be found out, by this or
// by its failure: a call, which must not fail so, is never the first.
type watchedConn struct {
	net.Conn
	fleeting *atomic.Bool
	last     time.Time // when something came; Read has one caller at a time
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	switch {
	case n > 0:
		c.last = time.Now()
	case closedByServer(err) && time.Since(c.last) < fleetingTime:
		c.fleeting.Store(true)
	}
	return n, err
}

// closedByServer says whether err is the end of the connection, however
// net/http dresses it.
func closedByServer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		err != nil && strings.Contains(err.Error(), "server closed idle connection") // unexported there
}
