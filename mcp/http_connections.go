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

// connections are the HTTP connections to one server. They are reused until they
// prove short-lived: some servers close a connection after each reply without
// announcing it, and a request that is sent at that moment is lost. So that this
// is never a request that may be sent at most once, such a request gets a
// connection of its own until a reused one has answered another request; a
// healthy server has done so before the first call.
type connections struct {
	kept, single *http.Transport // single: a connection for each request
	shortLived   atomic.Bool
	proven       atomic.Bool // a reused connection has answered
}

// shortLife is the time after the last byte within which the end of a connection
// means that the server does not keep any; idle timeouts are longer.
const shortLife = time.Second

func newConnections() *connections {
	c := &connections{kept: netguard.NewTransport(), single: netguard.NewTransport()}
	c.kept.DialContext = c.dial
	c.single.DisableKeepAlives = true
	return c
}

// reuses says whether a request is sent on a kept connection; once: the request
// is sent at most once.
func (c *connections) reuses(once bool) bool {
	return !c.shortLived.Load() && (!once || c.proven.Load())
}

// roundTrip fails with wire.ErrGone when the server closed the connection before
// it answered.
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
	// net/http closes its side of an ended connection, and a concurrent write
	// fails with net.ErrClosed.
	if closedByServer(err) || errors.Is(err, net.ErrClosed) && req.Context().Err() == nil {
		c.shortLived.Store(true)
		err = fmt.Errorf("%w without an answer", wire.ErrGone)
	}
	return res, err
}

// prove is a round trip that finds out whether connections can be reused.
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

// watchedConn notices when the server ends the connection right after a reply,
// before a request is lost. It does not notice an end that TLS announced, because
// nothing reads after that.
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

// closedByServer says whether err is the end of the connection, in any of the
// forms that net/http gives it.
func closedByServer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		err != nil && strings.Contains(err.Error(), "server closed idle connection") // an unexported error
}

// cutOff says whether a stream ended because its connection ended.
func cutOff(err error) bool {
	return closedByServer(err) || errors.Is(err, io.ErrUnexpectedEOF)
}
