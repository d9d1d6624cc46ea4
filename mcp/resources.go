package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// Contents is one part of a resource: text or a blob.
type Contents struct {
	URI, MIME string
	Text      json.RawMessage // string literal as received; nil for a blob
	Blob      []byte          // base64 as received
	Raw       []byte          // all of the part
}

// Show returns the form of a part for a model.
func (c *Contents) Show() wire.Shown {
	b := wire.ResourceBlock(c.Raw)
	return b.Show()
}

func (s *Session) ReadResource(ctx context.Context, uri string) ([]Contents, error) {
	raw, err := s.Request(ctx, readRequest(uri, nil))
	if err != nil {
		return nil, s.failed(fmt.Sprintf("resource %q", uri), err)
	}
	return readContents(raw), nil
}

func readContents(result []byte) (parts []Contents) {
	for v := range jsontext.Elements(jsontext.Member(result, "contents")) {
		parts = append(parts, ContentsOf(v))
	}
	return parts
}

// ContentsOf reads one part of a resource, an object.
func ContentsOf(v []byte) Contents {
	c := Contents{URI: jsontext.Text(jsontext.Member(v, "uri")), MIME: jsontext.Text(jsontext.Member(v, "mimeType")), Raw: v}
	if inline := jsontext.Member(v, "text"); jsontext.Kind(inline) == '"' {
		c.Text = json.RawMessage(inline)
	} else {
		c.Blob = []byte(jsontext.Text(jsontext.Member(v, "blob")))
	}
	return c
}

// ReadForModel reads a resource as a call of a tool: the parts are blocks of the result, and the
// errors are those of CallTool. held are the skills that the model uses: a file in one of them is
// read only if the skill lists it, and is checked.
func (s *Session) ReadForModel(ctx context.Context, uri string, ask wire.AskFunc, held []*Skill) (*wire.Result, error) {
	held = slices.DeleteFunc(slices.Clone(held), func(k *Skill) bool { return !k.Contains(uri) })
	for _, k := range held {
		if k.index(uri) < 0 {
			return nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: k.notListed(uri).Error()}
		}
	}
	raw, err := s.Request(ctx, readRequest(uri, ask))
	if err != nil {
		return nil, s.callError(err)
	}
	for _, k := range held {
		if _, err := k.Content(uri, readContents(raw)); err != nil {
			return nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: err.Error()}
		}
	}
	var blocks [][]byte
	for v := range jsontext.Elements(jsontext.Member(raw, "contents")) {
		blocks = append(blocks, wire.ResourceBlock(v).Raw)
	}
	r := &wire.Result{Raw: slices.Concat([]byte("["), bytes.Join(blocks, []byte(",")), []byte("]")), Meta: jsontext.Member(raw, "_meta")}
	r.Content = wire.ReadBlocks(r.Raw)
	return r, nil
}

func readRequest(uri string, ask wire.AskFunc) *Named {
	return &Named{"resources/read", uri, append(jsontext.AppendQuoted([]byte(`{"uri":`), uri), '}'), ask}
}

func (s *Session) HasResources() bool { return s.has("resources") }

type PromptMessage struct {
	Role  string       // "user" or "assistant"
	Text  string       // the texts of the blocks, joined with a newline
	Media []wire.Media // in order; the text describes each
}

// GetPrompt fills in a prompt. args must not be nil. The request is repeated after a lost
// session.
func (s *Session) GetPrompt(ctx context.Context, name string, args map[string]string) ([]PromptMessage, error) {
	arguments, _ := json.Marshal(args) // cannot fail
	params := fmt.Appendf(nil, `{"name":%s,"arguments":%s}`, jsontext.Quoted(name), arguments)
	raw, err := s.Request(ctx, &Named{Method: "prompts/get", Name: name, Params: params})
	if err != nil {
		return nil, s.failed(fmt.Sprintf("prompt %q", name), err)
	}
	var messages []PromptMessage
	for v := range jsontext.Elements(jsontext.Member(raw, "messages")) {
		m := PromptMessage{Role: jsontext.Text(jsontext.Member(v, "role"))}
		var parts []string
		for _, b := range wire.ReadBlocks(jsontext.Member(v, "content")) {
			shown := b.Show()
			parts = append(parts, jsontext.Unquote(shown.Text))
			if shown.Media != nil {
				m.Media = append(m.Media, *shown.Media)
			}
		}
		m.Text = strings.Join(parts, "\n")
		messages = append(messages, m)
	}
	return messages, nil
}

// A Named is a request for a named prompt, resource or task. Other requests have no Name.
type Named struct {
	Method, Name string
	Params       []byte
	Ask          wire.AskFunc // as in ToolCall
}

// Request sends a request within the deadlines of a call, and returns the result as received. If
// the server answered with an error, the returned error wraps a *wire.RPCError.
func (s *Session) Request(ctx context.Context, n *Named) ([]byte, error) {
	ctx, alive, stop := s.watch(ctx)
	defer stop()
	r := s.request(n.Method, n.Params, n.Ask)
	r.Name = n.Name
	r.Progress = func([]byte) { alive() }
	return s.exchangeWithInput(ctx, r)
}
