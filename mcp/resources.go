package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// Contents is one part of a resource: text or a blob.
type Contents struct {
	URI, MIME string
	Text      json.RawMessage // string literal as received; nil for a blob
	Blob      []byte          // base64 as received
}

// ReadResource reads all parts of a resource.
func (s *Session) ReadResource(ctx context.Context, uri string) ([]Contents, error) {
	raw, err := s.Request(ctx, "resources/read", uri, append(jsontext.AppendQuoted([]byte(`{"uri":`), uri), '}'))
	if err != nil {
		return nil, s.failed(fmt.Sprintf("resource %q", uri), err)
	}
	var parts []Contents
	for v := range jsontext.Elements(jsontext.Member(raw, "contents")) {
		c := Contents{URI: jsontext.Text(jsontext.Member(v, "uri")), MIME: jsontext.Text(jsontext.Member(v, "mimeType"))}
		if inline := jsontext.Member(v, "text"); jsontext.Kind(inline) == '"' {
			c.Text = json.RawMessage(inline)
		} else {
			c.Blob = []byte(jsontext.Text(jsontext.Member(v, "blob")))
		}
		parts = append(parts, c)
	}
	return parts, nil
}

// PromptMessage is one message of a prompt.
type PromptMessage struct {
	Role string // "user" or "assistant"
	Text string // the text blocks, and a line for each other block, joined with a newline
	// Images are the image blocks, in order. Each one is also a line of Text.
	Images []wire.Image
}

// GetPrompt fills in a prompt. args must not be nil. The request is repeated after a lost
// session.
func (s *Session) GetPrompt(ctx context.Context, name string, args map[string]string) ([]PromptMessage, error) {
	arguments, _ := json.Marshal(args) // cannot fail
	params := fmt.Appendf(nil, `{"name":%s,"arguments":%s}`, jsontext.Quoted(name), arguments)
	raw, err := s.Request(ctx, "prompts/get", name, params)
	if err != nil {
		return nil, s.failed(fmt.Sprintf("prompt %q", name), err)
	}
	var messages []PromptMessage
	for m := range jsontext.Elements(jsontext.Member(raw, "messages")) {
		content := wire.Result{Content: wire.ReadBlocks(jsontext.Member(m, "content"))}
		var parts []string
		for _, b := range content.Content {
			parts = append(parts, jsontext.Unquote(wire.BlockLiteral(b)))
		}
		messages = append(messages, PromptMessage{jsontext.Text(jsontext.Member(m, "role")), strings.Join(parts, "\n"), content.Render(0).Images})
	}
	return messages, nil
}

// Request sends a request for a named prompt or resource, within the deadlines of a call, and
// returns the result as received. If the server answered with an error, the returned error
// wraps a *wire.RPCError.
func (s *Session) Request(ctx context.Context, method, name string, params []byte) ([]byte, error) {
	return s.RequestNamed(ctx, &Named{Method: method, Name: name, Params: params})
}

// A Named is a request for a named prompt, resource or task.
type Named struct {
	Method, Name string
	Params       []byte
	Ask          wire.AskFunc // as in ToolCall
}

// RequestNamed is Request with an Ask.
func (s *Session) RequestNamed(ctx context.Context, n *Named) ([]byte, error) {
	ctx, alive, stop := s.watch(ctx)
	defer stop()
	r := s.request(n.Method, n.Params, n.Ask)
	r.Name = n.Name
	r.Progress = func([]byte) { alive() }
	return s.exchangeWithInput(ctx, r)
}
