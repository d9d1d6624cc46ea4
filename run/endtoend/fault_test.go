//go:build unix

package endtoend

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// The tests of what can go wrong outside toolpipe are TestFault… here and
// testdata/script/fault_*.txt; testdata/faults.md has the table. Those here need more than a script can
// say: a server that misbehaves below HTTP, certificates, load. Each plays a
// script all the same, so that what holds for every run is asserted in it.

// newFault prepares a script whose files are those of archive, without its
// commands. The caller may add to it, then plays it.
func newFault(t *testing.T, archive string) *script {
	t.Helper()
	files, err := splitArchive(archive)
	if err != nil {
		t.Fatal(err)
	}
	s := newScript(t, files)
	t.Cleanup(s.close)
	return s
}

// begin runs commands of which the last leaves something running.
func (s *script) begin(commands string) {
	s.t.Helper()
	lines, err := parseScript(commands)
	for _, line := range lines {
		if err == nil {
			err = s.run(line)
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// do plays commands to their end.
func (s *script) do(commands string) {
	s.t.Helper()
	lines, err := parseScript(commands)
	if err != nil {
		s.t.Fatal(err)
	}
	s.play(s.t.Name(), lines)
}

// A rawServer is an HTTP server that writes its replies itself, byte by byte
// if need be, and counts what came.
type rawServer struct {
	listener net.Listener
	mu       sync.Mutex
	requests []string // request lines with their headers, and what came that is no HTTP
	bodies   int64
	open     map[net.Conn]bool
}

// serveRaw answers every request with answer, until it says no, or errs. A
// nil answer makes a canary: whatever comes is written down, nothing is said.
func serveRaw(t *testing.T, answer func(w io.Writer, r *http.Request, body []byte) bool) *rawServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{listener: listener, open: map[net.Conn]bool{}}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.open[conn] = true
			s.mu.Unlock()
			go s.serve(conn, answer)
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		for conn := range s.open {
			conn.Close()
		}
	})
	return s
}

func (s *rawServer) url() string { return "http://" + s.listener.Addr().String() }

func (s *rawServer) serve(conn net.Conn, answer func(io.Writer, *http.Request, []byte) bool) {
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.open, conn)
		s.mu.Unlock()
	}()
	reader := bufio.NewReader(conn)
	for {
		if answer == nil {
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
		s.mu.Lock()
		s.bodies += int64(len(body))
		s.mu.Unlock()
		if !answer(conn, r, body) {
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
	return append([]string(nil), s.requests...)
}

// untouched fails when anything came.
func (s *rawServer) untouched(t *testing.T) {
	t.Helper()
	if got := s.got(); len(got) > 0 {
		t.Errorf("the canary got %q", got)
	}
}

// head writes the head of a reply whose body ends with the connection.
func head(w io.Writer, status int, lines ...string) {
	fmt.Fprintf(w, "HTTP/1.1 %d X\r\nConnection: close\r\n%s\r\n", status, strings.Join(append(lines, ""), "\r\n"))
}

const eventStream = "Content-Type: text/event-stream"

// chatText is an event with text, as chatEnd ends a reply.
func chatText(text string) string { return (&chatWriter{number: 1}).text(text) }

var chatEnd = (&chatWriter{number: 1}).finish("stop") + (&chatWriter{number: 1}).done()
