package stream

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

const shortReply = `data: {"model":"m1","choices":[{"index":0,"delta":{"content":"Hel"}}]}

data: {"model":"m1","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}

data: [DONE]

`

func TestReply(t *testing.T) {
	server := newModelServer(t, stream(shortReply))
	file := filepath.Join(t.TempDir(), "rec")
	c := newClient(t, Config{BaseURL: server.URL + "/v1/", Key: "secret", Record: file})
	c.Warm(t.Context())
	r := ask("hi")
	var text string
	for range 3 {
		reply, err := c.Reply(t.Context(), r, &Sink{Text: func(p []byte) error { text += string(p); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if reply.Usage != (Usage{Input: 3, Output: 2}) || reply.Stop != StopEnd || reply.Finish != "stop" || reply.Model != "m1" {
			t.Errorf("reply %+v", reply)
		}
		r.Messages = append(r.Messages, reply.Message, Message{Role: User, Parts: []Part{{Text: "more"}}})
	}
	if text != "HelloHelloHello" {
		t.Errorf("text %q", text)
	}
	if n := server.accepted.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	for i := range server.requests() {
		if server.paths[i] != "/v1/chat/completions" || server.headers[i].Get("Authorization") != "Bearer secret" {
			t.Errorf("%s with %q", server.paths[i], server.headers[i])
		}
	}
	want := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"Hello"},{"role":"user","content":"more"}]}`
	if server.bodies[1] != want {
		t.Errorf("second request\n%s\nwant\n%s", server.bodies[1], want)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	replay := newClient(t, Config{Replay: file})
	reply, err := replay.Reply(context.Background(), ask("hi"), nil)
	if err != nil || fmt.Sprint(reply.Message.Parts) != fmt.Sprint([]Part{{Text: "Hello"}}) {
		t.Errorf("replayed %+v, %v", reply, err)
	}
	_, err = replay.Reply(context.Background(), ask("ho"), nil)
	if e, ok := err.(*Error); !ok || e.Kind != Mismatch || !strings.Contains(e.Message, "messages") {
		t.Errorf("mismatch: %v", err)
	}
}

// TestToolsAppended holds that tools which are appended between two requests are
// sent, behind those that were there before.
func TestToolsAppended(t *testing.T) {
	server := newModelServer(t, stream(shortReply))
	c := newClient(t, Config{BaseURL: server.URL + "/v1/"})
	r := ask("hi")
	for _, name := range []string{"a", "b", "c"} {
		r.Tools = append(r.Tools, Tool{Name: name, Schema: []byte("{}")})
		if _, err := c.Reply(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"b", "c"} {
		_, before, _ := strings.Cut(server.bodies[i], `"tools":[`)
		_, after, _ := strings.Cut(server.bodies[i+1], `"tools":[`)
		before, _, _ = strings.Cut(before, "],")
		if !strings.HasPrefix(after, before+",") || !strings.Contains(after, `"name":"`+name+`"`) {
			t.Errorf("tools %s, then %s", before, after)
		}
	}
}
