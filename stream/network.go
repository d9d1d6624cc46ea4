package stream

import (
	"cmp"
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

// network is the one connection to the endpoint. It is of HTTP/1.1: requests
// follow one another, so streams within a connection would gain nothing.
type network struct {
	transport *http.Transport
	endpoint  *endpoint
	dialer    net.Dialer
	tls       tls.Dialer

	mu      sync.Mutex
	opening opening  // the connection that warm opens, until it is used
	warmed  net.Conn // the connection that warm opened, once it is used
	dialled bool     // the transport opened a connection: too late to warm one
}

// opening brings a connection that is being opened, nil after a failure.
type opening chan net.Conn

func newNetwork(e *endpoint) *network {
	n := &network{endpoint: e, dialer: net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}}
	n.tls.NetDialer = &net.Dialer{Timeout: connectTimeout + tlsTimeout, KeepAlive: n.dialer.KeepAlive}
	n.tls.Config = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	n.transport = &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            n.dialTCP,
		DialTLSContext:         n.dialTLS,
		TLSHandshakeTimeout:    tlsTimeout,
		TLSClientConfig:        n.tls.Config, // behind a proxy; otherwise dialTLS
		Protocols:              protocols,
		DisableCompression:     true, // a compressed body is inflated under a cap
		MaxResponseHeaderBytes: 256 << 10,
		MaxIdleConnsPerHost:    1,
		ReadBufferSize:         streamBuffer,
		WriteBufferSize:        smallBody, // with the header of a request
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
	if n.opening != nil || n.dialled {
		return
	}
	o := make(opening, 1)
	n.opening = o
	dial := n.dialer.DialContext
	if n.endpoint.url.Scheme == "https" {
		dial = n.tls.DialContext
	}
	goroutine.Start(func() {
		conn, _ := dial(ctx, "tcp", hostPort(n.endpoint.url))
		o <- conn
	})
}

func hostPort(u *url.URL) string {
	usual := map[string]string{"http": "80", "https": "443"}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), usual[u.Scheme]))
}

// useWarm returns the connection to addr that warm opened, nil if there is
// none. A failure to open it comes again when the transport dials.
func (n *network) useWarm(ctx context.Context, addr string) net.Conn {
	n.mu.Lock()
	o := n.opening
	n.opening, n.dialled = nil, true
	n.mu.Unlock()
	if o == nil {
		return nil
	}
	if addr == hostPort(n.endpoint.url) {
		select {
		case n.warmed = <-o:
			return n.warmed
		case <-ctx.Done():
		}
	}
	goroutine.Start(o.discard)
	return nil
}

// isWarm reports whether warm opened conn, so that the connection may have died
// before anything was sent.
func (n *network) isWarm(conn net.Conn) bool { return n.warmed != nil && conn == n.warmed }

func (o opening) discard() {
	if conn := <-o; conn != nil {
		conn.Close()
	}
}

func (n *network) dialTCP(ctx context.Context, network, addr string) (net.Conn, error) {
	if n.endpoint.url.Scheme == "http" {
		if conn := n.useWarm(ctx, addr); conn != nil {
			return conn, nil
		}
	}
	return n.dialer.DialContext(ctx, network, addr)
}

func (n *network) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	if conn := n.useWarm(ctx, addr); conn != nil {
		return conn, nil
	}
	return n.tls.DialContext(ctx, network, addr)
}

func (n *network) close() {
	n.transport.CloseIdleConnections()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.opening != nil {
		goroutine.Start(n.opening.discard)
		n.opening = nil
	}
	n.dialled = true
}
