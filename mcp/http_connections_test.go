package mcp

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/testdata/load"
)

// fleetingWeb is a server that answers one request on each connection, claims
// to keep it, and closes it after a pause. Where it is silent about a method
// it takes the request and closes without an answer.
type fleetingWeb struct {
	url    string
	roots  *x509.CertPool // nil without TLS
	pause  time.Duration
	handle webHandler
	silent string
	taken  map[string]*atomic.Int32 // requests that came whole, by method
}

func serveFleeting(t *testing.T, scheme string, pause time.Duration, handle webHandler) *fleetingWeb {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &fleetingWeb{url: scheme + "://" + l.Addr().String(), pause: pause, handle: handle, taken: map[string]*atomic.Int32{}}
	if scheme == "https" {
		lender := httptest.NewTLSServer(nil) // of its certificate
		defer lender.Close()
		s.roots = rootsOf(lender)
		l = tls.NewListener(l, &tls.Config{Certificates: lender.TLS.Certificates})
	}
	for _, method := range []string{"server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"} {
		s.taken[method] = new(atomic.Int32)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.answer(c)
		}
	}()
	return s
}

func (s *fleetingWeb) answer(c net.Conn) {
	defer c.Close()
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	q := webRequest{verb: r.Method, path: r.URL.Path, header: r.Header, body: string(body)}
	q.Message, _ = wire.ParseMessage(body)
	method := jsontext.Text(q.Method)
	if n := s.taken[method]; n != nil {
		n.Add(1)
	}
	if s.silent != "" && method == s.silent {
		return
	}
	w := httptest.NewRecorder()
	s.handle(w, q)
	res := w.Result()
	res.ContentLength = int64(w.Body.Len())
	var out bytes.Buffer
	res.Write(&out)
	c.Write(out.Bytes())
	time.Sleep(s.pause)
}

func rootsOf(s *httptest.Server) *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return roots
}

