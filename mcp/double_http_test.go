package mcp

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"toolpipe/mcp/testdata/mcpdouble"
	"toolpipe/mcp/testdata/mcpdouble/mcpweb"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

const okResult = `{"content":[{"type":"text","text":"ok"}]}`

func initResult(version string) string {
	return fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}`, version)
}

// web is a server on loopback that keeps what it was sent.
type web struct {
	*httptest.Server
	mu       sync.Mutex
	requests []webRequest
}

type webRequest struct {
	verb, path string
	header     http.Header
	body       string
	gone       <-chan struct{} // closed when the client has closed the connection
	wire.Message
}

// serveWeb starts a server; handle answers each request.
func serveWeb(t testing.TB, handle func(w http.ResponseWriter, r webRequest)) *web {
	s := &web{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		req := webRequest{verb: r.Method, path: r.URL.Path, header: r.Header, body: string(body), gone: r.Context().Done()}
		if r.Method == http.MethodPost {
			req.Message, _ = wire.ParseMessage(body)
		}
		s.mu.Lock()
		s.requests = append(s.requests, req)
		s.mu.Unlock()
		handle(w, req)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// got are the requests with a method of JSON-RPC, or an HTTP method.
func (s *web) got(method string) (list []webRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if jsontext.Text(r.Method) == method || r.verb == method {
			list = append(list, r)
		}
	}
	return list
}

func (r *webRequest) reply(result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
}

func (r *webRequest) refuse(code int, what, data string) string {
	if data != "" {
		data = `,"data":` + data
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q%s}}`, r.ID, code, what, data)
}

func sendJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func sendSSE(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, body)
}

// plainWeb answers as the tool server of the scripts with the tool "t" and more options.
func plainWeb(options ...string) webHandler {
	server, err := mcpdouble.New(append([]string{"-tools", "t"}, options...), nil)
	if err != nil {
		panic(err)
	}
	web := &mcpweb.Server{Server: server}
	return func(w http.ResponseWriter, r webRequest) {
		web.ServeHTTP(w, &http.Request{Method: r.verb, Header: r.header, Body: io.NopCloser(strings.NewReader(r.body))})
	}
}

// legacyWeb refuses what comes before initialize as many servers do.
var (
	legacyWeb = instead(plainWeb(), "server/discover", func(w http.ResponseWriter, r webRequest) {
		sendJSON(w, 400, r.refuse(-32000, "Bad Request: Server not initialized", ""))
	})
	modernWeb = plainWeb("-modern")
)

// instead answers one method in another way.
func instead(base func(http.ResponseWriter, webRequest), method string, f func(http.ResponseWriter, webRequest)) func(http.ResponseWriter, webRequest) {
	return func(w http.ResponseWriter, r webRequest) {
		if jsontext.Text(r.Method) == method || r.verb == method {
			f(w, r)
			return
		}
		base(w, r)
	}
}

// slowly writes a byte at a time, each flushed.
func slowly(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for i := range body {
		io.WriteString(w, body[i:i+1])
		w.(http.Flusher).Flush()
	}
}

func packed(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	io.WriteString(z, body)
	z.Close()
}

// lmcp answers as the server of that name: POST only, a connection for each
// request, always 2025-03-26, a GET that brings one event and ends, failures
// as text.
func lmcp(token string) func(http.ResponseWriter, webRequest) {
	return func(w http.ResponseWriter, r webRequest) {
		w.Header().Set("Connection", "close")
		if r.header.Get("Authorization") != "Bearer "+token {
			sendJSON(w, 401, `{"error":"unauthorized"}`)
			return
		}
		switch jsontext.Text(r.Method) {
		case "":
			if r.verb == http.MethodGet {
				sendSSE(w, "event: endpoint\ndata: /mcp\n\n")
				return
			}
			w.WriteHeader(http.StatusAccepted)
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		case "initialize":
			sendJSON(w, 200, r.reply(initResult("2025-03-26")))
		case "tools/list":
			sendJSON(w, 200, r.reply(`{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`))
		case "tools/call":
			sendJSON(w, 200, r.reply(`{"content":[{"type":"text","text":"Error: no such file"}],"isError":false}`))
		default:
			sendJSON(w, 200, r.refuse(wire.CodeMethodNotFound, "Method not found", ""))
		}
	}
}

// dies breaks the connection.
func dies(w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		c.Close()
	}
}

// trickle sends a long body in pieces, with pauses.
func trickle(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	for part := range strings.SplitSeq(body, ",") {
		if part != body[:len(part)] {
			part = "," + part
		}
		io.WriteString(w, part)
		w.(http.Flusher).Flush()
		time.Sleep(5 * time.Millisecond)
	}
}

// chatter says much on the stream of each call before it answers.
func chatter(base webHandler) webHandler {
	return instead(base, "tools/call", func(w http.ResponseWriter, r webRequest) {
		token := jsontext.Member(r.Params, "_meta", "progressToken")
		lines := mcpdouble.Chat + fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, token) + "\n" + r.reply(okResult)
		for line := range strings.SplitSeq(lines, "\n") {
			sendSSE(w, "data: "+line+"\n\n")
			w.(http.Flusher).Flush()
		}
	})
}

// oldServer is a server of HTTP+SSE (2024-11-05) for one client, with its one
// stream. A call with "die" in its arguments ends that.
type oldServer struct {
	events chan string
	end    chan struct{}
}

func newOld() *oldServer { return &oldServer{make(chan string, 1000), make(chan struct{})} }

func (s *oldServer) serve(t *testing.T, handle webHandler) *web {
	web := serveWeb(t, handle)
	t.Cleanup(func() { close(s.end) })
	return web
}

func (s *oldServer) handle(w http.ResponseWriter, r webRequest) {
	switch {
	case r.verb == http.MethodGet:
		sendSSE(w, "event: endpoint\ndata: /messages?id=1\n\n")
		for {
			w.(http.Flusher).Flush()
			select {
			case ev := <-s.events:
				if ev == "" { // the end of the stream
					return
				}
				io.WriteString(w, "data: "+ev+"\n\n")
			case <-s.end:
				return
			}
		}
	case r.path != "/messages":
		w.WriteHeader(405)
	case jsontext.Text(r.Method) == "tools/call" && strings.Contains(r.body, "die"):
		s.events <- ""
	case jsontext.Text(r.Method) == "tools/call":
		for line := range strings.SplitSeq(mcpdouble.Chat+r.reply(okResult), "\n") {
			s.events <- line
		}
	case jsontext.Text(r.Method) == "initialize":
		s.events <- r.reply(initResult("2024-11-05"))
	default:
		answer := httptest.NewRecorder()
		if legacyWeb(answer, r); answer.Body.Len() > 0 {
			s.events <- answer.Body.String()
		}
	}
}
