package stream

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/stream/text/jsontext"
)

// modelServer is a model on a loopback endpoint. It answers the n-th request
// with the n-th handler, later ones with the last handler, and keeps the
// requests.
type modelServer struct {
	*httptest.Server
	mu       sync.Mutex
	bodies   []string
	paths    []string
	headers  []http.Header
	accepted atomic.Int32 // connections
	handlers []http.HandlerFunc
}

func newModelServer(t testing.TB, handlers ...http.HandlerFunc) *modelServer {
	t.Helper()
	s := &modelServer{handlers: handlers}
	s.listen(t, (*httptest.Server).Start)
	return s
}

func newTLSModelServer(t testing.TB, handlers ...http.HandlerFunc) *modelServer {
	t.Helper()
	s := &modelServer{handlers: handlers}
	s.listen(t, (*httptest.Server).StartTLS)
	return s
}

func (s *modelServer) listen(t testing.TB, start func(*httptest.Server)) {
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.accepted.Add(1)
		}
	}
	start(s.Server)
	t.Cleanup(s.Close)
}

func (s *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	n := len(s.bodies)
	s.bodies = append(s.bodies, string(b))
	s.paths = append(s.paths, r.URL.Path)
	s.headers = append(s.headers, r.Header)
	s.mu.Unlock()
	s.handlers[min(n, len(s.handlers)-1)](w, r)
}

func (s *modelServer) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// last returns the body of the last request.
func (s *modelServer) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[len(s.bodies)-1]
}

// stream answers with these events.
func stream(body string) http.HandlerFunc {
	return status(http.StatusOK, body, "Content-Type", "text/event-stream")
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

func delta(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":` + string(jsontext.AppendQuoted(nil, text)) + `}}]}` + "\n\n"
}

func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// waits makes a client wait in no time, and returns where it keeps the waits.
func waits(c *Client) *[]time.Duration {
	var list []time.Duration
	c.sleep = func(ctx context.Context, d time.Duration) error {
		list = append(list, d)
		return ctx.Err()
	}
	return &list
}

func ask(text string) *Request {
	return &Request{Model: "m", Messages: []Message{{Role: User, Parts: []Part{{Text: text}}}}}
}

// hangGuard is longer than any test takes.
const hangGuard = time.Minute

// newExchange is an exchange without a network.
func newExchange(d *dialect, r *Request, sink *Sink) *exchange {
	idle := newIdleTimer(hangGuard, func() { panic("reading a reply hangs") })
	return &exchange{client: &Client{dialect: d, endpoint: &endpoint{url: &url.URL{}, origin: "http://test"}}, request: r, sink: sink, draft: newDraft(r, sink), idle: idle}
}

// decoded is what one response body gave.
type decoded struct {
	reply           *Reply
	err             error
	text, reasoning string // the deltas
	deltas          int    // of the text
	followed        int    // events that were not decoded
	done            bool   // the end marker was seen
}

// bodyIn is a response body and how it arrives.
type bodyIn struct {
	api     string
	data    []byte
	reads   []int // sizes of the reads; the last one repeats; none: all at once
	broken  error // what ends the body in place of its end
	request Request
	slow    bool // without the fast way of chunkShape
	header  http.Header
	join    bool
}

// buffers are what replies are read through, so that a test of thousands of bodies
// does not make as many.
var buffers = sync.Pool{New: func() any { b := make([]byte, streamBuffer); return &b }}

// decode reads a body as a Client does, without a network.
func decode(t testing.TB, in bodyIn) decoded {
	t.Helper()
	d, err := findDialect(in.api)
	if err != nil {
		t.Fatal(err)
	}
	var got decoded
	var text, reasoning bytes.Buffer
	sink := &Sink{
		Text:       func(p []byte) error { text.Write(p); got.deltas++; return nil },
		Join:       in.join,
		Commentary: func(p []byte) error { text.Write(p); return nil },
		Reasoning:  func(p []byte) error { reasoning.Write(p); return nil },
	}
	var dec decoder
	watched := *d
	watched.decoder = func(draft *draft) decoder {
		dec = d.decoder(draft)
		switch d := dec.(type) {
		case *chatDecoder:
			d.shape.off = in.slow
		case *messagesDecoder:
			d.shape.off = in.slow
		}
		return dec
	}
	x := newExchange(&watched, &in.request, sink)
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	x.client.buffer = *buffer
	header := in.header
	if header == nil {
		header = http.Header{}
	}
	body := &scriptedReader{rest: in.data, sizes: in.reads, end: in.broken}
	if got.err = x.read(&http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(body)}); got.err == nil {
		got.reply, got.err = x.reply()
	}
	x.idle.pause()
	got.text, got.reasoning, got.followed = text.String(), reasoning.String(), x.draft.followed
	switch d := dec.(type) {
	case *chatDecoder:
		got.done = d.done
	case *messagesDecoder:
		got.done = d.done
	case *responsesDecoder:
		got.done = d.done
	}
	return got
}

// scriptedReader returns its bytes in reads of the given sizes.
type scriptedReader struct {
	rest  []byte
	sizes []int
	end   error
}

func (r *scriptedReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.end != nil {
			return 0, r.end
		}
		return 0, io.EOF
	}
	n := len(r.rest)
	if len(r.sizes) > 0 {
		n = max(r.sizes[0], 1)
		if len(r.sizes) > 1 {
			r.sizes = r.sizes[1:]
		}
	}
	n = copy(p, r.rest[:min(n, len(r.rest))])
	r.rest = r.rest[n:]
	return n, nil
}

// textOfParts joins the text of parts.
func textOfParts(parts []Part) string {
	var b bytes.Buffer
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
