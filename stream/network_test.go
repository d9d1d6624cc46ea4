package stream

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var nowhere = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}

// A request waits once for an endpoint that does not answer, also if its connection was opened
// ahead. A failure from before the request is tried again.
func TestWaitsOnce(t *testing.T) {
	for name, test := range map[string]struct {
		dialTime, before time.Duration // before: from the start of the connection to the request
		dials            int
		waits            time.Duration
	}{
		"silent":             {10 * time.Second, 0, 1, 10 * time.Second},
		"silent, and late":   {10 * time.Second, 4 * time.Second, 1, 6 * time.Second},
		"failed long before": {time.Second, 5 * time.Second, 2, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, Config{BaseURL: "http://192.0.2.1:443", NoRetry: true})
			dials := 0
			c.network.dial = func(context.Context, string, string) (net.Conn, error) {
				dials++
				time.Sleep(test.dialTime)
				return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: nowhere, Err: os.ErrDeadlineExceeded}
			}
			c.Warm(t.Context())
			time.Sleep(test.before)
			synctest.Wait()
			began := time.Now()
			_, err := c.Reply(t.Context(), ask("hi"), nil)
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Unreachable || !strings.HasSuffix(e.Message, ": connection to 192.0.2.1:443 timed out") {
				t.Errorf("%s: %v", name, err)
			}
			if waited := time.Since(began); dials != test.dials || waited != test.waits {
				t.Errorf("%s: %d attempts, the request waited %v", name, dials, waited)
			}
		})
	}
}

// A server that accepts the connection and then says nothing is named too.
func TestSlowHandshake(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c := newClient(t, Config{BaseURL: "https://" + silent.Addr().String(), NoRetry: true})
	c.network.transport.TLSHandshakeTimeout = 10 * time.Millisecond
	_, err = c.Reply(t.Context(), ask("hi"), nil)
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Unreachable || !strings.HasSuffix(e.Message, ": TLS with 127.0.0.1 timed out") {
		t.Error(err)
	}
}

// clientCertificate makes a certificate for a client, signed by itself.
func clientCertificate(t *testing.T) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	known, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(known)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// An endpoint that wants a certificate gets it; without one, the hint says so. A certificate
// needs https.
func TestClientCertificate(t *testing.T) {
	certificate, pool := clientCertificate(t)
	s := newTLSModelServer(t, stream(hello))
	s.TLS.ClientAuth, s.TLS.ClientCAs, s.TLS.MaxVersion = tls.RequireAndVerifyClientCert, pool, tls.VersionTLS12 // before 1.3 the handshake fails at the client too
	for _, shown := range []*tls.Certificate{certificate, nil} {
		c := newClient(t, Config{BaseURL: s.URL, Certificate: shown, Hints: Hints{TLS: "the caller's way to a certificate"}})
		c.network.transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		c.network.transport.TLSClientConfig.RootCAs.AddCert(s.Certificate())
		_, err := c.Reply(t.Context(), ask("hi"), nil)
		e, refused := errors.AsType[*Error](err)
		if shown != nil && err != nil || shown == nil && (!refused || e.Hint != "the caller's way to a certificate") {
			t.Errorf("with a certificate: %t: %+v", shown != nil, err)
		}
	}
	if _, err := New(Config{BaseURL: "http://127.0.0.1:1", Certificate: certificate}); err == nil {
		t.Error("a certificate over plain http: no error")
	}
}

// A proxy that is reached over TLS does not get the certificate, the endpoint gets it through
// the proxy.
func TestCertificateAndProxy(t *testing.T) {
	certificate, pool := clientCertificate(t)
	s := newTLSModelServer(t, stream(hello))
	s.TLS.ClientAuth, s.TLS.ClientCAs = tls.RequireAndVerifyClientCert, pool
	proxy := newTLSModelServer(t, func(w http.ResponseWriter, r *http.Request) {
		if n := len(r.TLS.PeerCertificates); n > 0 {
			t.Errorf("the proxy got %d certificates", n)
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			t.Error(err)
			return
		}
		defer to.Close()
		from, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer from.Close()
		io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go io.Copy(to, both)
		io.Copy(from, to)
	})
	proxy.TLS.ClientAuth = tls.RequestClientCert
	c := newClient(t, Config{BaseURL: s.URL, Certificate: certificate})
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c.network.transport.TLSClientConfig.RootCAs = roots // of both
	c.network.transport.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
	if _, err := c.Reply(t.Context(), ask("hi"), nil); err != nil {
		t.Error(err)
	}
	if s.requests() != 1 || proxy.accepted.Load() != 1 {
		t.Errorf("%d requests, %d connections to the proxy", s.requests(), proxy.accepted.Load())
	}
}
