package stream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func ask(text string) *Request {
	return &Request{Model: "m", Messages: []Message{{Role: User, Parts: []Part{{Text: text}}}}}
}

const shortReply = `data: {"model":"m1","choices":[{"index":0,"delta":{"content":"Hel"}}]}

data: {"model":"m1","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}

data: [DONE]

`

func TestReply(t *testing.T) {
	var bodies []string
	conns := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(b))
		conns[r.RemoteAddr] = true
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s with %q", r.URL, r.Header)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, shortReply)
	}))
	defer server.Close()
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
	if len(conns) != 1 {
		t.Errorf("connections: %v", conns)
	}
	want := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"Hello"},{"role":"user","content":"more"}]}`
	if bodies[1] != want {
		t.Errorf("second request\n%s\nwant\n%s", bodies[1], want)
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
	} else {
		t.Log(e.Message, "\n", e.Hint)
	}
}
