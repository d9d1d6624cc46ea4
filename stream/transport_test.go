package stream

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/stream/text/secrets"
	"toolpipe/testdata/load"
)

// A warmed connection is the one that the first request uses, and the only
// one of a run.
func TestOneConnection(t *testing.T) {
	s := newModelServer(t, stream(hello))
	c := newClient(t, Config{BaseURL: s.URL})
	c.Warm(t.Context())
	c.Warm(t.Context())
	r := ask("hi")
	for range 20 {
		reply, err := c.Reply(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, reply.Message, Message{Role: User, Parts: []Part{{Text: "go on"}}})
	}
	c.Warm(t.Context())
	if n := s.accepted.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// countedConn counts its writes.
type countedConn struct {
	net.Conn
	writes atomic.Int32
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// Header and body go out in one write, since each write wakes the endpoint. A
// large body is not copied for that.
func TestOneWrite(t *testing.T) {
	s := newModelServer(t, stream(hello))
	c := newClient(t, Config{BaseURL: s.URL})
	tcp, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn := &countedConn{Conn: tcp}
	o := make(chan net.Conn, 1)
	o <- conn
	c.network.opening.Store(&o)
	for i, size := range []int{0, 100 << 10} {
		if _, err := c.Reply(t.Context(), ask(strings.Repeat("x", size)), nil); err != nil {
			t.Fatal(err)
		}
		if n := conn.writes.Load(); n != int32(i)+1 {
			t.Errorf("%d writes for %d requests", n, i+1)
		}
	}
	long := make([]byte, smallBody+1)
	b := joinBody(&segments{done: []piece{{text: string(long)}}, size: len(long)})
	progress := 0
	if n, err := io.Copy(io.Discard, b.reader(func() { progress++ })); n != int64(len(long)) || err != nil || progress == 0 {
		t.Errorf("a large body: %d bytes, %v, progress %d times", n, err, progress)
	}
}

// A server that closed the warmed connection costs one more, at once.
func TestWarmConnectionDies(t *testing.T) {
	s := newModelServer(t, stream(hello))
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	firstDied := make(chan struct{})
	go func() {
		conn, err := front.Accept()
		if err != nil {
			return
		}
		conn.Close()
		close(firstDied)
		for {
			conn, err := front.Accept()
			if err != nil {
				return
			}
			go func() {
				back, err := net.Dial("tcp", s.Listener.Addr().String())
				if err != nil {
					return
				}
				go io.Copy(back, conn)
				io.Copy(conn, back)
			}()
		}
	}()
	c := newClient(t, Config{BaseURL: "http://" + front.Addr().String()})
	c.Warm(t.Context())
	<-firstDied
	if _, err := c.Reply(t.Context(), ask("hi"), nil); err != nil {
		t.Fatal(err)
	}
}

// Closing or cancelling with a connection opened ahead leaves nothing behind.
func TestWarmUnused(t *testing.T) {
	s := newModelServer(t, stream(hello))
	c := newClient(t, Config{BaseURL: s.URL})
	c.Warm(t.Context())
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = newClient(t, Config{BaseURL: "http://127.0.0.1:1"})
	ctx, cancel := context.WithCancel(t.Context())
	c.Warm(ctx)
	cancel()
	c.Close()
}

// hold sends some of a reply and then nothing until the client goes.
func hold(t *testing.T, first string, then func(w http.ResponseWriter)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, first)
		w.(http.Flusher).Flush()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(10 * time.Millisecond):
				if then != nil {
					then(w)
				}
			}
		}
	}
}

// Silence ends a reply after the idle timeout, and the error says what had come.
func TestIdleTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		kind    Kind
		message string
	}{
		"silence":        {hold(t, delta("a")+": ping\n\n"+delta("b"), nil), Stalled, "sent nothing for 300ms after event 2 of its reply"},
		"blank lines":    {hold(t, "\n\n", nil), Stalled, "after 2 bytes of its answer"},
		"half an event":  {hold(t, `data: {"cho`, nil), Stalled, "after 11 bytes of its answer"},
		"only a head":    {hold(t, "", nil), Stalled, "after the head of its answer"},
		"half a refusal": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(400); hold(t, "no", nil)(w, r) }, RequestDefect, "400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newModelServer(t, test.handler)
			c := newClient(t, Config{BaseURL: s.URL, IdleTimeout: 300 * time.Millisecond, Hints: Hints{Idle: "the caller's way to more time"}})
			_, err := c.Reply(t.Context(), ask("hi"), nil)
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Kind != test.kind || s.requests() != 1 || !strings.Contains(e.Message, test.message) {
				t.Errorf("error %v after %d requests", err, s.requests())
			} else if test.kind == Stalled && e.Hint != "the caller's way to more time" {
				t.Errorf("hint %q", e.Hint)
			}
		})
	}
	t.Run("no head", func(t *testing.T) {
		t.Parallel()
		s := newModelServer(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		c := newClient(t, Config{BaseURL: s.URL, IdleTimeout: 300 * time.Millisecond})
		_, err := c.Reply(t.Context(), ask("hi"), nil)
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Unreachable || s.requests() != 1 {
			t.Errorf("error %v after %d requests", err, s.requests())
		}
	})
}

