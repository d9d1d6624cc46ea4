package stream

import (
	"bytes"
	"net/http"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// chatDialect is OpenAI's /v1/chat/completions as everybody serves it.
// What it writes follows model-wire section 4, what it reads section 2.
var chatDialect = dialect{
	name: "chat",
	path: "/chat/completions",
	names: names{
		conversation: []string{"messages"},
		maxTokens:    []string{"max_tokens", "max_completion_tokens"}, temperature: "temperature", effort: "reasoning_effort", schema: "response_format",
	},
	headers: func(h http.Header, key Key) {
		if key != "" {
			h.Set("Authorization", "Bearer "+string(key))
		}
	},
	encoder: func(_ *Request, o options) encoder { return &chatEncoder{options: o} },
	open:    openChat,
	end:     func(w *segments, _ *Request, _ options) { w.str("]}") },
	decoder: func(d *draft) decoder { return &chatDecoder{draft: d} },
}

func openChat(w *segments, r *Request, o options) {
	f := openFields(w, r)
	if r.Model != "" && f.field("model") {
		w.quoted(r.Model)
	}
	if f.field("stream") {
		w.str("true")
	}
	if !o.noStreamOptions && f.field("stream_options") {
		w.str(`{"include_usage":true}`)
	}
	if r.MaxTokens > 0 && f.field(chatTokenLimit(o)) {
		w.int(r.MaxTokens)
	}
	if r.Temperature != nil && f.field("temperature") {
		w.raw(r.Temperature)
	}
	if r.ReasoningEffort != "" && f.field("reasoning_effort") {
		w.quoted(r.ReasoningEffort)
	}
	if r.Schema != nil && f.field("response_format") {
		w.str(`{"type":"json_schema","json_schema":{"name":"answer","schema":`)
		w.raw(r.Schema)
		w.str("}}")
	}
	f.params("messages")
	if len(r.Tools) > 0 && f.field("tools") {
		for i := range r.Tools {
			w.listItem(i)
			chatTool(w, &r.Tools[i])
		}
		w.str("]")
	}
	f.comma()
	w.str(`"messages":[`)
	systemMessage(w, r.Messages)
}

// chatTokenLimit is the name of the token limit: OpenAI's reasoning models
// refuse the old one, most others do not know the new one.
func chatTokenLimit(o options) string {
	if o.newTokenLimit != o.swapTokenLimit {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

func chatTool(w *segments, t *Tool) {
	w.str(`{"type":"function","function":{"name":`)
	w.quoted(t.Name)
	if t.Description != "" {
		w.str(`,"description":`)
		w.quoted(t.Description)
	}
	w.str(`,"parameters":`)
	w.raw(toolSchema(t))
	w.str("}}")
}

// toolSchema returns the schema with properties, which OpenAI demands.
func toolSchema(t *Tool) []byte {
	schema := bytes.TrimSpace(t.Schema)
	if len(schema) == 0 {
		return []byte(`{"type":"object","properties":{}}`)
	}
	if gjson.GetBytes(schema, "properties").Exists() || schema[0] != '{' {
		return schema
	}
	inner := bytes.TrimSpace(schema[1 : len(schema)-1])
	if len(inner) == 0 {
		return []byte(`{"type":"object","properties":{}}`)
	}
	return append(append([]byte{'{'}, inner...), `,"properties":{}}`...)
}

// chatEncoder writes messages as section 4 of model-wire asks: nothing that
// is empty, tool results in one block, the images of results after that block.
type chatEncoder struct {
	options
	count  int       // messages written
	images []Message // results whose images are still to come
	turn   []Message // noToolRole: messages that become one of the user
}

func (e *chatEncoder) message(w *segments, m *Message) {
	if isSystem(m) {
		return
	}
	if e.noToolRole && (m.Role == ToolRole || m.Role == User) {
		e.turn = append(e.turn, *m)
		return
	}
	if m.Role != ToolRole && e.held() {
		e.finish(w)
		e.count++
		e.images, e.turn = nil, nil
	}
	e.separator(w)
	e.count++
	switch m.Role {
	case Assistant:
		e.assistant(w, m)
	case ToolRole:
		e.result(w, m)
	default:
		w.str(`{"role":"user"`)
		chatName(w, m)
		w.str(`,"content":`)
		chatContent(w, m.Parts)
		w.str("}")
	}
}

// chatName writes who speaks, or which tool answers.
func chatName(w *segments, m *Message) {
	if m.Name != "" {
		w.str(`,"name":`)
		w.quoted(m.Name)
	}
}

func (e *chatEncoder) separator(w *segments) {
	if e.count > 0 {
		w.str(",")
	}
}

// held reports whether a message of the user waits to be written.
func (e *chatEncoder) held() bool { return len(e.turn)+len(e.images) > 0 }

func (e *chatEncoder) finish(w *segments) {
	if !e.held() {
		return
	}
	e.separator(w)
	w.str(`{"role":"user"`)
	if len(e.turn) == 1 && e.turn[0].Role == User {
		chatName(w, &e.turn[0])
	}
	w.str(`,"content":`)
	switch {
	case len(e.images) > 0:
		w.str("[")
		for i := range e.images {
			writeTurnPart(w, i, "[toolpipe] images from "+e.images[i].Name+":", nil, e.images[i].Parts)
		}
		w.str("]")
	case len(e.turn) == 1 && e.turn[0].Role == User:
		chatContent(w, e.turn[0].Parts)
	default:
		chatTurn(w, e.turn)
	}
	w.str("}")
}

// chatTurn writes the content of several messages as that of one.
func chatTurn(w *segments, turn []Message) {
	plain := true
	for i := range turn {
		plain = plain && allText(turn[i].Parts)
	}
	if !plain {
		w.str("[")
		for i := range turn {
			writeTurnPart(w, i, turnHead(&turn[i]), turn[i].Parts, turn[i].Parts)
		}
		w.str("]")
		return
	}
	w.str(`"`)
	for i := range turn {
		if i > 0 {
			w.str(`\n\n`)
		}
		w.inner(turnHead(&turn[i]))
		innerText(w, turn[i].Parts, turnJoint(&turn[i]))
	}
	w.str(`"`)
}

// turnHead stands before the content of a tool message that has no role of
// its own (DESIGN part 3, tool_role).
func turnHead(m *Message) string {
	if m.Role == ToolRole {
		return "[tool: " + m.Name + "]\n"
	}
	return ""
}

func turnJoint(m *Message) string {
	if m.Role == ToolRole {
		return ""
	}
	return "\n"
}

// writeTurnPart writes a text part, then the images of others.
func writeTurnPart(w *segments, i int, head string, texts, others []Part) {
	if i > 0 {
		w.str(",")
	}
	w.str(`{"type":"text","text":"`)
	w.inner(head)
	innerText(w, texts, "")
	w.str(`"}`)
	otherParts(w, others)
}

// otherParts writes the parts that are no text, behind one that is.
func otherParts(w *segments, parts []Part) {
	for i := range parts {
		if !isText(&parts[i]) {
			w.str(",")
			chatPart(w, &parts[i])
		}
	}
}

func (e *chatEncoder) assistant(w *segments, m *Message) {
	w.str(`{"role":"assistant"`)
	chatName(w, m)
	w.str(`,"content":`)
	switch echoed := m.Opaque.dialect == "chat" && m.Opaque.text != nil; {
	case e.noToolRole && !allText(m.Parts):
		w.str(`[{"type":"text","text":`)
		callsAsText(w, m)
		w.str("}")
		otherParts(w, m.Parts)
		w.str("]")
	case e.noToolRole:
		callsAsText(w, m)
	case echoed:
		joinedText(w, m.Opaque.text, "")
	case !allText(m.Parts):
		chatContent(w, m.Parts)
	case len(m.Calls) > 0 && noText(m.Parts) && e.emptyContent:
		w.str(`""`)
	case len(m.Calls) > 0 && noText(m.Parts):
		w.str("null")
	default:
		joinedText(w, m.Parts, "")
	}
	if m.Opaque.dialect == "chat" && len(m.Opaque.json) > 0 {
		w.str(",")
		w.raw(m.Opaque.json)
	}
	if len(m.Calls) > 0 && !e.noToolRole {
		w.str(`,"tool_calls":[`)
		for i := range m.Calls {
			if i > 0 {
				w.str(",")
			}
			chatCall(w, &m.Calls[i], sentArguments(m.Calls[i].Arguments))
		}
		w.str("]")
	}
	w.str("}")
}

func chatCall(w *segments, c *Call, arguments []byte) {
	w.str(`{"id":`)
	w.quoted(c.ID)
	w.str(`,"type":"function","function":{"name":`)
	w.quoted(c.Name)
	w.str(`,"arguments":`)
	w.quotedBytes(arguments)
	w.str("}")
	if len(c.Extra) > 0 {
		w.str(",")
		w.raw(c.Extra)
	}
	w.str("}")
}

// sentArguments returns what may go back to an endpoint: one JSON object.
// Anything else makes the next request fail; the model learns of it from the
// call's answer.
func sentArguments(arguments []byte) []byte {
	if trimmed := bytes.TrimSpace(arguments); len(trimmed) > 0 && trimmed[0] == '{' && valid(trimmed) {
		return asUTF8(arguments)
	}
	return []byte("{}")
}

// asUTF8 returns b, with U+FFFD for what is not UTF-8.
func asUTF8(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\ufffd"))
}

// callsAsText writes an assistant message for templates without tools; it is
// never empty.
func callsAsText(w *segments, m *Message) {
	empty := noText(m.Parts)
	w.str(`"`)
	innerText(w, m.Parts, "")
	for i := range m.Calls {
		if !empty {
			w.str(`\n\n`)
		}
		empty = false
		w.inner("[call: " + m.Calls[i].Name + "]\n")
		w.inner(string(sentArguments(m.Calls[i].Arguments)))
	}
	if empty {
		w.str("(no text)")
	}
	w.str(`"`)
}

func (e *chatEncoder) result(w *segments, m *Message) {
	w.str(`{"role":"tool","tool_call_id":`)
	w.quoted(m.CallID)
	chatName(w, m)
	w.str(`,"content":`)
	if hasImage(m.Parts) {
		e.images = append(e.images, *m)
	}
	if noText(m.Parts) && hasImage(m.Parts) {
		w.str(`"[toolpipe] the images are in the next message"`)
	} else {
		joinedText(w, m.Parts, "")
	}
	w.str("}")
}
