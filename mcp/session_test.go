package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// TestLegacyHeaders: nothing on initialize, then session and revision.
func TestLegacyHeaders(t *testing.T) {
	server := &sessions{}
	web := serveWeb(t, server.handle)
	s, _ := connect(t, Spec{URL: web.URL, Protocol: Protocol{Only: "legacy"}})
	called(t, s, "t", `{}`)
	for _, r := range web.got("POST") {
		want, version := "session-1", "2025-11-25"
		if jsontext.Text(r.Method) == "initialize" {
			want, version = "", ""
		}
		if r.header.Get("Mcp-Session-Id") != want || r.header.Get("Mcp-Protocol-Version") != version || r.header.Get("Mcp-Method") != "" {
			t.Errorf("%s: %v", r.Method, r.header)
		}
	}
}

func TestRedirects(t *testing.T) {
	moved := func(status int) webHandler {
		return func(w http.ResponseWriter, r webRequest) {
			if r.path != "/mcp/" {
				w.Header().Set("Location", "/mcp/")
				w.WriteHeader(status)
				return
			}
			modernWeb(w, r)
		}
	}
	for _, status := range []int{307, 308} {
		web := serveWeb(t, moved(status))
		s, _ := connect(t, Spec{URL: web.URL + "/mcp"})
		if got := called(t, s, "t", `{}`); got != "ok" {
			t.Errorf("%d: the call gave %q", status, got)
		}
		if calls := web.got("tools/call"); len(calls) != 1 || calls[0].path != "/mcp/" {
			t.Errorf("%d: %d calls", status, len(calls))
		}
	}
	// A call is not sent to another place, though nothing was done here.
	var gone atomic.Bool
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		if gone.Load() {
			moved(307)(w, r)
			return
		}
		modernWeb(w, r)
	})
	s, _ := connect(t, Spec{URL: web.URL + "/mcp"})
	gone.Store(true)
	if e := callFails(t, s, "t", `{}`); e.Sent || len(web.got("tools/call")) != 1 {
		t.Errorf("%+v after %d calls", e, len(web.got("tools/call")))
	}
}

// TestCredentialsStayHome: not even the same host on another port gets them.
func TestCredentialsStayHome(t *testing.T) {
	other := serveWeb(t, modernWeb)
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		w.Header().Set("Location", other.URL+"/mcp")
		w.WriteHeader(308)
	})
	_, _, err := tryConnect(t, Spec{URL: web.URL, Bearer: "tok"})
	if err == nil || !strings.Contains(err.Error(), "another origin") || len(other.got("POST")) > 0 {
		t.Errorf("%v; the other got %d", err, len(other.got("POST")))
	}
}

func TestResumption(t *testing.T) {
	var call webRequest
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		switch {
		case jsontext.Text(r.Method) == "tools/call":
			call = r
			sendSSE(w, "id: 7\nretry: 20\ndata:\n\n")
		case r.verb == http.MethodGet && r.header.Get("Last-Event-Id") == "7":
			sendSSE(w, "id: 8\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n")
		case r.verb == http.MethodGet && r.header.Get("Last-Event-Id") == "8":
			sendSSE(w, "id: 9\ndata: "+call.reply(okResult)+"\n\n")
		default:
			legacyWeb(w, r)
		}
	})
	s, _ := connect(t, Spec{URL: web.URL})
	if got := called(t, s, "t", `{}`); got != "ok" {
		t.Errorf("the call gave %q", got)
	}
	if gets, calls := len(web.got("GET")), len(web.got("tools/call")); gets != 2 || calls != 1 {
		t.Errorf("%d resumptions of %d calls", gets, calls)
	}
}

// TestResumptionIsNoBusyLoop: however short a wait the server asks for.
func TestResumptionIsNoBusyLoop(t *testing.T) {
	t.Parallel()
	const most = 4
	var resumptions atomic.Int32
	ctx, cancel := context.WithCancel(bounded(t))
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		switch {
		case jsontext.Text(r.Method) == "tools/call":
			sendSSE(w, "id: 7\nretry: 1\ndata:\n\n")
		case r.verb == http.MethodGet:
			if resumptions.Add(1) == most {
				cancel()
			}
			sendSSE(w, "retry: 1\n\n")
		default:
			legacyWeb(w, r)
		}
	})
	s, _ := connect(t, Spec{URL: web.URL})
	began := time.Now()
	if e := callFailsWith(t, ctx, s, "t", `{}`); !e.Sent || e.RPC {
		t.Errorf("%+v", e)
	}
	if took := time.Since(began); took < most*minRetry {
		t.Errorf("%d resumptions in %v", most, took)
	}
}

// TestServerAsksOverHTTP: requests on the stream of a reply are answered
// while it is read.
func TestServerAsksOverHTTP(t *testing.T) {
	answers := make(chan string, 4)
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		switch {
		case jsontext.Text(r.Method) == "tools/call":
			sendSSE(w, "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"roots/list\"}\n\n")
			w.(http.Flusher).Flush()
			<-answers
			<-answers
			io.WriteString(w, "data: "+r.reply(okResult)+"\n\n")
		case r.Method == nil && r.ID != nil:
			w.WriteHeader(202)
			answers <- r.body
		default:
			legacyWeb(w, r)
		}
	})
	s, _ := connect(t, Spec{URL: web.URL})
	if got := called(t, s, "t", `{}`); got != "ok" {
		t.Errorf("the call gave %q", got)
	}
}

