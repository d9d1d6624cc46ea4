package stream

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"toolpipe/stream/goroutine"
)

const (
	connectTimeout = 10 * time.Second
	tlsTimeout     = 10 * time.Second
)

// network is the one connection to the endpoint, of HTTP/1.1: requests follow
// one another, so streams within a connection would gain nothing.
type network struct {
	transport *http.Transport
	endpoint  *endpoint
	dialer    net.Dialer
	tls       *tls.Config

	mu      sync.Mutex
	ahead   *aheadConn
	taken   net.Conn
	dialled bool // the transport opened a connection: too late to open one ahead
}

// aheadConn is a connection that Warm opens; ready is closed when it is
// there or has failed.
type aheadConn struct {
	ready chan struct{}
	conn  net.Conn
}

func newNetwork(e *endpoint) *network {
	n := &network{endpoint: e, dialer: net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}}
	n.tls = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	n.transport = &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            n.dialTCP,
		DialTLSContext:         n.dialTLS,
		TLSHandshakeTimeout:    tlsTimeout,
		TLSClientConfig:        n.tls, // behind a proxy; otherwise dialTLS
		Protocols:              protocols,
		DisableCompression:     true, // a compressed body is inflated under a cap
		MaxResponseHeaderBytes: 256 << 10,
		MaxIdleConnsPerHost:    1,
		ReadBufferSize:         64 << 10,
		WriteBufferSize:        32 << 10,
	}
	return n
}

// warm starts to open the connection, unless a proxy stands between.
func (n *network) warm(ctx context.Context) {
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: n.endpoint.url}); proxy != nil || err != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ahead != nil || n.dialled {
		return
	}
	a := &aheadConn{ready: make(chan struct{})}
	n.ahead = a
	goroutine.Start(func() {
		defer close(a.ready)
		if n.endpoint.url.Scheme == "https" {
			a.conn, _ = n.handshake(ctx, "tcp", hostPort(n.endpoint.url))
		} else {
			a.conn, _ = n.dialer.DialContext(ctx, "tcp", hostPort(n.endpoint.url))
		}
	})
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// takeAhead returns the connection that Warm opened to addr, nil if there is
// none. A failure is met again by dialling.
func (n *network) takeAhead(ctx context.Context, addr string) net.Conn {
	n.mu.Lock()
	a := n.ahead
	n.ahead, n.dialled = nil, true
	n.mu.Unlock()
	if a == nil {
		return nil
	}
	select {
	case <-a.ready:
		if addr == hostPort(n.endpoint.url) {
			n.taken = a.conn
			return a.conn
		}
	case <-ctx.Done():
	}
	goroutine.Start(a.discard)
	return nil
}

// isAhead reports whether conn was opened ahead, so that it may have died
// before anything was sent.
func (n *network) isAhead(conn net.Conn) bool { return n.taken != nil && conn == n.taken }

func (a *aheadConn) discard() {
	if <-a.ready; a.conn != nil {
		a.conn.Close()
	}
}

func (n *network) dialTCP(ctx context.Context, network, addr string) (net.Conn, error) {
	if n.endpoint.url.Scheme == "http" {
		if conn := n.takeAhead(ctx, addr); conn != nil {
			return conn, nil
		}
	}
	return n.dialer.DialContext(ctx, network, addr)
}

func (n *network) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	if conn := n.takeAhead(ctx, addr); conn != nil {
		return conn, nil
	}
	return n.handshake(ctx, network, addr)
}

func (n *network) handshake(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := n.dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	config := n.tls.Clone()
	config.ServerName = host
	conn := tls.Client(raw, config)
	ctx, cancel := context.WithTimeout(ctx, tlsTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return conn, nil
}

func (n *network) close() {
	n.transport.CloseIdleConnections()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ahead != nil {
		goroutine.Start(n.ahead.discard)
		n.ahead = nil
	}
	n.dialled = true
}
