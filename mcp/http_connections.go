package mcp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"

	"toolpipe/mcp/wire"
	"toolpipe/stream/netguard"
)

// connections are the HTTP connections to one server. They are reused until one breaks: some
// servers close a connection after each reply without announcing it, and a request that is
// sent at that moment is lost. A request that may be sent at most once must not be lost this
// way. It gets a new connection until a reused one has answered another request; on a healthy
// server that happens before the first call.
//
// The server's cookies are sent back: a load balancer may find the replica that has the session
// by a cookie. They are kept in memory, until the connections are dropped.
type connections struct {
	kept, single *http.Transport // single: a connection for each request
	cookies      *cookiejar.Jar
	broken       atomic.Bool // the server closed a connection instead of answering
	proven       atomic.Bool // a reused connection has answered
}

// newConnections makes the connections to the origin of u. certificate may be nil.
func newConnections(u *url.URL, certificate *tls.Certificate) *connections {
	jar, _ := cookiejar.New(nil) // cannot fail
	c := &connections{kept: netguard.NewTransport(), single: netguard.NewTransport(), cookies: jar}
	c.single.DisableKeepAlives = true
	netguard.UseTLS(c.kept, u, certificate)
	netguard.UseTLS(c.single, u, certificate)
	return c
}

// reuses reports whether a request is sent on a kept connection. once marks a request that is
// sent at most once.
func (c *connections) reuses(once bool) bool {
	return !c.broken.Load() && (!once || c.proven.Load())
}

// roundTrip fails with wire.ErrGone if the server closed the connection before it answered.
func (c *connections) roundTrip(req *http.Request, once bool) (*http.Response, error) {
	transport := c.single
	if c.reuses(once) {
		transport = c.kept
	}
	for _, cookie := range c.cookies.Cookies(req.URL) {
		req.AddCookie(cookie)
	}
	var reused atomic.Bool // hooks may be called from anywhere
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { reused.Store(got.Reused) }}
	res, err := transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil && reused.Load() {
		c.proven.Store(true)
	}
	if err == nil {
		c.keepCookies(req.URL, res)
	}
	// net/http closes its side of an ended connection; a concurrent write then fails with
	// net.ErrClosed.
	if closedByServer(err) || errors.Is(err, net.ErrClosed) && req.Context().Err() == nil {
		c.broken.Store(true)
		err = fmt.Errorf("%w without an answer", wire.ErrGone)
	}
	return res, err
}

// keepCookies keeps the cookies of a response for its host alone, even if they name a domain.
func (c *connections) keepCookies(from *url.URL, res *http.Response) {
	cookies := res.Cookies()
	for _, cookie := range cookies {
		cookie.Domain = ""
	}
	c.cookies.SetCookies(from, cookies)
}

func (c *connections) closeIdle() {
	c.kept.CloseIdleConnections()
	c.single.CloseIdleConnections()
}

// closedByServer reports whether err is the end of the connection, in any form that net/http
// uses.
func closedByServer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		err != nil && strings.Contains(err.Error(), "server closed idle connection") // an unexported error
}

// cutOff reports whether a stream ended because its connection ended.
func cutOff(err error) bool {
	return closedByServer(err) || errors.Is(err, io.ErrUnexpectedEOF)
}