// connectTrusting is connect to a server at a URL; roots are the certificates
// that it may have, nil for those of the system.
func connectTrusting(t *testing.T, url string, roots *x509.CertPool) (*Session, *record) {
	t.Helper()
	if roots == nil {
		return connect(t, Spec{URL: url})
	}
	rec := &record{}
	s := newSession(Spec{Name: "peer", URL: url, Client: Client{Version: "test"}, StartupTimeout: hang}, rec.hooks(), nil)
	h, err := newHTTP(s)
	if err != nil {
		t.Fatal(err)
	}
	h.conns.kept.TLSClientConfig.RootCAs, h.conns.single.TLSClientConfig.RootCAs = roots, roots
	s.conn, s.http, s.transport = h, h, "http"
	t.Cleanup(func() { s.Close() })
	v, _ := s.probe(bounded(t), true)
	if !v.modern {
		err = s.legacyHTTP(bounded(t), v.version)
	}
	if err == nil {
		_, err = s.Relist(bounded(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, rec
}

// TestFleetingConnections: a server that does not keep its connections and
// does not say so can be used, however soon it closes them. Under TLS it says
// goodbye first, and the end of the connection is not seen behind that.
func TestFleetingConnections(t *testing.T) {
	often := 4
	if load.Full(t) {
		often = 10
	}
	for name, handle := range map[string]webHandler{"legacy": legacyWeb, "modern": modernWeb} {
		for _, scheme := range []string{"http", "https"} {
			for _, pause := range []time.Duration{0, time.Millisecond, 3 * time.Millisecond} {
				t.Run(name+"/"+scheme+"/"+pause.String(), func(t *testing.T) {
					t.Parallel()
					for range often {
						useFleeting(t, serveFleeting(t, scheme, pause, handle))
					}
				})
			}
		}
	}
}

func useFleeting(t *testing.T, web *fleetingWeb) {
	s, _ := connectTrusting(t, web.url, web.roots)
	defer s.Close()
	if names := toolNames(s); names != "t" {
		t.Fatalf("tools %q", names)
	}
	for i := range int32(5) {
		if got := called(t, s, "t", `{}`); got != "ok" {
			t.Fatalf("call %d gave %q", i+1, got)
		}
		if n := web.taken["tools/call"].Load(); n != i+1 {
			t.Fatalf("%d calls arrived for %d", n, i+1)
		}
	}
}

// TestFleetingCallIsSentOnce: when such a server takes a call and closes, the
// outcome is unknown, and the call is not repeated.
func TestFleetingCallIsSentOnce(t *testing.T) {
	for name, handle := range map[string]webHandler{"legacy": legacyWeb, "modern": modernWeb} {
		t.Run(name, func(t *testing.T) {
			web := serveFleeting(t, "http", 0, handle)
			web.silent = "tools/call"
			s, rec := connect(t, Spec{URL: web.url})
			for i := range int32(3) {
				if e := callFails(t, s, "t", `{}`); !e.Sent || e.RPC {
					t.Errorf("%+v", e)
				}
				if n := web.taken["tools/call"].Load(); n != i+1 {
					t.Errorf("%d calls arrived for %d", n, i+1)
				}
			}
			if n := len(rec.sentLines("tools/call")); n != 3 {
				t.Errorf("%d calls went out", n)
			}
		})
	}
}

// TestLostWithKeptConnection: what only reads is repeated once after a
// connection that was used before breaks, a call is not.
func TestLostWithKeptConnection(t *testing.T) {
	var lose atomic.Value
	lose.Store("")
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		if method := jsontext.Text(r.Method); method != "" && lose.CompareAndSwap(method, "") {
			dies(w)
			return
		}
		modernWeb(w, r)
	})
	s, _ := connect(t, Spec{URL: web.URL})
	lose.Store("tools/list")
	if names := listAgain(t, s); names != "t" || len(web.got("tools/list")) != 3 {
		t.Errorf("tools %q after %d requests", names, len(web.got("tools/list")))
	}
	s, _ = connect(t, Spec{URL: web.URL})
	lose.Store("tools/call")
	if e := callFails(t, s, "t", `{}`); !e.Sent || e.RPC {
		t.Errorf("%+v", e)
	}
	if n := len(web.got("tools/call")); n != 1 {
		t.Errorf("%d calls went out", n)
	}
}

// TestKeptConnections: a server that keeps its connections gets one for all
// its requests, the calls included, whatever revision it speaks.
func TestKeptConnections(t *testing.T) {
	for _, revision := range append([]string{wire.ModernRevision}, wire.LegacyRevisions[:]...) {
		for _, scheme := range []string{"http", "https", "h2"} {
			t.Run(revision+"/"+scheme, func(t *testing.T) {
				t.Parallel()
				web, opened := serveKept(t, scheme, revision)
				var roots *x509.CertPool
				if scheme != "http" {
					roots = rootsOf(web)
				}
				s, _ := connectTrusting(t, web.URL, roots)
				if s.Protocol() != revision {
					t.Fatalf("speaks %s", s.Protocol())
				}
				for range 5 {
					if got := called(t, s, "t", `{}`); got != "ok" {
						t.Fatalf("the call gave %q", got)
					}
				}
				if n := opened.Load(); n != 1 {
					t.Errorf("%d connections", n)
				}
			})
		}
	}
}

// TestClientCertificate: a server gets the certificate on each kind of connection.
func TestClientCertificate(t *testing.T) {
	for _, scheme := range []string{"https", "h2"} {
		web, _ := serveKept(t, scheme, wire.ModernRevision)
		web.TLS.ClientAuth = tls.RequireAnyClientCert
		u, err := url.Parse(web.URL)
		if err != nil {
			t.Fatal(err)
		}
		for _, certificate := range []*tls.Certificate{&web.TLS.Certificates[0], nil} {
			c := newConnections(u, certificate)
			defer c.closeIdle()
			c.kept.TLSClientConfig.RootCAs, c.single.TLSClientConfig.RootCAs = rootsOf(web), rootsOf(web)
			for _, once := range []bool{true, false} {
				res, err := c.roundTrip(&http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Header: http.Header{}}, once)
				if (err == nil) != (certificate != nil) || err == nil && (res.ProtoMajor == 2) != (scheme == "h2") {
					t.Errorf("%s, with a certificate: %t: %v", scheme, certificate != nil, err)
				}
				if err == nil {
					res.Body.Close()
				}
			}
		}
	}
}

