package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

// TestSessionIsConcurrent uses every exported method of a session from several
// goroutines, over each transport, beside a server that asks and announces
// changes and, over HTTP, loses its session; and closes it in the middle of all
// that. Under -race it says whether a method may be called at any time.
func TestSessionIsConcurrent(t *testing.T) {
	modern := toolserver.New("here", "1")
	modern.Add(wire.Tool{Name: "t", InputSchema: json.RawMessage(emptySchema)},
		func(_ context.Context, _ json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
			return toolserver.TextResult([]byte("ok")), nil
		})
	for name, spec := range map[string]func(*testing.T) Spec{
		"local":        func(*testing.T) Spec { return Spec{Local: modern.Pipe} },
		"stdio":        func(*testing.T) Spec { return stdio("chatters") },
		"http":         func(t *testing.T) Spec { return Spec{URL: serveWeb(t, chatter(legacyWeb)).URL, Elicit: "defaults"} },
		"modern http":  func(t *testing.T) Spec { return Spec{URL: serveWeb(t, chatter(modernWeb)).URL, Elicit: "defaults"} },
		"lost session": func(t *testing.T) Spec { return Spec{URL: serveWeb(t, forgetful()).URL, Elicit: "ask"} },
		"sse": func(t *testing.T) Spec {
			old := newOld()
			return Spec{URL: old.serve(t, old.handle).URL + "/sse"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := connect(t, spec(t))
			useAll(t, s)
		})
	}
}

const chat = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"look"}}
{"jsonrpc":"2.0","id":0,"method":"ping"}
{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"properties":{}}}}
`

// chatter says much on the stream of each call before it answers.
func chatter(base webHandler) webHandler {
	return instead(base, "tools/call", func(w http.ResponseWriter, r webRequest) {
		token := jsontext.Member(r.Params, "_meta", "progressToken")
		lines := chat + fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, token) + "\n" + r.reply(okResult)
		for line := range strings.SplitSeq(lines, "\n") {
			sendSSE(w, "data: "+line+"\n\n")
			w.(http.Flusher).Flush()
		}
	})
}

// forgetful loses its session after the tenth call.
func forgetful() webHandler {
	server := &sessions{after: func(w http.ResponseWriter, r webRequest) { w.WriteHeader(404) }}
	var calls atomic.Int32
	return chatter(func(w http.ResponseWriter, r webRequest) {
		if jsontext.Text(r.Method) == "prompts/list" && calls.Add(1) == 10 {
			server.lost.Store(true)
		}
		server.handle(w, r)
	})
}

func init() {
	doubles["chatters"] = func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			d.write("%s"+`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, chat, jsontext.Member(m.Params, "_meta", "progressToken"))
			d.answer(m)
		}))
	}
}

// oldServer is a server of 2024-11-05 for one client, with its one stream.
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
		sendSSE(w, "event: endpoint\ndata: /messages\n\n")
		for {
			w.(http.Flusher).Flush()
			select {
			case ev := <-s.events:
				io.WriteString(w, "data: "+ev+"\n\n")
			case <-s.end:
				return
			}
		}
	case r.path != "/messages":
		w.WriteHeader(405)
	case jsontext.Text(r.Method) == "tools/call":
		for line := range strings.SplitSeq(chat+r.reply(okResult), "\n") {
			s.events <- line
		}
	default:
		answer := httptest.NewRecorder()
		legacyWeb(answer, r)
		s.events <- answer.Body.String()
	}
}

// useAll calls everything at once and closes the session meanwhile. What the
// methods answer is not looked at: other tests do that.
func useAll(t *testing.T, s *Session) {
	ctx := bounded(t)
	args := json.RawMessage(`{"a":"b"}`)
	uses := map[string]func(){
		"Protocol":      func() { s.Protocol() },
		"Transport":     func() { s.Transport() },
		"Instructions":  func() { s.Instructions() },
		"Lost":          func() { s.Lost() },
		"Tools":         func() { s.Tools(ctx) },
		"Call":          func() { s.Call(ctx, "t", args, func(wire.Progress) {}) },
		"ListPrompts":   func() { s.ListPrompts(ctx) },
		"ListResources": func() { s.ListResources(ctx) },
		"GetPrompt":     func() { s.GetPrompt(ctx, "p", map[string]string{"a": "b"}) },
		"ReadResource":  func() { s.ReadResource(ctx, "file:///x") },
		"Close":         nil,
	}
	for m := range reflect.TypeFor[*Session]().Methods() {
		if _, ok := uses[m.Name]; !ok {
			t.Errorf("the method %s is not used here", m.Name)
		}
	}
	delete(uses, "Close")
	uses["a call that is cancelled"] = func() {
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		s.Call(short, "t", args, func(wire.Progress) {})
	}
	var all sync.WaitGroup
	var calls atomic.Int32 // until the session is closed
	var ended atomic.Bool
	for range 2 {
		for name, use := range uses {
			all.Go(func() {
				for !ended.Load() {
					use()
					if name == "Call" {
						calls.Add(1)
					}
					runtime.Gosched()
				}
			})
		}
		all.Go(func() {
			for calls.Load() < 20 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			s.Close()
			ended.Store(true)
		})
	}
	all.Wait()
}
