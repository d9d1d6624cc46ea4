package stream

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"

	"toolpipe/stream/goroutine"
	"toolpipe/stream/netguard"
)

// network is the one connection to the endpoint. It uses HTTP/1.1: requests follow one another,
// so streams within a connection would gain nothing.
type network struct {
	transport *http.Transport
	endpoint  *endpoint
	dial      func(ctx context.Context, network, addr string) (net.Conn, error) // with TLS for https
	opening   atomic.Pointer[chan opened]                                       // gets the end of warm's attempt
}

// opened is the end of an attempt to open the connection: one of the two is set.
type opened struct {
	conn net.Conn
	err  error
}

// tooLate replaces network.opening when its first connection is requested.
var tooLate = &noOpening

var noOpening chan opened

type warmConn struct{ net.Conn }

func newNetwork(e *endpoint, certificate *tls.Certificate) *network {
	t := netguard.NewTransport()
	t.TLSClientConfig.NextProtos = []string{"http/1.1"}
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.MaxIdleConnsPerHost, t.IdleConnTimeout = 1, 0               // the connection stays open while tools run
	t.ReadBufferSize, t.WriteBufferSize = streamBuffer, smallBody // a small body with the header of its request
	n := &network{endpoint: e, dial: t.DialContext, transport: t}
	if e.url.Scheme == "https" {
		netguard.UseTLS(t, e.url, certificate)
		n.dial, t.DialTLSContext = t.DialTLSContext, n.dialOrWarm
	} else {
		t.DialContext = n.dialOrWarm
	}
	return n
}

// warm starts to open the connection, unless a proxy is used.
func (n *network) warm(ctx context.Context) {
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: n.endpoint.url}); proxy != nil || err != nil {
		return
	}
	opening := make(chan opened, 1)
	if !n.opening.CompareAndSwap(nil, &opening) {
		return
	}
	goroutine.Start(func() {
		conn, err := n.dial(ctx, "tcp", netguard.Address(n.endpoint.url))
		opening <- opened{conn, err}
	})
}

// dialOrWarm returns the connection that warm opened, else a new one. If warm's attempt fails
// while the request waits for it, the request fails too: nobody waits twice for an endpoint that
// does not answer. If it failed before, the request tries again: the endpoint may have started
// meanwhile. With a proxy, warm opened none.
func (n *network) dialOrWarm(ctx context.Context, network, addr string) (net.Conn, error) {
	if opening := n.opening.Swap(tooLate); opening != nil && opening != tooLate {
		before := len(*opening) > 0
		select {
		case o := <-*opening:
			if o.err == nil {
				return warmConn{o.conn}, nil
			} else if !before {
				return nil, o.err
			}
		case <-ctx.Done():
			discard(*opening)
		}
	}
	return n.dial(ctx, network, addr)
}

// discard closes the connection once it is open.
func discard(opening <-chan opened) {
	goroutine.Start(func() {
		if o := <-opening; o.conn != nil {
			o.conn.Close()
		}
	})
}

func (n *network) close() {
	n.transport.CloseIdleConnections()
	if opening := n.opening.Swap(tooLate); opening != nil && opening != tooLate {
		discard(*opening)
	}
}
