package run

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"toolpipe/stream"
	"toolpipe/stream/jsontext"
)

// inputError is an error about a place of standard input, by byte offset.
func inputError(v value, format string, args ...any) error {
	return usage("standard input: byte %d: %s", v.from, fmt.Sprintf(format, args...))
}

func parseMessagesDocument(data []byte) (value, error) {
	if err := jsontext.Check(data, jsontext.Options{}); err != nil {
		if s, ok := errors.AsType[*jsontext.SyntaxError](err); ok {
			var hints []string
			if utf8.Valid(data) && len(bytes.TrimSpace(data)) > 0 {
				hints = []string{"--input text sends it as one user message"}
			}
			return value{}, usageError(hints, "standard input: byte %d: %s", s.Offset, s.Message)
		}
		return value{}, usage("standard input: %v", err)
	}
	d := &document{"standard input", data}
	at := d.space(0)
	return value{d, at, d.skip(at)}, nil
}

// parseMessages reads a message array in the chat-completions form, or an
// object with a member messages. Calls and their answers must fit: each tool
// message answers a call of the assistant message before it, each call is
// answered, except those of the last assistant message when only tool
// messages follow it. These are left open, to be run first.
func parseMessages(doc value) ([]stream.Message, error) {
	if doc.kind() == '{' {
		m, ok := doc.get("messages")
		if !ok {
			return nil, inputError(doc, "an object without messages")
		}
		doc = m
	}
	if doc.kind() != '[' {
		return nil, inputError(doc, "not an array of messages")
	}
	var msgs []stream.Message
	open := map[string]value{} // calls of the last assistant message without an answer
	for _, e := range doc.elements() {
		m, err := parseMessage(e)
		if err != nil {
			return nil, err
		}
		if m.Role == stream.ToolRole {
			if _, ok := open[m.CallID]; !ok {
				return nil, inputError(e, "a tool message without its call: no open call has the id %q", m.CallID)
			}
			delete(open, m.CallID)
		} else if len(open) > 0 {
			ids := slices.SortedFunc(maps.Keys(open), func(a, b string) int { return open[a].from - open[b].from })
			return nil, inputError(open[ids[0]], "the call %q has no answer", ids[0])
		}
		if len(m.Calls) > 0 {
			calls, _ := e.get("tool_calls")
			for i, at := range calls.elements() {
				if _, twice := open[m.Calls[i].ID]; twice {
					return nil, inputError(e, "two calls have the id %q", m.Calls[i].ID)
				}
				open[m.Calls[i].ID] = at
			}
		}
		msgs = append(msgs, m)
	}
	if len(msgs) == 0 {
		return nil, inputError(doc, "no message")
	}
	return msgs, nil
}

// allSent is the error of a part that the API has no form for: what the user
// gave is sent or refused, never left out in silence.
func allSent(msgs []stream.Message, api string) error {
	for i := range msgs {
		if kind := stream.Unsent(api, &msgs[i]); kind != "" {
			return usage("standard input: message %d: a part of type %q in a message of role %s cannot be sent by --api %s", i+1, kind, msgs[i].Role, api)
		}
	}
	return nil
}

func parseMessage(e value) (m stream.Message, err error) {
	if e.kind() != '{' {
		return m, inputError(e, "a message that is not an object")
	}
	role, ok := e.get("role")
	if !ok {
		return m, inputError(e, "a message without a role")
	}
	switch m.Role = stream.Role(role.text()); m.Role {
	case stream.System, stream.Developer, stream.User, stream.Assistant, stream.ToolRole:
	default:
		return m, inputError(role, "unknown role %s", role.short())
	}
	for _, f := range e.members() {
		switch f.key {
		case "content":
			m.Parts, err = parseContent(f.value)
		case "tool_calls":
			if m.Role != stream.Assistant && !f.isNull() {
				return m, inputError(f.value, "only an assistant message has tool_calls")
			}
			m.Calls, err = parseCalls(f.value)
		case "function_call":
			if !f.isNull() {
				return m, inputError(f.value, "function_call is not read; it is tool_calls since 2023-11, each with an id")
			}
		case "tool_call_id":
			m.CallID = f.text()
		case "name":
			m.Name = f.text()
		}
		if err != nil {
			return m, err
		}
	}
	content, ok := e.get("content")
	if (!ok || content.isNull()) && len(m.Calls) == 0 {
		return m, inputError(e, "a message without content")
	}
	if m.Role == stream.ToolRole && m.CallID == "" {
		return m, inputError(e, "a tool message without tool_call_id")
	}
	return m, nil
}

func parseContent(v value) ([]stream.Part, error) {
	switch v.kind() {
	case 'n':
		return nil, nil
	case '"':
		return []stream.Part{{JSON: v.raw()}}, nil
	case '[':
	default:
		return nil, inputError(v, "content that is neither a string nor an array of parts")
	}
	var parts []stream.Part
	for _, e := range v.elements() {
		kind, ok := e.get("type")
		if !ok {
			return nil, inputError(e, "a part without a type")
		}
		p := stream.Part{Raw: e.raw()}
		switch kind.text() {
		case "text":
			text, ok := e.get("text")
			if !ok || text.kind() != '"' {
				return nil, inputError(e, "a text part without a text")
			}
			p = stream.Part{JSON: text.raw()}
		case "image_url":
			img, err := parseImage(e)
			if err != nil {
				return nil, err
			}
			p = stream.Part{Image: img}
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func parseImage(e value) (*stream.Image, error) {
	u, ok := e.get("image_url")
	img := &stream.Image{}
	if ok && u.kind() == '{' {
		if d, ok := u.get("detail"); ok {
			img.Detail = d.text()
		}
		u, ok = u.get("url")
	}
	if !ok || u.kind() != '"' {
		return nil, inputError(e, "an image_url part without a URL")
	}
	img.URL = u.text()
	if head, data, ok := strings.Cut(img.URL, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		img.MIME, img.Data, img.URL = head[len("data:"):], data, ""
	}
	return img, nil
}

func parseCalls(v value) ([]stream.Call, error) {
	if v.kind() != '[' && !v.isNull() {
		return nil, inputError(v, "tool_calls is not an array")
	}
	var calls []stream.Call
	for _, e := range v.elements() {
		fn, ok := e.get("function")
		if !ok {
			return nil, inputError(e, "a call without a function")
		}
		c := stream.Call{}
		for _, m := range e.members() {
			switch m.key {
			case "id":
				c.ID = m.text()
			case "function", "type", "index":
			default: // unknown members go back with the call (model-wire.md section 4)
				if c.Extra != nil {
					c.Extra = append(c.Extra, ',')
				}
				c.Extra = append(append(append(c.Extra, m.at.raw()...), ':'), m.raw()...)
			}
		}
		if name, ok := fn.get("name"); ok {
			c.Name = name.text()
		}
		if args, ok := fn.get("arguments"); ok && args.kind() == '"' {
			c.Arguments = []byte(args.text())
		} else if ok && !args.isNull() {
			c.Arguments = bytes.Clone(args.raw())
		}
		if c.ID == "" || c.Name == "" {
			return nil, inputError(e, "a call without an id or a name")
		}
		calls = append(calls, c)
	}
	return calls, nil
}
