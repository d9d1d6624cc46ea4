package stream

import (
	"bytes"
	"net/http"
	"strings"

	"toolpipe/stream/jsontext"
)

// messagesDialect is Anthropic's /v1/messages.
var messagesDialect = dialect{
	name: "messages",
	path: "/messages",
	names: names{
		conversation: []string{"messages", "system"},
		maxTokens:    []string{"max_tokens"}, temperature: "temperature", effort: "output_config.effort", schema: "output_config.format",
	},
	headers: func(h http.Header, key Key) {
		h.Set("Anthropic-Version", "2023-06-01")
		if key != "" {
			h.Set("X-Api-Key", string(key))
		}
	},
	encoder: func(r *Request, o options) encoder { return &messagesEncoder{options: o, cache: len(r.Tools) > 0} },
	open:    openMessages,
	end:     func(w *segments, _ *Request, _ options) { w.str("]}") },
	decoder: func(d *draft) decoder { return &messagesDecoder{draft: d} },
}

// The API demands a token limit. The first is one that current models take;
// a model that takes less says so, and then the second is sent.
const (
	messagesLimit      = 32000
	messagesSmallLimit = 4096
)

// cacheMark ends what the endpoint may keep for the next round.
const cacheMark = `,"cache_control":{"type":"ephemeral"}`

func openMessages(w *segments, r *Request, o options) {
	f := openFields(w, r)
	if r.Model != "" && f.field("model") {
		w.quoted(r.Model)
	}
	if f.field("stream") {
		w.str("true")
	}
	if f.field("max_tokens") {
		switch {
		case r.MaxTokens > 0:
			w.int(r.MaxTokens)
		case o.swapTokenLimit:
			w.int(messagesSmallLimit)
		default:
			w.int(messagesLimit)
		}
	}
	if r.Temperature != nil && f.field("temperature") {
		w.raw(r.Temperature)
	}
	if r.ReasoningEffort != "" || r.Schema != nil {
		f.object("output_config")
		messagesOutput(w, r)
	}
	f.params("messages")
	system := hasSystem(r.Messages)
	if len(r.Tools) > 0 && f.field("tools") {
		for i := range r.Tools {
			w.listItem(i)
			t := &r.Tools[i]
			w.str(`{"name":`)
			w.quoted(t.Name)
			if t.Description != "" {
				w.str(`,"description":`)
				w.quoted(t.Description)
			}
			w.str(`,"input_schema":`)
			w.raw(toolSchema(t))
			if i == len(r.Tools)-1 && !system {
				w.str(cacheMark)
			}
			w.str("}")
		}
		w.str("]")
	}
	if system && f.field("system") {
		messagesSystem(w, r)
	}
	f.comma()
	w.str(`"messages":[`)
}

// messagesOutput writes the members of output_config and its end.
func messagesOutput(w *segments, r *Request) {
	if r.ReasoningEffort != "" {
		w.str(`"effort":`)
		w.quoted(r.ReasoningEffort)
	}
	if r.Schema != nil {
		if r.ReasoningEffort != "" {
			w.str(",")
		}
		w.str(`"format":{"type":"json_schema","schema":`)
		w.raw(r.Schema)
		w.str("}")
	}
	w.str("}")
}

// messagesSystem writes all system messages as blocks; the last ends what is
// the same in each round.
func messagesSystem(w *segments, r *Request) {
	n := 0
	for i := range r.Messages {
		m := &r.Messages[i]
		if !isSystem(m) || noText(m.Parts) {
			continue
		}
		w.listItem(n)
		n++
		w.str(`{"type":"text","text":`)
		joinedText(w, m.Parts, "\n")
		if len(r.Tools) > 0 && !hasSystem(r.Messages[i+1:]) {
			w.str(cacheMark)
		}
		w.str("}")
	}
	w.str("]")
}

// messagesEncoder writes turns: everything between two messages of the
// assistant is one message of the user, results of tools first.
type messagesEncoder struct {
	options
	cache  bool // the first message of the user ends a stable prefix
	count  int
	blocks int  // of the message of the user that is open
	marked bool // the cache mark is set
}

func (e *messagesEncoder) message(w *segments, m *Message) {
	switch {
	case isSystem(m):
	case m.Role == Assistant:
		e.assistant(w, m)
	case m.Role == ToolRole && !e.noToolRole:
		e.result(w, m)
	default:
		e.user(w, m)
	}
}

func (e *messagesEncoder) finish(w *segments) {
	if e.blocks > 0 {
		w.str("]}")
	}
}

// block begins a block of a message of the user.
func (e *messagesEncoder) block(w *segments) {
	switch {
	case e.blocks > 0:
		w.str(",")
	case e.count > 0:
		w.str(`,{"role":"user","content":[`)
	default:
		w.str(`{"role":"user","content":[`)
	}
	if e.blocks == 0 {
		e.count++
	}
	e.blocks++
}

