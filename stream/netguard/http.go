package netguard

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Origin is scheme, host and port of a URL. Credentials are sent to only one origin.
func Origin(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(Address(u)) }

// Address is the host and the port of a URL, for a dialer.
func Address(u *url.URL) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
}

// NewTransport makes a transport for one origin: origins do not share connections.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		DisableCompression:     true, // the caller unpacks a compressed body, within its limit
	}
}

var errSlowHandshake = errors.New("TLS handshake timeout") // the words of net/http

// UseTLS makes a transport, which serves only the origin of u, open TLS connections itself: the
// handshake has a separate time limit, and a proxy that is reached over TLS does not get the
// client certificate, which may be nil.
func UseTLS(t *http.Transport, u *url.URL, certificate *tls.Certificate) {
	if certificate != nil {
		t.TLSClientConfig.Certificates = []tls.Certificate{*certificate}
	}
	connect := t.DialContext
	t.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := connect(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		config := t.TLSClientConfig.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr)
		if proxy, err := t.Proxy(&http.Request{URL: u}); proxy != nil || err != nil { // addr is the proxy
			config.Certificates, config.NextProtos = nil, nil
		}
		limited, stop := context.WithTimeoutCause(ctx, t.TLSHandshakeTimeout, errSlowHandshake)
		defer stop()
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(limited); err != nil {
			conn.Close()
			if context.Cause(limited) == errSlowHandshake {
				err = errSlowHandshake
			}
			return nil, err
		}
		return secure, nil
	}
}
