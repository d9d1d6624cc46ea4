package stream

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// fields writes the members of a request object: what the user set by name
// wins over what the dialect would write.
type fields struct {
	w      *segments
	r      *Request
	first  bool
	merged []string // objects that hold what the user set in them
}

func openFields(w *segments, r *Request) *fields {
	w.str("{")
	return &fields{w: w, r: r, first: true}
}

// field begins the member, unless the user sets it.
func (f *fields) field(name string) bool {
	for i := range f.r.Params {
		if f.r.Params[i].Name == name {
			return false
		}
	}
	f.name(name)
	return true
}

// object begins the object of that name with what the user set in it. At
// least one member must follow, which the user does not set (AddParams).
func (f *fields) object(name string) {
	f.name(name)
	f.w.str("{")
	f.merged = append(f.merged, name)
	for i := len(f.r.Params) - 1; i >= 0; i-- {
		if p := f.r.Params[i]; p.Name == name {
			if inner := bytes.TrimSpace(p.Value); len(inner) > 2 && inner[0] == '{' {
				if inner = bytes.TrimSpace(inner[1 : len(inner)-1]); len(inner) > 0 {
					f.w.raw(inner)
					f.w.str(",")
				}
			}
			return
		}
	}
}

func (f *fields) name(name string) {
	f.comma()
	f.w.quoted(name)
	f.w.str(":")
}

func (f *fields) comma() {
	if !f.first {
		f.w.str(",")
	}
	f.first = false
}

// params writes what the user set, but not the conversation itself, which the
// dialect has under the given name; of one name the last counts.
func (f *fields) params(conversation string) {
	for i, p := range f.r.Params {
		if p.Name != conversation && !slices.Contains(f.merged, p.Name) && !paramLater(f.r.Params[i+1:], p.Name) {
			f.name(p.Name)
			f.w.raw(p.Value)
		}
	}
}

func paramLater(params []Param, name string) bool {
	for i := range params {
		if params[i].Name == name {
			return true
		}
	}
	return false
}

func isSystem(m *Message) bool { return m.Role == System || m.Role == Developer }

func hasSystem(messages []Message) bool {
	for i := range messages {
		if isSystem(&messages[i]) && !noText(messages[i].Parts) {
			return true
		}
	}
	return false
}

// systemMessage writes all system messages as one at the front, because chat
// templates take no other (model-wire section 4).
func systemMessage(w *segments, messages []Message) {
	if !hasSystem(messages) {
		return
	}
	w.str(`{"role":"system","content":"`)
	others := false
	first := true
	for i := range messages {
		m := &messages[i]
		switch {
		case !isSystem(m):
			others = true
		case !noText(m.Parts):
			if !first {
				w.str(`\n\n`)
			}
			first = false
			innerText(w, m.Parts, "\n")
		}
	}
	w.str(`"}`)
	if others {
		w.str(",")
	}
}

func allText(parts []Part) bool {
	for i := range parts {
		if parts[i].Image != nil || parts[i].Raw != nil {
			return false
		}
	}
	return true
}

func hasImage(parts []Part) bool {
	for i := range parts {
		if parts[i].Image != nil {
			return true
		}
	}
	return false
}

// Unsent returns the type of the first part of m that the API has no form for
// in such a message, "" if all of m can be sent. System messages are joined to
// one text, results are text and images; only chat has other parts.
func Unsent(api string, m *Message) string {
	for i := range m.Parts {
		p := &m.Parts[i]
		sent := isText(p)
		switch m.Role {
		case User:
			sent = sent || p.Image != nil || api == chatDialect.name
		case Assistant:
			sent = sent || api == chatDialect.name
		case ToolRole:
			sent = sent || p.Image != nil
		}
		switch {
		case sent:
		case p.Image != nil:
			return "image_url"
		default:
			return gjson.GetBytes(p.Raw, "type").Str
		}
	}
	return ""
}

func noText(parts []Part) bool {
	for i := range parts {
		if isText(&parts[i]) && (parts[i].Text != "" || len(parts[i].JSON) > 2) {
			return false
		}
	}
	return true
}