// TestOldTransport is the HTTP+SSE of 2024-11-05, to which nothing leads but a
// refused initialize.
func TestOldTransport(t *testing.T) {
	for name, post := range map[string]webHandler{
		"405": func(w http.ResponseWriter, r webRequest) { w.WriteHeader(405) },
		"404": func(w http.ResponseWriter, r webRequest) { http.NotFound(w, nil) },
		"endpoint on POST": func(w http.ResponseWriter, r webRequest) {
			sendSSE(w, "event: endpoint\ndata: /messages?id=1\n\n")
			w.(http.Flusher).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			old := newOld()
			web := old.serve(t, func(w http.ResponseWriter, r webRequest) {
				if r.verb == http.MethodPost && r.path != "/messages" {
					post(w, r)
				} else {
					old.handle(w, r)
				}
			})
			s, rec := connect(t, Spec{URL: web.URL + "/sse"})
			if s.Transport() != "sse" || s.Protocol() != "2024-11-05" {
				t.Errorf("%s over %s", s.Protocol(), s.Transport())
			}
			if names, got := toolNames(s), called(t, s, "t", `{}`); names != "t" || got != "ok" {
				t.Errorf("tools %q, the call gave %q", names, got)
			}
			if e := callFails(t, s, "t", `{"die":1}`); !e.Sent || s.conn.lost() == nil || rec.warned("server_lost") != 1 {
				t.Errorf("%+v, lost %v, %q", e, s.conn.lost(), rec.warnings)
			}
			if e := callFails(t, s, "t", `{}`); e.Sent {
				t.Errorf("%+v", e)
			}
		})
	}
}

// A session ends its connection though something that it waits for takes long, and
// that end is no loss of the server.
func TestCloseWhileSomethingRuns(t *testing.T) {
	t.Run("stdio", func(t *testing.T) {
		s, _ := connect(t, stdio())
		hold := make(chan struct{})
		s.start(func() { <-hold })
		closed := goroutine.Done(func() { s.Close() })
		if !s.child.proc.EndsWithin(5 * time.Second) {
			t.Error("the child runs on")
		}
		close(hold)
		<-closed
	})
	t.Run("sse", func(t *testing.T) {
		old := newOld()
		s, rec := connect(t, Spec{URL: old.serve(t, old.handle).URL + "/sse"})
		s.end() // as Close does first
		if goroutine.Await(s.conn.(*streamConn).ended, 100*time.Millisecond) {
			t.Error("the stream ended before the connection was closed")
		}
		if s.Close(); rec.warned("server_lost") != 0 {
			t.Errorf("%q", rec.warnings)
		}
	})
}

func TestLikeLMCP(t *testing.T) {
	web := serveWeb(t, lmcp("tok"))
	s, rec := connect(t, Spec{URL: web.URL + "/mcp", Bearer: "tok"})
	if s.Protocol() != "2025-03-26" || s.Transport() != "http" {
		t.Errorf("%s over %s", s.Protocol(), s.Transport())
	}
	if rec.warned("protocol_mismatch") > 0 {
		t.Errorf("warnings: %q", rec.warnings)
	}
	r, err := s.Call(bounded(t), "t", json.RawMessage(`{}`), nil)
	if err != nil || r.IsError || jsontext.Unquote(r.Render().JSON) != "Error: no such file" {
		t.Errorf("%+v, %v", r, err)
	}
	for _, r := range web.got("POST") {
		if v := r.header.Get("Mcp-Protocol-Version"); v != "" && jsontext.Text(r.Method) != "server/discover" {
			t.Errorf("%s has the version header %s, which 2025-03-26 does not know", r.Method, v)
		}
	}
	_, _, err = tryConnect(t, Spec{Name: "lm", URL: web.URL + "/mcp"})
	if e, ok := err.(*ConnectError); !ok || !strings.Contains(e.Message, "401") || Refused(err) == nil {
		t.Errorf("without the token: %v", err)
	}
	_, _, err = tryConnect(t, Spec{URL: web.URL + "/mcp", Bearer: "wrong"})
	if e, ok := err.(*ConnectError); !ok || Refused(e) == nil {
		t.Errorf("with a wrong token: %v", err)
	}
}

// TestSideBySide: of many servers one that hangs costs one start-up timeout.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	var procs process.Processes
	type result struct {
		s   *Session
		err error
	}
	results := make(chan result)
	for i := range 8 {
		spec := stdio()
		if i == 3 {
			spec = stdio("-silent")
		}
		spec.Name, spec.StartupTimeout = fmt.Sprint("s", i), 2*time.Second
		go func() {
			s, err := Connect(ctx, spec, Hooks{}, &procs)
			results <- result{s, err}
		}()
	}
	failed := 0
	for range 8 {
		r := <-results
		if r.err != nil {
			failed++
			continue
		}
		defer r.s.Close()
	}
	if failed != 1 {
		t.Errorf("%d failed", failed)
	}
}
