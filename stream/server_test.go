package stream

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// modelServer is a loopback endpoint that answers the n-th request with the
// n-th handler, the last one from then on, and keeps what it got.
type modelServer struct {
	*httptest.Server
	mu       sync.Mutex
	bodies   []string
	headers  []http.Header
	accepted atomic.Int32 // connections
	handlers []http.HandlerFunc
}

func newModelServer(t testing.TB, handlers ...http.HandlerFunc) *modelServer {
	t.Helper()
	s := &modelServer{handlers: handlers}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.accepted.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	n := len(s.bodies)
	s.bodies = append(s.bodies, string(b))
	s.headers = append(s.headers, r.Header)
	s.mu.Unlock()
	s.handlers[min(n, len(s.handlers)-1)](w, r)
}

func (s *modelServer) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// stream answers with these events.
func stream(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, body)
	}
}

// status answers with a status, headers in pairs and a body.
func status(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// hello is a short whole reply.
const hello = `data: {"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}

data: [DONE]

`