func isText(p *Part) bool { return p.Image == nil && p.Raw == nil }

// joinedText writes the text parts as one JSON string.
func joinedText(w *segments, parts []Part, joint string) {
	if len(parts) == 1 && parts[0].JSON != nil {
		w.raw(parts[0].JSON)
		return
	}
	w.str(`"`)
	innerText(w, parts, joint)
	w.str(`"`)
}

// innerText is joinedText without the quotes.
func innerText(w *segments, parts []Part, joint string) {
	first := true
	for i := range parts {
		p := &parts[i]
		if !isText(p) {
			continue
		}
		if !first {
			w.inner(joint)
		}
		first = false
		if len(p.JSON) >= 2 {
			w.raw(p.JSON[1 : len(p.JSON)-1])
		} else {
			w.inner(p.Text)
		}
	}
}

// chatContent writes the content of a message of the user: a string as long
// as all of it is text, since some endpoints take nothing else.
func chatContent(w *segments, parts []Part) {
	if allText(parts) {
		joinedText(w, parts, "\n")
		return
	}
	n := 0
	for i := range parts {
		if isText(&parts[i]) && noText(parts[i:i+1]) {
			continue
		}
		w.listItem(n)
		n++
		chatPart(w, &parts[i])
	}
	w.str("]")
}

func chatPart(w *segments, p *Part) {
	switch {
	case p.Image != nil:
		w.str(`{"type":"image_url","image_url":{"url":`)
		imageURL(w, p.Image)
		if p.Image.Detail != "" {
			w.str(`,"detail":`)
			w.quoted(p.Image.Detail)
		}
		w.str("}}")
	case p.Raw != nil:
		w.raw(p.Raw)
	default:
		w.str(`{"type":"text","text":`)
		joinedText(w, []Part{*p}, "")
		w.str("}")
	}
}

// imageURL writes the image as a URL literal, its data as a data URL.
func imageURL(w *segments, img *Image) {
	if img.URL != "" {
		w.quoted(img.URL)
		return
	}
	w.str(`"data:`)
	w.inner(img.MIME)
	w.str(";base64,")
	w.rawString(img.Data)
	w.str(`"`)
}

// AppendChatMessage appends m in the chat-completions form, as `-o messages`
// prints it and an input parser reads it: content a string, or an array of
// parts where there are several or one is no text; null beside calls without
// text; arguments exactly as they came, if they are UTF-8. Reasoning is left out.
func AppendChatMessage(dst []byte, m *Message) []byte {
	w := &segments{cur: dst}
	w.str(`{"role":`)
	w.quoted(string(m.Role))
	if m.Role == ToolRole {
		w.str(`,"tool_call_id":`)
		w.quoted(m.CallID)
	}
	if m.Name != "" {
		w.str(`,"name":`)
		w.quoted(m.Name)
	}
	w.str(`,"content":`)
	switch {
	case len(m.Calls) > 0 && len(m.Parts) == 0:
		w.str("null")
	case len(m.Parts) <= 1 && allText(m.Parts), m.Role == Assistant && allText(m.Parts):
		joinedText(w, m.Parts, "")
	default:
		w.str("[")
		for i := range m.Parts {
			if i > 0 {
				w.str(",")
			}
			chatPart(w, &m.Parts[i])
		}
		w.str("]")
	}
	if len(m.Calls) > 0 {
		w.str(`,"tool_calls":[`)
		for i := range m.Calls {
			if i > 0 {
				w.str(",")
			}
			chatCall(w, &m.Calls[i], keptArguments(m.Calls[i].Arguments))
		}
		w.str("]")
	}
	w.str("}")
	return w.flat()
}

// keptArguments returns arguments as a conversation keeps them. What is not
// UTF-8 was refused and cannot be written as it came; the character before it
// sees to it that it is refused again when the conversation is resumed.
func keptArguments(arguments []byte) []byte {
	if utf8.Valid(arguments) {
		return arguments
	}
	return append([]byte("\ufffd"), arguments...)
}