// pacedReader lets a second pass before each of its pieces.
type pacedReader struct{ pieces []string }

func (r *pacedReader) Read(p []byte) (int, error) {
	if len(r.pieces) == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Second)
	n := copy(p, r.pieces[0])
	r.pieces = r.pieces[1:]
	return n, nil
}

// Comments and empty lines are signs of life, before the first event too.
func TestCommentsAreLife(t *testing.T) {
	for _, sign := range []string{": ping\n\n", "\n", "data:\n\n"} {
		synctest.Test(t, func(t *testing.T) {
			x := newExchange(&chatDialect, &Request{}, &Sink{})
			x.idle = newIdleTimer(1500*time.Millisecond, func() { t.Errorf("with %q the endpoint counts as silent", sign) })
			body := &pacedReader{[]string{sign, sign, sign, delta("a"), sign, sign, sign, hello}}
			if err := x.read(&http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body)}); err != nil {
				t.Error(err)
			}
			x.idle.pause()
		})
	}
}

// A slow reader of the text is not a slow endpoint.
func TestSlowSinkIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Request{}
		x := newExchange(&chatDialect, r, &Sink{Text: func([]byte) error { time.Sleep(3 * time.Second); return nil }})
		x.idle = newIdleTimer(2*time.Second, func() { t.Error("the endpoint counts as silent") })
		body := &scriptedReader{rest: []byte(delta("a") + delta("b") + hello), sizes: []int{1}}
		if err := x.read(&http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body)}); err != nil {
			t.Error(err)
		}
		x.idle.pause()
	})
}

// Cancelling closes the stream at once and returns the cause.
func TestCancel(t *testing.T) {
	gone := make(chan struct{})
	s := newModelServer(t, func(w http.ResponseWriter, r *http.Request) {
		hold(t, delta("a"), nil)(w, r)
		close(gone)
	})
	c := newClient(t, Config{BaseURL: s.URL})
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	_, err := c.Reply(ctx, ask("hi"), &Sink{Text: func([]byte) error { cancel(interrupted); return nil }})
	if err != interrupted {
		t.Errorf("error %v", err)
	}
	<-gone
}

// An error of the sink ends the exchange and comes back as it is.
func TestSinkError(t *testing.T) {
	full := errors.New("disk full")
	for name, sink := range map[string]*Sink{
		"text":      {Text: func([]byte) error { return full }},
		"reasoning": {Reasoning: func([]byte) error { return full }},
		"idle":      {Idle: func() error { return full }},
	} {
		s := newModelServer(t, stream(`data: {"choices":[{"delta":{"reasoning":"hm","content":"a"}}]}`+"\n\n"+hello))
		c := newClient(t, Config{BaseURL: s.URL})
		if _, err := c.Reply(t.Context(), ask("hi"), sink); err != full || s.requests() != 1 {
			t.Errorf("%s: error %v after %d requests", name, err, s.requests())
		}
	}
}

// Text reaches the sink, and then Idle, before the next read waits.
func TestIdleBeforeWait(t *testing.T) {
	flushed := make(chan string, 1)
	s := newModelServer(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, delta("a")+delta("b"))
		w.(http.Flusher).Flush()
		if got := <-flushed; got != "ab" {
			t.Errorf("flushed %q", got)
		}
		io.WriteString(w, hello)
	})
	c := newClient(t, Config{BaseURL: s.URL})
	text := ""
	sent := false
	_, err := c.Reply(t.Context(), ask("hi"), &Sink{
		Text: func(p []byte) error { text += string(p); return nil },
		Idle: func() error {
			if text != "" && !sent {
				sent = true
				flushed <- text
			}
			return nil
		},
	})
	if err != nil {
		t.Error(err)
	}
}

