package stream

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolpipe/stream/text/secrets"
)

// TestTape holds that answers are between the exchanges of a recording, whenever they come, and are
// given once each, without secrets.
func TestTape(t *testing.T) {
	var c *Client
	const secret = "sekrit-0123456789"
	keep := func(asked, answered string) { c.Tape().Keep([]byte(asked), []byte(answered)) }
	s := newModelServer(t, func(w http.ResponseWriter, r *http.Request) {
		keep(`{"tool":"b"}`, `{"during":"the request"}`)
		w.WriteHeader(503)
	}, func(w http.ResponseWriter, r *http.Request) {
		keep(`{"tool":"a"}`, `"two"`)
		stream(hello)(w, r)
	})
	file := filepath.Join(t.TempDir(), "rec")
	hidden := &secrets.Set{}
	hidden.Add(secret)
	c = newClient(t, Config{BaseURL: s.URL, Record: file, Secrets: hidden})
	waits(c)
	keep(`{"tool": "a"}`, "\"one\"\n")
	if _, err := c.Reply(t.Context(), ask("hi"), nil); err != nil {
		t.Fatal(err)
	}
	keep(`{"tool":"a","text":"`+secret+`"}`, `"`+secret+`"`)
	c.Close()
	text, _ := os.ReadFile(file)
	if strings.Contains(string(text), secret) {
		t.Errorf("the recording has the secret:\n%s", text)
	}

	replay := newClient(t, Config{Replay: file, Secrets: hidden})
	var got []string
	for _, asked := range []string{`{"tool":"a"}`, `{"tool":"b"}`, `{ "tool":"a"}`, `{"tool":"a","text":"` + secret + `"}`, `{"tool":"a"}`, `{"tool":"a","text":"x"}`} {
		answer, err := replay.Tape().Take([]byte(asked))
		if err != nil {
			answer = []byte(strings.ReplaceAll(err.Error(), file, "rec"))
		}
		got = append(got, string(answer))
	}
	want := []string{`"one"`, `{"during":"the request"}`, `"two"`, `"[secret]"`,
		`the recording "rec" has fewer answers to this than the run asks for: {"tool":"a"}`,
		"the recording \"rec\" has no answer to this; the nearest that it has:\n- {\"tool\":\"a\",\"text\":\"[secret]\"}\n+ {\"tool\":\"a\",\"text\":\"x\"}"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nnot\n%q", got, want)
	}
	if reply, err := replay.Reply(t.Context(), ask("hi"), nil); err != nil || textOfParts(reply.Message.Parts) != "hello" {
		t.Errorf("the exchanges are not intact: %v", err)
	}
	if newClient(t, Config{BaseURL: s.URL}).Tape() != nil {
		t.Error("a tape without a recording")
	}
}
