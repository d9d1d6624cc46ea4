package stream

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// LabelsMember is the member of a message in which a written conversation keeps its labels.
const LabelsMember = "labels"

// ChatMessage yields m in the chat-completions form, for outputs and for a later input. The
// content is a string; it is an array if there are several parts or one is not text, and null if
// there are calls and no text. Arguments are exactly as they came, if they are UTF-8. Other
// state that must go back to the endpoint is in StateMember.
//
// The form comes in pieces. No piece ends inside a character, and each is valid until the next.
// The flag is true for the last one.
func ChatMessage(m *Message) iter.Seq2[[]byte, bool] {
	return func(yield func([]byte, bool) bool) {
		goes := true
		w := &segments{full: func(piece []byte) { goes = goes && yield(piece, false) }}
		if chatMessageForm(w, m); goes {
			yield(w.cur, true)
		}
	}
}

func chatMessageForm(w *segments, m *Message) {
	w.put(`{"role":?`, string(m.Role))
	if m.Role == ToolRole {
		w.put(`,"tool_call_id":?`, m.CallID)
	}
	w.put(`?,"content":`, chatName(m))
	switch {
	case len(m.Calls) > 0 && len(m.Parts) == 0:
		w.str("null")
	case len(m.Parts) <= 1 && allText(m.Parts), m.Role == Assistant && allText(m.Parts):
		w.put("?", m.Parts)
	default:
		w.str("[")
		for i := range m.Parts {
			w.item()
			chatPart(w, &m.Parts[i])
		}
		w.str("]")
	}
	chatCalls(w, readableCalls(m.Calls), keptArguments)
	writeState(w, m)
	if len(m.Labels) > 0 {
		w.str(`,"` + LabelsMember + `":["` + strings.Join(m.Labels, `","`) + `"]`)
	}
	w.str("}")
}

// keptArguments returns arguments in the form of a written conversation. Arguments that are not
// UTF-8 were refused, and cannot be written as they came. U+FFFD before them makes sure that
// they are refused again when the conversation is resumed.
func keptArguments(arguments []byte) []byte {
	if utf8.Valid(arguments) {
		return arguments
	}
	return append([]byte("\ufffd"), arguments...)
}

// Unsent returns the type of the first part of m that the API cannot send in a
// message of this role, "" if it can send all of m. System messages are joined
// to one text, results are text and images; only chat has other parts.
func Unsent(api string, m *Message) string {
	takesImages := m.Role == User || m.Role == ToolRole
	takesAll := api == chatDialect.name && (m.Role == User || m.Role == Assistant)
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case isText(p), takesAll, takesImages && p.Image != nil:
		case p.Image != nil:
			return "image_url"
		default:
			return gjson.GetBytes(p.Raw, "type").Str
		}
	}
	return ""
}

func isSystem(m *Message) bool { return m.Role == System || m.Role == Developer }

func isText(p *Part) bool { return p.Image == nil && p.Raw == nil }

// isEmpty reports whether a part is text without a character, or only white space: some endpoints
// refuse both.
func isEmpty(p *Part) bool {
	inner := bytes.TrimSpace(bytes.Trim(p.JSON, `"`))
	if !isText(p) || strings.TrimSpace(p.Text) != "" || len(inner) > 0 && inner[0] != '\\' {
		return false
	}
	return strings.TrimSpace(jsontext.Text(p.JSON)) == ""
}

func allText(parts []Part) bool {
	return !slices.ContainsFunc(parts, func(p Part) bool { return !isText(&p) })
}

func otherParts(parts []Part) []Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return isText(&p) })
}

func hasText(parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool { return isText(&p) && !isEmpty(&p) })
}

// HasContent reports whether the parts of m hold a text, an image or a document.
func (m *Message) HasContent() bool { return !allText(m.Parts) || hasText(m.Parts) }

// isSilent reports whether a message of the user or the assistant says nothing, such as a reply of
// reasoning alone. Endpoints refuse a conversation with such a message, so requests leave it out.
func isSilent(m *Message) bool {
	return m.Omitted() || m.Role != ToolRole && len(m.Calls) == 0 && !m.HasContent() && len(m.Opaque.sent()) == 0
}

func hasImage(parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool { return p.Image != nil })
}

// systemMessages returns the system messages that hold text.
func systemMessages(messages []Message) (list []*Message) {
	for i := range messages {
		if m := &messages[i]; isSystem(m) && hasText(m.Parts) {
			list = append(list, m)
		}
	}
	return list
}

// systemMessage writes all system messages as one at the beginning: many chat templates refuse
// a second one, or one at another position.
func systemMessage(w *segments, messages []Message) {
	list := systemMessages(messages)
	if len(list) == 0 {
		return
	}
	w.str(`{"role":"system","content":"`)
	for i, m := range list {
		if i > 0 {
			w.str(`\n\n`)
		}
		innerText(w, m.Parts, "\n")
	}
	w.str(`"}`)
}

func plainText(parts []Part) string {
	var text strings.Builder
	for i := range parts {
		if p := &parts[i]; isText(p) {
			text.WriteString(p.Text + jsontext.Text(p.JSON))
		}
	}
	return text.String()
}

// joinedText writes the text parts as one JSON string, with joint between them.
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
	n := 0
	for i := range parts {
		p := &parts[i]
		if !isText(p) {
			continue
		}
		if n++; n > 1 {
			w.inner(joint)
		}
		if len(p.JSON) >= 2 {
			w.raw(p.JSON[1 : len(p.JSON)-1])
		} else {
			w.inner(p.Text)
		}
	}
}

// partList writes the parts that are not empty as a list. write writes one part.
func partList(w *segments, parts []Part, write func(*segments, *Part)) {
	w.str("[")
	for i := range parts {
		if p := &parts[i]; !isEmpty(p) {
			w.item()
			write(w, p)
		}
	}
	w.str("]")
}

func chatPart(w *segments, p *Part) {
	switch {
	case p.Image != nil && p.Image.isDocument():
		w.put(`{"type":"file","file":{"filename":?,"file_data":?}}`, p.Image.Name, p.Image)
	case p.Image != nil:
		w.put(`{"type":"image_url","image_url":{"url":??}}`, p.Image, filled(`,"detail":?`, p.Image.Detail))
	case p.Raw != nil:
		w.raw(p.Raw)
	default:
		w.put(`{"type":"text","text":?}`, []Part{*p})
	}
}

// imageURL writes the image as a URL literal. Its data becomes a data URL.
func imageURL(w *segments, img *Image) {
	if img.URL != "" {
		w.quoted(img.URL)
		return
	}
	w.str(`"data:`)
	w.inner(img.MIME)
	w.str(";base64,")
	w.plain(img.Data)
	w.str(`"`)
}
