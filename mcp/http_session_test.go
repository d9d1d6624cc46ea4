package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// sessions is a legacy server whose sessions can be forgotten.
type sessions struct {
	n     atomic.Int32
	lost  atomic.Bool
	after webHandler // answers what belongs to no session any more

	forgetful atomic.Bool // every session is lost before its first request
}

func (s *sessions) handle(w http.ResponseWriter, r webRequest) {
	id := fmt.Sprint("session-", s.n.Load())
	switch {
	case jsontext.Text(r.Method) == "server/discover":
		legacyWeb(w, r)
	case jsontext.Text(r.Method) == "initialize":
		if r.header.Get("Mcp-Session-Id") != "" {
			http.Error(w, "a session in initialize", 400)
			return
		}
		s.lost.Store(false)
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("session-", s.n.Add(1)))
		legacyWeb(w, r)
	case r.header.Get("Mcp-Session-Id") != id || s.lost.Load() || s.forgetful.Load() && r.ID != nil:
		s.after(w, r)
	case r.verb == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		legacyWeb(w, r)
	}
}

func TestSessionLoss(t *testing.T) {
	for name, after := range map[string]webHandler{
		"404":      func(w http.ResponseWriter, r webRequest) { http.Error(w, "Session not found", 404) },
		"404 bare": func(w http.ResponseWriter, r webRequest) { w.WriteHeader(404) },
		"400 JSON-RPC": func(w http.ResponseWriter, r webRequest) {
			sendJSON(w, 400, r.refuse(-32000, "Bad Request: No valid session ID provided", ""))
		},
		"401": func(w http.ResponseWriter, r webRequest) { http.Error(w, "unknown session", 401) },
		"200": func(w http.ResponseWriter, r webRequest) { sendJSON(w, 200, r.refuse(-32001, "Session expired", "")) },
	} {
		t.Run(name, func(t *testing.T) {
			server := &sessions{after: after}
			web := serveWeb(t, server.handle)
			s, _ := connect(t, Spec{URL: web.URL})
			const losses = 3 // as a server loses sessions that are idle, in a run of days
			for range losses {
				server.lost.Store(true)
				if names := listAgain(t, s); names != "t" {
					t.Errorf("tools after the loss: %q", names)
				}
			}
			if n := len(web.got("initialize")); n != 1+losses {
				t.Errorf("%d handshakes", n)
			}
		})
	}
}

// TestSessionEndsBesideAHungHandler: a server is told that its session ends also if a
// hook, such as a question to the user, does not return.
func TestSessionEndsBesideAHungHandler(t *testing.T) {
	t.Parallel()
	server, ended, hold := &sessions{}, make(chan struct{}), make(chan bool)
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		server.handle(w, r)
		if r.verb == http.MethodDelete {
			close(ended)
		}
	})
	s, _ := connect(t, Spec{URL: web.URL})
	s.start(func() { <-hold })
	defer close(hold)
	goroutine.Start(func() { s.Close() })
	if !goroutine.Await(ended, hang) {
		t.Error("there was no DELETE")
	}
}

