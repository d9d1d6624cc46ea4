package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

// Prompt is a prompt of a server, as listed.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
}

// PromptArgument is an argument that a prompt takes. All are strings.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// PromptMessage is one message of a prompt.
type PromptMessage struct {
	Role string // "user" or "assistant"
	Text string // the text blocks, and a line for each other block, joined with a newline
}

// ListPrompts lists all pages, in the server's order. A server without
// prompts has none.
func (s *Session) ListPrompts(ctx context.Context) ([]Prompt, error) {
	var prompts []Prompt
	err := s.Items(ctx, Prompts, func(item []byte) { prompts = append(prompts, readPrompt(item)) })
	return prompts, err
}

func readPrompt(item []byte) Prompt {
	p := Prompt{
		Name:        jsontext.Text(jsontext.Member(item, "name")),
		Title:       capped(jsontext.Text(jsontext.Member(item, "title")), maxTitle),
		Description: capped(jsontext.Text(jsontext.Member(item, "description")), maxDescription),
	}
	for a := range jsontext.Elements(jsontext.Member(item, "arguments")) {
		p.Arguments = append(p.Arguments, PromptArgument{
			Name:        jsontext.Text(jsontext.Member(a, "name")),
			Description: jsontext.Text(jsontext.Member(a, "description")),
			Required:    jsontext.IsTrue(jsontext.Member(a, "required")),
		})
	}
	return p
}

// GetPrompt fills in a prompt. args are not nil. The request is repeated after a
// lost session.
func (s *Session) GetPrompt(ctx context.Context, name string, args map[string]string) ([]PromptMessage, error) {
	arguments, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	params := fmt.Appendf(nil, `{"name":%s,"arguments":%s}`, jsontext.Quoted(name), arguments)
	raw, err := s.Request(ctx, "prompts/get", name, params)
	if err != nil {
		return nil, s.failed(fmt.Sprintf("prompt %q", name), err)
	}
	var messages []PromptMessage
	for m := range jsontext.Elements(jsontext.Member(raw, "messages")) {
		var parts []string
		for _, b := range wire.ReadBlocks(jsontext.Member(m, "content")) {
			parts = append(parts, jsontext.Unquote(wire.BlockLiteral(b)))
		}
		messages = append(messages, PromptMessage{jsontext.Text(jsontext.Member(m, "role")), strings.Join(parts, "\n")})
	}
	return messages, nil
}

// Request sends a request for a named prompt or resource, within the deadlines of
// a call, and returns the result as it came. Where the server answered with an
// error, that wraps a *wire.RPCError.
func (s *Session) Request(ctx context.Context, method, name string, params []byte) ([]byte, error) {
	ctx, watch := s.watch(ctx)
	defer watch.stop()
	r := s.request(method, params)
	r.Name = name
	r.Progress = func([]byte) { watch.idle.restart() }
	return s.exchangeWithInput(ctx, r)
}
