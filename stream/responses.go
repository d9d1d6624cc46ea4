package stream

import (
	"net/http"

	"toolpipe/stream/jsontext"
)

// responsesDialect is OpenAI's /v1/responses, without state on the server.
var responsesDialect = dialect{
	name: "responses",
	path: "/responses",
	names: names{
		conversation: []string{"input"},
		maxTokens:    []string{"max_output_tokens"}, temperature: "temperature", effort: "reasoning.effort", schema: "text.format",
	},
	headers: func(h http.Header, key Key) {
		if key != "" {
			h.Set("Authorization", "Bearer "+string(key))
		}
	},
	encoder: func(_ *Request, o options) encoder { return &responsesEncoder{options: o} },
	open:    openResponses,
	end:     func(w *segments, _ *Request, _ options) { w.str("]}") },
	decoder: func(d *draft) decoder { return &responsesDecoder{draft: d} },
}

func openResponses(w *segments, r *Request, o options) {
	f := openFields(w, r)
	if r.Model != "" && f.field("model") {
		w.quoted(r.Model)
	}
	if f.field("stream") {
		w.str("true")
	}
	if f.field("store") {
		w.str("false")
	}
	if r.MaxTokens > 0 && f.field("max_output_tokens") {
		w.int(r.MaxTokens)
	}
	if r.Temperature != nil && f.field("temperature") {
		w.raw(r.Temperature)
	}
	if r.ReasoningEffort != "" {
		f.object("reasoning")
		w.str(`"effort":`)
		w.quoted(r.ReasoningEffort)
		w.str("}")
	}
	if r.Schema != nil {
		f.object("text")
		w.str(`"format":{"type":"json_schema","name":"answer","schema":`)
		w.raw(r.Schema)
		w.str("}}")
	}
	if len(r.Tools) > 0 && !o.noInclude && f.field("include") {
		w.str(`["reasoning.encrypted_content"]`)
	}
	f.params("input")
	if len(r.Tools) > 0 && f.field("tools") {
		for i := range r.Tools {
			w.listItem(i)
			t := &r.Tools[i]
			w.str(`{"type":"function","name":`)
			w.quoted(t.Name)
			if t.Description != "" {
				w.str(`,"description":`)
				w.quoted(t.Description)
			}
			w.str(`,"parameters":`)
			w.raw(toolSchema(t))
			w.str(`,"strict":false}`)
		}
		w.str("]")
	}
	f.comma()
	w.str(`"input":[`)
	systemMessage(w, r.Messages)
}

// responsesEncoder writes input items; each message is some of them.
type responsesEncoder struct {
	options
	count int
	turn  []Message // noToolRole: messages that become one of the user
}

func (e *responsesEncoder) item(w *segments) {
	if e.count > 0 {
		w.str(",")
	}
	e.count++
}

func (e *responsesEncoder) message(w *segments, m *Message) {
	if isSystem(m) {
		return
	}
	if e.noToolRole && (m.Role == ToolRole || m.Role == User) {
		e.turn = append(e.turn, *m)
		return
	}
	if len(e.turn) > 0 {
		e.finish(w)
		e.count++
		e.turn = nil
	}
	switch m.Role {
	case Assistant:
		e.assistant(w, m)
	case ToolRole:
		e.item(w)
		w.str(`{"type":"function_call_output","call_id":`)
		w.quoted(m.CallID)
		w.str(`,"output":`)
		responsesContent(w, m.Parts, "")
		w.str("}")
	default:
		e.item(w)
		w.str(`{"role":"user","content":`)
		responsesContent(w, m.Parts, "\n")
		w.str("}")
	}
}

func (e *responsesEncoder) finish(w *segments) {
	if len(e.turn) == 0 {
		return
	}
	if e.count > 0 {
		w.str(",")
	}
	var parts []Part
	for i := range e.turn {
		if i > 0 {
			parts = append(parts, Part{Text: "\n\n"})
		}
		parts = append(parts, Part{Text: turnHead(&e.turn[i])})
		parts = append(parts, e.turn[i].Parts...)
	}
	w.str(`{"role":"user","content":`)
	responsesContent(w, parts, "")
	w.str("}")
}

func (e *responsesEncoder) assistant(w *segments, m *Message) {
	switch {
	case e.noToolRole:
		e.item(w)
		w.str(`{"role":"assistant","content":`)
		callsAsText(w, m)
		w.str("}")
		return
	case m.Opaque.dialect == "responses" && len(m.Opaque.json) > 0:
		e.item(w)
		w.raw(m.Opaque.json)
		return
	}
	if !noText(m.Parts) {
		e.item(w)
		w.str(`{"role":"assistant","content":`)
		joinedText(w, m.Parts, "")
		w.str("}")
	}
	for i := range m.Calls {
		e.item(w)
		w.cur = appendFunctionCall(w.cur, &m.Calls[i])
	}
}

func appendFunctionCall(dst []byte, c *Call) []byte {
	dst = append(dst, `{"type":"function_call","call_id":`...)
	dst = jsontext.AppendQuoted(dst, c.ID)
	dst = append(dst, `,"name":`...)
	dst = jsontext.AppendQuoted(dst, c.Name)
	dst = append(dst, `,"arguments":`...)
	dst = jsontext.AppendQuoted(dst, sentArguments(c.Arguments))
	return append(dst, '}')
}

// responsesContent writes text as a string, and with images as a list.
func responsesContent(w *segments, parts []Part, joint string) {
	if !hasImage(parts) {
		joinedText(w, parts, joint)
		return
	}
	n := 0
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Image != nil:
			w.listItem(n)
			w.str(`{"type":"input_image","image_url":`)
			imageURL(w, p.Image)
			w.str("}")
		case p.Raw != nil || noText(parts[i:i+1]):
			continue
		default:
			w.listItem(n)
			w.str(`{"type":"input_text","text":`)
			joinedText(w, parts[i:i+1], "")
			w.str("}")
		}
		n++
	}
	w.str("]")
}
