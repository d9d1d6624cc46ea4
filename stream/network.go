package stream

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"toolpipe/stream/goroutine"
)

const (
	connectTimeout = 10 * time.Second
	tlsTimeout     = 10 * time.Second
)

// network is the one connection to the endpoint. It uses HTTP/1.1: requests follow one another,
// so streams within a connection would gain nothing.
type network struct {
	transport *http.Transport
	endpoint  *endpoint
	dial      func(ctx context.Context, network, addr string) (net.Conn, error) // with TLS for https
	opening   atomic.Pointer[chan net.Conn]                                     // gets the connection that warm opens, nil after a failure
}

// tooLate replaces network.opening when its first connection is requested.
var tooLate = &noOpening

var noOpening chan net.Conn

type warmConn struct{ net.Conn }

func newNetwork(e *endpoint) *network {
	plain := &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}
	secure := &tls.Dialer{
		NetDialer: &net.Dialer{Timeout: connectTimeout + tlsTimeout, KeepAlive: plain.KeepAlive},
		Config:    &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	n := &network{endpoint: e, dial: plain.DialContext, transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            plain.DialContext,
		TLSHandshakeTimeout:    tlsTimeout,
		TLSClientConfig:        secure.Config, // through a proxy
		Protocols:              protocols,
		DisableCompression:     true, // a compressed body is inflated under a cap
		MaxResponseHeaderBytes: 256 << 10,
		MaxIdleConnsPerHost:    1,
		ReadBufferSize:         streamBuffer,
		WriteBufferSize:        smallBody, // with the header of a request
	}}
	if e.url.Scheme == "https" {
		n.dial, n.transport.DialTLSContext = secure.DialContext, n.dialOrWarm
	} else {
		n.transport.DialContext = n.dialOrWarm
	}
	return n
}

// warm starts to open the connection, unless a proxy is used.
func (n *network) warm(ctx context.Context) {
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: n.endpoint.url}); proxy != nil || err != nil {
		return
	}
	opening := make(chan net.Conn, 1)
	if !n.opening.CompareAndSwap(nil, &opening) {
		return
	}
	goroutine.Start(func() {
		u := n.endpoint.url
		usual := map[string]string{"http": "80", "https": "443"}
		conn, _ := n.dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), usual[u.Scheme])))
		opening <- conn
	})
}

// dialOrWarm returns the connection that warm opened, else a new one. If warm failed, the new
// attempt reports the failure. With a proxy, warm opened none.
func (n *network) dialOrWarm(ctx context.Context, network, addr string) (net.Conn, error) {
	if opening := n.opening.Swap(tooLate); opening != nil && opening != tooLate {
		select {
		case conn := <-*opening:
			if conn != nil {
				return warmConn{conn}, nil
			}
		case <-ctx.Done():
			discard(*opening)
		}
	}
	return n.dial(ctx, network, addr)
}

// discard closes the connection once it is open.
func discard(opening <-chan net.Conn) {
	goroutine.Start(func() {
		if conn := <-opening; conn != nil {
			conn.Close()
		}
	})
}

func (n *network) close() {
	n.transport.CloseIdleConnections()
	if opening := n.opening.Swap(tooLate); opening != nil && opening != tooLate {
		discard(*opening)
	}
}