func (e *messagesEncoder) user(w *segments, m *Message) {
	last := -1
	for i := range m.Parts {
		if messagesTakes(&m.Parts[i]) {
			last = i
		}
	}
	for i := range m.Parts {
		if p := &m.Parts[i]; messagesTakes(p) {
			e.block(w)
			mark := e.cache && !e.marked && m.Role == User && i == last
			e.marked = e.marked || mark
			messagesPart(w, p, turnHead(m), mark)
		}
	}
}

// messagesTakes leaves out parts that only chat knows, and empty text, which
// is refused.
func messagesTakes(p *Part) bool {
	return p.Image != nil || (p.Raw == nil && (p.Text != "" || len(p.JSON) > len(`""`)))
}

// messagesPart writes a text or image block.
func messagesPart(w *segments, p *Part, head string, last bool) {
	switch {
	case p.Image == nil:
		w.str(`{"type":"text","text":"`)
		w.inner(head)
		innerText(w, []Part{*p}, "")
		w.str(`"`)
	case p.Image.URL != "" && !strings.HasPrefix(p.Image.URL, "data:"):
		w.str(`{"type":"image","source":{"type":"url","url":`)
		w.quoted(p.Image.URL)
		w.str("}")
	default:
		mime, data := imageData(p.Image)
		w.str(`{"type":"image","source":{"type":"base64","media_type":`)
		w.quoted(mime)
		w.str(`,"data":"`)
		w.rawString(data)
		w.str(`"}`)
	}
	if last {
		w.str(cacheMark)
	}
	w.str("}")
}

// imageData takes a data URL apart.
func imageData(img *Image) (mime, data string) {
	if head, data, ok := strings.Cut(strings.TrimPrefix(img.URL, "data:"), ","); ok && img.URL != "" {
		mime, _, _ = strings.Cut(head, ";")
		return mime, data
	}
	return img.MIME, img.Data
}

func (e *messagesEncoder) result(w *segments, m *Message) {
	e.block(w)
	w.str(`{"type":"tool_result","tool_use_id":"`)
	w.str(messagesID(m.CallID))
	w.str(`"`)
	if m.Failed {
		w.str(`,"is_error":true`)
	}
	switch {
	case hasImage(m.Parts):
		w.str(`,"content":[`)
		for i, n := 0, 0; i < len(m.Parts); i++ {
			if messagesTakes(&m.Parts[i]) {
				if n++; n > 1 {
					w.str(",")
				}
				messagesPart(w, &m.Parts[i], "", false)
			}
		}
		w.str("]")
	case !noText(m.Parts):
		w.str(`,"content":`)
		joinedText(w, m.Parts, "")
	}
	w.str("}")
}

// messagesID makes an id fit: the API takes letters, digits, _ and -.
func messagesID(id string) string {
	fit := func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}
	return strings.Map(fit, id)
}

func (e *messagesEncoder) assistant(w *segments, m *Message) {
	echo := m.Opaque.dialect == "messages" && len(m.Opaque.json) > 0
	if !echo && noText(m.Parts) && (len(m.Calls) == 0) {
		return // an empty message is refused
	}
	e.finish(w)
	e.blocks = 0
	if e.count > 0 {
		w.str(",")
	}
	e.count++
	w.str(`{"role":"assistant","content":`)
	switch {
	case e.noToolRole:
		callsAsText(w, m)
	case echo:
		w.str("[")
		w.raw(m.Opaque.json)
		w.str("]")
	case len(m.Calls) == 0:
		joinedText(w, m.Parts, "")
	default:
		w.str("[")
		if !noText(m.Parts) {
			w.str(`{"type":"text","text":`)
			joinedText(w, m.Parts, "")
			w.str("},")
		}
		for i := range m.Calls {
			if i > 0 {
				w.str(",")
			}
			w.cur = appendToolUse(w.cur, &m.Calls[i], nil)
		}
		w.str("]")
	}
	w.str("}")
}

// appendToolUse writes a call. Its Extra may be another dialect's, and what
// the API does not know it refuses.
func appendToolUse(dst []byte, c *Call, others []member) []byte {
	dst = append(dst, `{"type":"tool_use","id":"`...)
	dst = append(dst, messagesID(c.ID)...)
	dst = append(dst, `","name":`...)
	dst = jsontext.AppendQuoted(dst, c.Name)
	dst = append(dst, `,"input":`...)
	dst = append(dst, bytes.TrimSpace(sentArguments(c.Arguments))...)
	if len(others) > 0 {
		dst = append(append(dst, ','), joinMembers(others)...)
	}
	return append(dst, '}')
}
