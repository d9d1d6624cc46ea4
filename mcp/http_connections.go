package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"toolpipe/mcp/netguard"
	"toolpipe/mcp/wire"
)

// connections are those to one server. They are kept and used again until
// they prove short-lived: there are servers that close one after each reply
// without announcing it, and what is sent on it just then is lost. A request
// that is sent at most once must not be what finds that out: it has a
// connection of its own until one that was kept has answered another request.
// A healthy server has done so before the first call.
type connections struct {
	kept, single *http.Transport // single: a connection for each request
	shortLived   atomic.Bool
	proven       atomic.Bool // a connection that was used before has answered
}

// shortLife is how soon after its last byte the end of a connection means
// that the server does not keep any; an idle time-out is longer.
const shortLife = time.Second

func newConnections() *connections {
	c := &connections{kept: netguard.NewTransport(), single: netguard.NewTransport()}
	c.kept.DialContext = c.dial
	c.single.DisableKeepAlives = true
	return c
}

// reuses says whether a request goes on a connection that is kept; once: it is
// sent at most once.
func (c *connections) reuses(once bool) bool {
	return !c.shortLived.Load() && (!once || c.proven.Load())
}

// roundTrip fails with errGone when the server closed the connection before it
// answered.
func (c *connections) roundTrip(req *http.Request, once bool) (*http.Response, error) {
	var res *http.Response
	var err error
	switch {
	case !c.reuses(once):
		res, err = c.single.RoundTrip(req)
	case c.proven.Load():
		res, err = c.kept.RoundTrip(req)
	default:
		res, err = c.prove(req)
	}
	// net/http closes its side of an ended connection, and a write that comes
	// just then fails by that.
	if closedByServer(err) || errors.Is(err, net.ErrClosed) && req.Context().Err() == nil {
		c.shortLived.Store(true)
		err = fmt.Errorf("%w without an answer", wire.ErrGone)
	}
	return res, err
}

// prove is a round trip that shows whether connections can be used again.
func (c *connections) prove(req *http.Request) (*http.Response, error) {
	var reused atomic.Bool // hooks may be called from anywhere
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { reused.Store(got.Reused) }}
	res, err := c.kept.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil && reused.Load() {
		c.proven.Store(true)
	}
	return res, err
}

func (c *connections) closeIdle() {
	c.kept.CloseIdleConnections()
	c.single.CloseIdleConnections()
}

func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := netguard.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Conn: conn, shortLived: &c.shortLived}, nil
}

// watchedConn notices a server that ends the connection right after a reply,
// so that nothing has to be lost to learn it. It sees no end behind the
// goodbye of TLS, after which nobody reads.
type watchedConn struct {
	net.Conn
	shortLived *atomic.Bool
	last       time.Time // when something came; Read has one caller at a time
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	switch {
	case n > 0:
		c.last = time.Now()
	case closedByServer(err) && time.Since(c.last) < shortLife:
		c.shortLived.Store(true)
	}
	return n, err
}

// closedByServer says whether err is the end of the connection, however
// net/http dresses it.
func closedByServer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		err != nil && strings.Contains(err.Error(), "server closed idle connection") // unexported there
}

// cutOff says whether a stream ended in its middle, not by what it said.
func cutOff(err error) bool {
	return closedByServer(err) || errors.Is(err, io.ErrUnexpectedEOF)
}