func gzipped(t *testing.T, parts ...string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, p := range parts {
		io.WriteString(z, p)
		z.Flush()
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGzip(t *testing.T) {
	whole := gzipped(t, delta("a"), delta("b"), hello)
	for name, headers := range map[string][]string{"labelled": {"Content-Encoding", "gzip"}, "unlabelled": nil} {
		s := newModelServer(t, status(200, string(whole), headers...))
		c := newClient(t, Config{BaseURL: s.URL})
		reply, err := c.Reply(t.Context(), ask("hi"), nil)
		if err != nil || textOfParts(reply.Message.Parts) != "abhello" {
			t.Errorf("%s: %+v, %v", name, reply, err)
		}
	}
	if got := decode(t, bodyIn{api: "chat", data: whole[:len(whole)-30]}); got.err == nil {
		t.Error("cut gzip: no error")
	}
}

// Bodies that never end stop at a cap, in flat memory.
func TestCaps(t *testing.T) {
	if testing.Short() {
		t.Skip("moves hundreds of MiB")
	}
	forever := func(piece string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			block := []byte(strings.Repeat(piece, 1<<20/len(piece)+1))
			for {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}
	}
	bomb := func(w http.ResponseWriter, r *http.Request) { // members of gzip follow one another
		forever(string(gzipped(t, strings.Repeat(": comment\n\n", 1<<20/11))))(w, r)
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		limit   uint64
	}{
		"events":   {forever(delta("some text")), 80 << 20}, // of which 42 MiB are the text,
		"comments": {forever(": comment" + strings.Repeat(" and more", 20) + "\n\n"), 32 << 20},
		"gzip":     {bomb, 32 << 20},
		"line":     {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "data: "); forever("x")(w, r) }, 300 << 20},
		"JSON":     {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{"); forever(" ")(w, r) }, 600 << 20},
	} {
		if (name == "gzip" || name == "line") && !load.Full(t) {
			continue // each takes two seconds, and the program as a whole gets one too
		}
		t.Run(name, func(t *testing.T) {
			s := newModelServer(t, test.handler)
			c := newClient(t, Config{BaseURL: s.URL})
			r := ask("hi")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := c.Reply(t.Context(), r, nil)
			runtime.ReadMemStats(&after)
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != TooLarge {
				t.Errorf("error %v", err)
			}
			if grown := after.Sys - min(after.Sys, before.Sys); grown > test.limit && !load.RaceDetector() {
				t.Errorf("memory grew by %d MiB", grown>>20)
			}
		})
	}
}

// The wire log shows both directions without secrets.
func TestWireLog(t *testing.T) {
	s := newModelServer(t, stream("data: the key is sekrit-0123\n\n"+hello))
	s.handlers[0] = status(200, hello, "Set-Cookie", "sekrit-0123", "X-Echo", "sekrit-0123")
	var log strings.Builder
	c := newClient(t, Config{BaseURL: s.URL, Key: "sekrit-0123", UserAgent: "test/1", Wire: func(d byte, line []byte) { fmt.Fprintf(&log, "%c %s\n", d, line) }})
	if _, err := c.Reply(t.Context(), ask("my key is sekrit-0123"), nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"> POST " + s.URL + "/chat/completions\n", "> Authorization: [removed]\n", `"content":"my key is [secret]"`,
		"< HTTP/1.1 200 OK\n", "< X-Echo: [secret]\n", "< Set-Cookie: [removed]\n", `< data: {"choices"`, "> User-Agent: test/1\n"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "sekrit") {
		t.Errorf("the key is in\n%s", log.String())
	}
}

// A long line comes in pieces, and a secret that is in two of them does not show.
func TestWireLogLongLine(t *testing.T) {
	var known secrets.Set
	known.Add("sekrit-0123")
	for _, before := range []int{maxWireLine - 11, maxWireLine - 10, maxWireLine - 5, maxWireLine - 1, maxWireLine, 3*maxWireLine - 5} {
		var lines []string
		c := newClient(t, Config{BaseURL: "http://localhost", Secrets: &known, Wire: func(_ byte, line []byte) { lines = append(lines, string(line)) }})
		w := c.wireLines('<')
		fill := strings.Repeat("x", before)
		for text := range slices.Chunk([]byte(fill+"sekrit-0123 and more\nnext"), 5000) {
			w.Write(text)
		}
		w.flush()
		last := len(lines) - 1
		if got, want := strings.Join(lines[:last], ""), fill+"[secret] and more"; got != want || lines[last] != "next" || len(lines[0]) > maxWireLine {
			t.Errorf("%d bytes before: %d lines, the end is %q and %q", before, len(lines), got[len(got)-30:], lines[last])
		}
	}
}

// Over TLS too there is one connection, opened ahead; what cannot be trusted
// or is no TLS is not tried again.
func TestTLS(t *testing.T) {
	s := newTLSModelServer(t, stream(hello))
	c := newClient(t, Config{BaseURL: s.URL, Key: "k"})
	c.network.transport.TLSClientConfig.RootCAs = x509.NewCertPool()
	c.network.transport.TLSClientConfig.RootCAs.AddCert(s.Certificate())
	c.Warm(t.Context())
	for range 3 {
		if _, err := c.Reply(t.Context(), ask("hi"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.accepted.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	plain := newModelServer(t, stream(hello))
	// What a TLS server of Go says to a request without TLS. The real one answers before it has
	// read the whole request, so that its connection may be reset, which is tried again.
	secure := newModelServer(t, status(http.StatusBadRequest, "Client sent an HTTP request to an HTTPS server.\n", "Connection", "close"))
	for url, hint := range map[string]string{
		s.URL: "not trusted",
		strings.Replace(plain.URL, "http:", "https:", 1): "http://",
		secure.URL: "https://",
	} {
		c := newClient(t, Config{BaseURL: url})
		_, err := c.Reply(t.Context(), ask("hi"), &Sink{Retry: func(r Retry) { t.Errorf("%s: %+v", url, r) }})
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %v, hint %q", url, err, e.Hint)
		}
	}
}
