//go:build unix

package endtoend

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A rawServer is an HTTP server on loopback that writes the bytes of its replies
// itself, and keeps the requests.
type rawServer struct {
	listener net.Listener
	answer   answerFunc

	mu          sync.Mutex
	requests    []string // request lines with their headers, and bytes that are not HTTP
	connections int
	open        map[net.Conn]bool
}

// An answerFunc writes the reply to one request on its connection, a
// *net.TCPConn, and reports whether the connection takes another.
type answerFunc func(w io.Writer, r *http.Request, body []byte) bool

// newRawServer answers every request with answer. A nil answer makes a canary,
// which keeps all that comes and never answers.
func newRawServer(answer answerFunc) (*rawServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &rawServer{listener: listener, answer: answer, open: map[net.Conn]bool{}}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.open[conn] = true
			s.connections++
			s.mu.Unlock()
			go s.serve(conn)
		}
	}()
	return s, nil
}

// serveRaw is newRawServer until the test ends.
func serveRaw(t *testing.T, answer answerFunc) *rawServer {
	t.Helper()
	s, err := newRawServer(answer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func (s *rawServer) url() string { return "http://" + s.listener.Addr().String() }

func (s *rawServer) close() {
	s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.open {
		conn.Close()
	}
}

// serve answers the requests of one connection.
func (s *rawServer) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.open, conn)
		s.mu.Unlock()
	}()
	reader := bufio.NewReader(conn)
	for {
		if s.answer == nil {
			first, _ := reader.Peek(1)
			if len(first) > 0 {
				head, _ := reader.Peek(reader.Buffered())
				s.note(string(head))
			}
			return
		}
		r, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var head strings.Builder
		fmt.Fprintf(&head, "%s %s\n", r.Method, r.URL.RequestURI())
		r.Header.Write(&head)
		s.note(head.String())
		if !s.answer(conn, r, body) {
			return
		}
	}
}

func (s *rawServer) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, text)
}

func (s *rawServer) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *rawServer) connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

// untouched fails the test if the canary got anything.
func (s *rawServer) untouched(t *testing.T) {
	t.Helper()
	if got := s.got(); len(got) > 0 {
		t.Errorf("the canary got %q", got)
	}
}
