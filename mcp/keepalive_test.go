package mcp

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// fleetingWeb is a server that answers one request on each connection, claims
// to keep it, and closes it after a pause. Where it is silent about a method
// it takes the request and closes without an answer.
type fleetingWeb struct {
	url    string
	pause  time.Duration
	handle webHandler
	silent string
	taken  map[string]*atomic.Int32 // requests that came whole, by method
}

func serveFleeting(t *testing.T, pause time.Duration, handle webHandler) *fleetingWeb {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &fleetingWeb{url: "http://" + l.Addr().String(), pause: pause, handle: handle, taken: map[string]*atomic.Int32{}}
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
	q.message, _ = parseMessage(body)
	method := text(q.method)
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

// TestFleetingConnections: a server that does not keep its connections and
// does not say so can be used, however soon it closes them.
func TestFleetingConnections(t *testing.T) {
	for name, handle := range map[string]webHandler{"legacy": legacyWeb, "modern": modernWeb} {
		for _, pause := range []time.Duration{0, time.Millisecond, 3 * time.Millisecond} {
			t.Run(name+"/"+pause.String(), func(t *testing.T) {
				t.Parallel()
				for range 20 {
					web := serveFleeting(t, pause, handle)
					s, _ := connect(t, Spec{URL: web.url})
					if names, got := toolNames(t, s), called(t, s, "t", `{}`); names != "t" || got != "ok" {
						t.Fatalf("tools %q, the call gave %q", names, got)
					}
					if n := web.taken["tools/call"].Load(); n != 1 {
						t.Fatalf("%d calls arrived", n)
					}
				}
			})
		}
	}
}

// TestFleetingCallIsSentOnce: when such a server takes a call and closes, the
// outcome is unknown, and the call is not repeated (DESIGN part 4).
func TestFleetingCallIsSentOnce(t *testing.T) {
	for name, handle := range map[string]webHandler{"legacy": legacyWeb, "modern": modernWeb} {
		t.Run(name, func(t *testing.T) {
			web := serveFleeting(t, 0, handle)
			web.silent = "tools/call"
			s, rec := connect(t, Spec{URL: web.url})
			toolNames(t, s)
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
		if method := text(r.method); method != "" && lose.CompareAndSwap(method, "") {
			dies(w)
			return
		}
		modernWeb(w, r)
	})
	s, _ := connect(t, Spec{URL: web.URL})
	lose.Store("tools/list")
	if names := toolNames(t, s); names != "t" || len(web.got("tools/list")) != 2 {
		t.Errorf("tools %q after %d requests", names, len(web.got("tools/list")))
	}
	s, _ = connect(t, Spec{URL: web.URL})
	toolNames(t, s)
	lose.Store("tools/call")
	if e := callFails(t, s, "t", `{}`); !e.Sent || e.RPC {
		t.Errorf("%+v", e)
	}
	if n := len(web.got("tools/call")); n != 1 {
		t.Errorf("%d calls went out", n)
	}
}

// TestKeptConnections: a server that keeps its connections is not given a new
// one for each request.
func TestKeptConnections(t *testing.T) {
	web := serveWeb(t, legacyWeb)
	s, _ := connect(t, Spec{URL: web.URL})
	for range 10 {
		called(t, s, "t", `{}`)
	}
	if s.conn.(*httpConn).conns.fleeting.Load() {
		t.Error("it is taken for one that does not")
	}
}