// TestSessionLossInCall: the call was refused, so it did not run, and it is sent again in the new
// session.
func TestSessionLossInCall(t *testing.T) {
	for name, after := range map[string]webHandler{
		"404":          func(w http.ResponseWriter, r webRequest) { w.WriteHeader(404) },
		"404 JSON-RPC": func(w http.ResponseWriter, r webRequest) { sendJSON(w, 404, r.refuse(-32001, "Session not found", "")) },
		"400":          func(w http.ResponseWriter, r webRequest) { http.Error(w, "no such session", 400) },
		"event": func(w http.ResponseWriter, r webRequest) { // actionhero/keryx#503
			sendSSE(w, "event: message\ndata: {\"error\":\"Session not found\"}\n\n")
		},
		"null id": func(w http.ResponseWriter, r webRequest) {
			sendJSON(w, 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session expired"}}`)
		},
		"own id": func(w http.ResponseWriter, r webRequest) { sendJSON(w, 200, r.refuse(-32001, "Session not found", "")) },
		"own id 400": func(w http.ResponseWriter, r webRequest) {
			sendJSON(w, 400, r.refuse(-32600, "Error: invalid or expired session", ""))
		},
		"JSON": func(w http.ResponseWriter, r webRequest) { sendJSON(w, 200, `{"message":"Session not found"}`) },
		"text": func(w http.ResponseWriter, r webRequest) { io.WriteString(w, "Invalid session ID") },
	} {
		t.Run(name, func(t *testing.T) {
			server := &sessions{after: after}
			web := serveWeb(t, server.handle)
			s, _ := connect(t, Spec{URL: web.URL})
			server.lost.Store(true)
			if got := called(t, s, "t", `{}`); got != "ok" {
				t.Errorf("the call gave %q", got)
			}
			if n := len(web.got("tools/call")); n != 2 {
				t.Errorf("%d calls went out", n)
			}
			s.Close()
			if ends := web.got("DELETE"); len(ends) != 1 || ends[0].header.Get("Mcp-Session-Id") != "session-2" {
				t.Errorf("ends: %v", ends)
			}
		})
	}
}

// TestSessionsThatDoNotLast: a call is sent again once.
func TestSessionsThatDoNotLast(t *testing.T) {
	server := &sessions{}
	web := serveWeb(t, instead(server.handle, "tools/call", func(w http.ResponseWriter, r webRequest) { http.Error(w, "Session not found", 404) }))
	s, _ := connect(t, Spec{URL: web.URL})
	if e := callFails(t, s, "t", `{}`); e.Sent || e.RPC || !strings.Contains(e.Message, "Session not found") {
		t.Errorf("%+v", e)
	}
	if calls, inits := len(web.got("tools/call")), len(web.got("initialize")); calls != 2 || inits != 2 {
		t.Errorf("%d calls and %d handshakes", calls, inits)
	}
}

// TestErrorThatSaysSession: a call's own error is the call's outcome, whatever
// it speaks of; the session stays and the call is not sent again.
func TestErrorThatSaysSession(t *testing.T) {
	const said = "browser session 7 has crashed after the form was sent"
	for name, answer := range map[string]webHandler{
		"200":       func(w http.ResponseWriter, r webRequest) { sendJSON(w, 200, r.refuse(-32000, said, "")) },
		"200 event": func(w http.ResponseWriter, r webRequest) { sendSSE(w, "data: "+r.refuse(-32050, said, "")+"\n\n") },
		"400":       func(w http.ResponseWriter, r webRequest) { sendJSON(w, 400, r.refuse(-32602, said, "")) },
		"401":       func(w http.ResponseWriter, r webRequest) { sendJSON(w, 401, r.refuse(-32000, said, "")) },
		"cut off": func(w http.ResponseWriter, r webRequest) {
			sendJSON(w, 200, `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"session not found`)
		},
		"null id": func(w http.ResponseWriter, r webRequest) {
			sendJSON(w, 200, fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":%q}}`, said))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := &sessions{}
			web := serveWeb(t, instead(server.handle, "tools/call", answer))
			s, _ := connect(t, Spec{URL: web.URL})
			if e := callFails(t, s, "t", `{}`); e.Sent != (name == "cut off") || !e.Sent && (!e.RPC || e.Message != said) {
				t.Errorf("%+v", e)
			}
			if inits, calls := len(web.got("initialize")), len(web.got("tools/call")); inits != 1 || calls != 1 {
				t.Errorf("%d handshakes and %d calls", inits, calls)
			}
		})
	}
}

// TestLostSessionSaysWhy: what the server said of the loss is kept.
func TestLostSessionSaysWhy(t *testing.T) {
	for name, after := range map[string]webHandler{
		"404": func(w http.ResponseWriter, r webRequest) { http.Error(w, "no such session, see /status", 404) },
		"400": func(w http.ResponseWriter, r webRequest) { http.Error(w, "no such session, see /status", 400) },
		"no id": func(w http.ResponseWriter, r webRequest) {
			sendJSON(w, 400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"no such session, see /status"}}`)
		},
		"null id": func(w http.ResponseWriter, r webRequest) {
			sendJSON(w, 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no such session, see /status"}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := &sessions{after: after}
			web := serveWeb(t, server.handle)
			s, _ := connect(t, Spec{URL: web.URL})
			server.forgetful.Store(true)
			if e := callFails(t, s, "t", `{}`); e.Sent || !strings.Contains(e.Message, "no such session, see /status") {
				t.Errorf("%+v", e)
			}
			if e := callFails(t, s, "t", `{}`); e.Sent || e.RPC || !strings.Contains(e.Message, "lost twice") || !strings.Contains(e.Message, "no such session, see /status") {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestSessionOfATool: a tool may have sessions, too, and arguments with that name.
func TestSessionOfATool(t *testing.T) {
	for said, code := range map[string]int{
		"Browser session 7 not found":          -32000,
		"no such tmux session":                 -32001,
		"Session not found: main":              wire.CodeInternal,
		"Invalid session: not a known session": wire.CodeInvalidParams,
	} {
		for _, status := range []int{200, 400} {
			server := &sessions{}
			web := serveWeb(t, instead(server.handle, "tools/call", func(w http.ResponseWriter, r webRequest) { sendJSON(w, status, r.refuse(code, said, "")) }))
			s, _ := connect(t, Spec{URL: web.URL})
			if e := callFails(t, s, "t", `{}`); !e.RPC || e.Message != said {
				t.Errorf("%+v", e)
			}
			if inits, calls := len(web.got("initialize")), len(web.got("tools/call")); inits != 1 || calls != 1 {
				t.Errorf("%q: %d handshakes and %d calls", said, inits, calls)
			}
		}
	}
}

// TestCallsWaitForARenewal: a call that starts while a session is begun anew
// goes out with the new one.
func TestCallsWaitForARenewal(t *testing.T) {
	server := &sessions{after: func(w http.ResponseWriter, r webRequest) { w.WriteHeader(404) }}
	renewing, goOn := make(chan struct{}), make(chan struct{})
	var handshakes atomic.Int32
	web := serveWeb(t, instead(server.handle, "initialize", func(w http.ResponseWriter, r webRequest) {
		if handshakes.Add(1) == 2 {
			close(renewing)
			<-goOn
		}
		server.handle(w, r)
	}))
	s, _ := connect(t, Spec{URL: web.URL})
	server.lost.Store(true)
	ctx := bounded(t)
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.Call(ctx, "t", json.RawMessage(`{}`), nil)
		first <- err
	}()
	<-renewing
	go func() {
		_, err := s.Call(ctx, "t", json.RawMessage(`{}`), nil)
		second <- err
	}()
	impatient, cancel := context.WithTimeoutCause(ctx, 50*time.Millisecond, errors.New("enough of waiting"))
	defer cancel()
	if _, err := s.Call(impatient, "t", json.RawMessage(`{}`), nil); err == nil || wire.MayHaveArrived(err) || !strings.Contains(err.Error(), "enough of waiting") {
		t.Errorf("a call whose time ended in the renewal: %v", err)
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Errorf("the call that lost the session: %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("the call that came in the renewal: %v", err)
	}
	if n := len(web.got("tools/call")); n != 3 {
		t.Errorf("%d calls went out", n)
	}
}

// TestRenewalThatIsCancelled: it is the next call's to try again.
func TestRenewalThatIsCancelled(t *testing.T) {
	server := &sessions{after: func(w http.ResponseWriter, r webRequest) { w.WriteHeader(404) }}
	var handshakes atomic.Int32
	ctx, cancel := context.WithCancel(bounded(t))
	web := serveWeb(t, instead(server.handle, "initialize", func(w http.ResponseWriter, r webRequest) {
		if handshakes.Add(1) == 2 {
			cancel()
			return
		}
		server.handle(w, r)
	}))
	s, _ := connect(t, Spec{URL: web.URL})
	server.lost.Store(true)
	if _, err := s.Call(ctx, "t", json.RawMessage(`{}`), nil); err == nil || wire.MayHaveArrived(err) {
		t.Errorf("%v", err)
	}
	if got := called(t, s, "t", `{}`); got != "ok" {
		t.Errorf("the next call: %q", got)
	}
	s.Close() // waits for what is sent beside
	for _, r := range web.got("notifications/cancelled") {
		t.Errorf("initialize must not be cancelled: %s", r.body)
	}
}