// TestCertificateHints: the hint says what to do about a certificate of either side.
func TestCertificateHints(t *testing.T) {
	web, _ := serveKept(t, "https", wire.ModernRevision)
	for want, settle := range map[string]func(*connections){
		"private authority": func(*connections) {},
		"client_cert": func(c *connections) {
			c.kept.TLSClientConfig.RootCAs, c.single.TLSClientConfig.RootCAs = rootsOf(web), rootsOf(web)
		},
	} {
		web.TLS.ClientAuth, web.TLS.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12 // before 1.3 the handshake fails at the client too
		s := newSession(Spec{Name: "peer", URL: web.URL, StartupTimeout: hang}, Hooks{}, nil)
		h, err := newHTTP(s)
		if err != nil {
			t.Fatal(err)
		}
		settle(h.conns)
		s.conn, s.http, s.transport = h, h, "http"
		_, err = s.probe(bounded(t), true)
		if e, is := errors.AsType[*ConnectError](s.connectError(err)); err == nil || !is || !strings.Contains(e.Hint, want) {
			t.Errorf("%v, want a hint with %q", err, want)
		}
		s.Close()
	}
}

// serveKept is a healthy server, and the count of its connections.
func serveKept(t *testing.T, scheme, revision string) (*httptest.Server, *atomic.Int32) {
	handle := modernWeb
	if revision != wire.ModernRevision {
		handle = instead(legacyWeb, "initialize", func(w http.ResponseWriter, r webRequest) {
			sendJSON(w, 200, r.reply(initResult(revision)))
		})
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		q := webRequest{verb: r.Method, path: r.URL.Path, header: r.Header, body: string(body)}
		q.Message, _ = wire.ParseMessage(body)
		handle(w, q)
	}))
	opened := new(atomic.Int32)
	web.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	web.EnableHTTP2 = scheme == "h2"
	if scheme == "http" {
		web.Start()
	} else {
		web.StartTLS()
	}
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web, opened
}

// TestCookies: a load balancer that finds the replica with the session by a cookie gets it back,
// and nobody else does, whatever domain the cookie names.
func TestCookies(t *testing.T) {
	other := serveWeb(t, legacyWeb)
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		if jsontext.Text(r.Method) == "initialize" {
			http.SetCookie(w, &http.Cookie{Name: "replica", Value: "a", Path: "/", Domain: "example.com"})
			http.SetCookie(w, &http.Cookie{Name: "other", Value: "b", Path: "/other"})
		} else if jsontext.Text(r.Method) == "tools/call" {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(307)
			return
		}
		legacyWeb(w, r)
	})
	s, _ := connect(t, Spec{URL: web.URL, Headers: map[string]string{"Cookie": "mine=1"}})
	callFails(t, s, "t", `{}`)
	for method, want := range map[string]string{"initialize": "mine=1", "tools/list": "mine=1; replica=a", "tools/call": "mine=1; replica=a"} {
		if got := web.got(method)[0].header.Get("Cookie"); got != want {
			t.Errorf("%s: cookies %q, want %q", method, got, want)
		}
	}
	if n := len(other.requests); n != 0 {
		t.Errorf("another origin got %d requests", n)
	}
	connect(t, Spec{URL: web.URL})
	if got := web.got("server/discover")[1].header.Get("Cookie"); got != "" {
		t.Errorf("another session begins with the cookies %q", got)
	}
}
