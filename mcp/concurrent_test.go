package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// TestSessionIsConcurrent uses every exported method of a session from several
// goroutines, over each transport, beside a server that asks and announces
// changes and, over HTTP, loses its session; and closes it in the middle of all
// that. Under -race it reports whether a method may be called at any time.
func TestSessionIsConcurrent(t *testing.T) {
	t.Parallel()
	modern := toolserver.New("here", "1")
	modern.Add(wire.Tool{Name: "t", InputSchema: json.RawMessage(emptySchema)},
		func(_ context.Context, _ json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
			return toolserver.TextResult([]byte("ok")), nil
		})
	for name, spec := range map[string]func(*testing.T) Spec{
		"local":        func(*testing.T) Spec { return Spec{Local: modern.Pipe} },
		"stdio":        func(*testing.T) Spec { return stdio("-fault", "chatters") },
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

// useAll calls everything at once and closes the session meanwhile. What the
// methods answer is not looked at: other tests do that.
func useAll(t *testing.T, s *Session) {
	ctx := bounded(t)
	args := json.RawMessage(`{"a":"b"}`)
	uses := map[string]func(){
		"Protocol":     func() { s.Protocol() },
		"Restarted":    func() { s.Restarted() },
		"Transport":    func() { s.Transport() },
		"Instructions": func() { s.Instructions() },
		"Tools":        func() { s.Tools() },
		"Call":         func() { s.Call(ctx, "t", args, func(wire.Progress) {}) },
		"CallTool":     func() { s.CallTool(ctx, &ToolCall{Tool: "t", Args: args, Meta: []byte(`"a":1`)}) },
		"ResumeTask":   func() { s.ResumeTask(ctx, "t", "1", nil) },
		"Lost":         func() { s.Lost() },
		"About":        func() { s.About() },
		"Relist":       func() { s.Relist(ctx) },
		"Watch":        func() { s.Watch() },

		"AnnouncesTools": func() { s.AnnouncesTools() },
		"ToolsAnnounced": func() { s.ToolsAnnounced() },
		"DoubtTools":     func() { s.DoubtTools() },

		"Subscribe":    func() { s.Subscribe(ctx, "file:///x", true) },
		"Unsubscribe":  func() { s.Subscribe(ctx, "file:///x", false) },
		"Completes":    func() { s.Completes() },
		"GetPrompt":    func() { s.GetPrompt(ctx, "p", map[string]string{"a": "b"}) },
		"ReadResource": func() { s.ReadResource(ctx, "file:///x") },
		"ReadForModel": func() { s.ReadForModel(ctx, "file:///x", nil, nil) },
		"HasResources": func() { s.HasResources() },
		"Settle":       func() { s.Settle(time.Millisecond) },
		"Items":        func() { s.Items(ctx, Templates, func([]byte) {}) },
		"Request":      func() { s.Request(ctx, &Named{Method: "prompts/get", Name: "p", Params: []byte(`{"name":"p"}`)}) },
		"LogFrom":      func() { s.LogFrom(ctx, "info") },
		"Skill":        func() { s.Skill(ctx, "x://s/SKILL.md") },
		"SkillText":    func() { s.SkillText(ctx, &Skill{URI: "x://s/SKILL.md"}) },
		"Close":        nil,
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
