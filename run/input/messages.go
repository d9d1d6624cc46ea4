package input

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"toolpipe/approve"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

const stdin = "standard input"

// inputError is an error with a position: a byte offset in standard input, or a line of a file.
func inputError(v document.Value, format string, args ...any) error {
	where := v.Origin()
	if v.Doc.Name() == stdin {
		where = fmt.Sprintf("%s: byte %d", stdin, v.From)
	}
	return failure.Usage("%s: %s", where, fmt.Sprintf(format, args...))
}

func parseMessagesDocument(data []byte) (document.Value, error) {
	doc, err := document.Parse(stdin, data)
	if err != nil && utf8.Valid(data) && len(bytes.TrimSpace(data)) > 0 {
		failure.Of(err).Hints = []string{"--input text sends it as one user message"}
	}
	return doc, err
}

// parseMessages reads a message array in the chat-completions form, or an object with a member
// messages. withState says whether to read the state that an endpoint needs back.
func parseMessages(doc document.Value, withState bool) ([]stream.Message, error) {
	if doc.Kind() == '{' {
		m, ok := doc.Get("messages")
		if !ok {
			return nil, inputError(doc, "an object without messages")
		}
		doc = m
	}
	if doc.Kind() != '[' {
		return nil, inputError(doc, "not an array of messages")
	}
	msgs, err := messagesOf(doc, withState)
	if err == nil && len(msgs) == 0 {
		return nil, inputError(doc, "no message")
	}
	return msgs, err
}

// messagesOf reads an array of messages. It counts them first: a growing slice would be in memory
// several times.
func messagesOf(array document.Value, withState bool) ([]stream.Message, error) {
	const more = 8 // added before them: a prompt, a system message, a round of calls
	n := 0
	for range array.EachElement() {
		n++
	}
	msgs := make([]stream.Message, 0, n+more)
	var sequence Sequence
	for e := range array.EachElement() {
		m, err := Message(e)
		if err != nil {
			return nil, err
		}
		if m.Role == stream.User && !m.HasContent() {
			content, _ := e.Get("content")
			return nil, inputError(content, "a user message without text")
		}
		msgs = append(msgs, m)
		if err := sequence.Next(&msgs[len(msgs)-1], e); err != nil {
			return nil, err
		}
	}
	stream.UniqueIDs(msgs)
	if !withState {
		return msgs, nil
	}
	i := 0
	for e := range array.EachElement() {
		if err := ReadState(&msgs[i], e); err != nil {
			return nil, err
		}
		i++
	}
	return msgs, nil
}

// A Sequence checks the messages of a conversation one by one. Each tool message must answer a call
// of the assistant message before it, and each call must be answered. Calls of the last assistant
// message may stay open if only tool messages follow it: the run makes them first.
type Sequence struct {
	open map[string]document.Value // unanswered calls of the last assistant message
}

// Next checks the next message m, which was read from e.
func (s *Sequence) Next(m *stream.Message, e document.Value) error {
	if m.Role == stream.ToolRole {
		if _, ok := s.open[m.CallID]; !ok {
			return inputError(e, "a tool message without its call: no open call has the id %q", m.CallID)
		}
		delete(s.open, m.CallID)
	} else if len(s.open) > 0 {
		ids := slices.SortedFunc(maps.Keys(s.open), func(a, b string) int { return s.open[a].From - s.open[b].From })
		return inputError(s.open[ids[0]], "the call %q has no answer", ids[0])
	}
	if len(m.Calls) == 0 {
		return nil
	}
	if s.open == nil {
		s.open = map[string]document.Value{}
	}
	calls, _ := e.Get("tool_calls")
	i := 0
	for at := range calls.EachElement() {
		if _, twice := s.open[m.Calls[i].ID]; twice {
			return inputError(e, "two calls have the id %q", m.Calls[i].ID)
		}
		s.open[m.Calls[i].ID] = at
		i++
	}
	return nil
}

// ReadState reads the state that an endpoint needs back with the message m, which was read from e.
func ReadState(m *stream.Message, e document.Value) error {
	state, ok := e.Get(stream.StateMember)
	if !ok || state.IsNull() || m.Role != stream.Assistant {
		return nil
	}
	if err := m.RestoreState(state.Raw()); err != nil {
		return inputError(state, "%s %v", stream.StateMember, err)
	}
	return nil
}

// AllSent refuses a conversation with a part that the API cannot represent: a part from the user is
// never dropped silently. from names the source of the conversation, "" for standard input.
func AllSent(msgs []stream.Message, api, from string) error {
	for i := range msgs {
		if kind := stream.Unsent(api, &msgs[i]); kind != "" {
			return failure.Usage("%s: message %d: a part of type %q in a message of role %s cannot be sent by --api %s", cmp.Or(from, stdin), i+1, kind, msgs[i].Role, api)
		}
	}
	return nil
}

// FailedMember is the member of a tool message that is true if the tool reported an error or did
// not run. Some endpoints get it.
const FailedMember = "is_error"

// Message reads one message, without the state that an endpoint needs back.
func Message(e document.Value) (m stream.Message, err error) {
	if e.Kind() != '{' {
		return m, inputError(e, "a message that is not an object")
	}
	role, ok := e.Get("role")
	if !ok {
		return m, inputError(e, "a message without a role")
	}
	for _, known := range [...]stream.Role{stream.System, stream.Developer, stream.User, stream.Assistant, stream.ToolRole} {
		if role.Kind() == '"' && jsontext.Is(role.Raw(), string(known)) {
			m.Role = known
		}
	}
	if m.Role == "" {
		return m, inputError(role, "unknown role %s", role.Short())
	}
	for f := range e.EachMember() {
		switch f.Key {
		case "content":
			m.Parts, err = parseContent(f.Value)
		case "tool_calls":
			if m.Role != stream.Assistant && !f.IsNull() {
				return m, inputError(f.Value, "only an assistant message has tool_calls")
			}
			m.Calls, err = parseCalls(f.Value)
		case "function_call":
			if !f.IsNull() {
				return m, inputError(f.Value, "function_call is not read; it is tool_calls since 2023-11, each with an id")
			}
		case "tool_call_id":
			m.CallID = f.Text()
		case "name":
			m.Name = f.Text()
		case FailedMember:
			m.Failed = m.Role == stream.ToolRole && jsontext.IsTrue(f.Raw())
		case stream.LabelsMember:
			if m.Labels, ok = labelsOf(f.Value); !ok {
				return m, inputError(f.Value, `labels is not a list of "private" and "untrusted"`)
			}
		}
		if err != nil {
			return m, err
		}
	}
	content, ok := e.Get("content")
	if (!ok || content.IsNull()) && len(m.Calls) == 0 {
		return m, inputError(e, "a message without content")
	}
	if m.Role == stream.ToolRole && m.CallID == "" {
		return m, inputError(e, "a tool message without tool_call_id")
	}
	return m, nil
}

func parseContent(v document.Value) ([]stream.Part, error) {
	switch v.Kind() {
	case 'n':
		return nil, nil
	case '"':
		return []stream.Part{{JSON: v.Raw()}}, nil
	case '[':
	default:
		return nil, inputError(v, "content that is neither a string nor an array of parts")
	}
	var parts []stream.Part
	for e := range v.EachElement() {
		kind, ok := e.Get("type")
		if !ok {
			return nil, inputError(e, "a part without a type")
		}
		p := stream.Part{Raw: e.Raw()}
		switch kind.Text() {
		case "text":
			text, ok := e.Get("text")
			if !ok || text.Kind() != '"' {
				return nil, inputError(e, "a text part without a text")
			}
			p = stream.Part{JSON: text.Raw()}
		case "image_url":
			img, err := parseImage(e)
			if err != nil {
				return nil, err
			}
			p = stream.Part{Image: img}
		case "file":
			if document := parseDocument(e); document != nil {
				p = stream.Part{Image: document}
			}
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// parseDocument reads a file part that contains a PDF; nil for any other part. Every API except
// chat uses a different form for it.
func parseDocument(e document.Value) *stream.Image {
	file, ok := e.Get("file")
	if !ok || len(file.Members()) != 2 || len(e.Members()) != 2 {
		return nil
	}
	name, named := file.Get("filename")
	base64, isPDF := strings.CutPrefix(textAt(file, "file_data"), "data:"+stream.PDF+";base64,")
	if !named || !isPDF {
		return nil
	}
	return &stream.Image{MIME: stream.PDF, Data: base64, Name: name.Text()}
}

// textAt is the string at a path of names; "" if it is no string.
func textAt(v document.Value, path ...string) string {
	return jsontext.Text(jsontext.Member(v.Raw(), path...))
}

func parseImage(e document.Value) (*stream.Image, error) {
	img := &stream.Image{URL: cmp.Or(textAt(e, "image_url"), textAt(e, "image_url", "url")), Detail: textAt(e, "image_url", "detail")}
	if img.URL == "" {
		return nil, inputError(e, "an image_url part without a URL")
	}
	if head, data, ok := strings.Cut(img.URL, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		img.MIME, img.Data, img.URL = head[len("data:"):], data, ""
	}
	return img, nil
}

func parseCalls(v document.Value) ([]stream.Call, error) {
	if v.Kind() != '[' && !v.IsNull() {
		return nil, inputError(v, "tool_calls is not an array")
	}
	var calls []stream.Call
	for e := range v.EachElement() {
		fn, ok := e.Get("function")
		if !ok {
			return nil, inputError(e, "a call without a function")
		}
		c := stream.Call{}
		for m := range e.EachMember() {
			switch m.Key {
			case "id":
				c.ID = m.Text()
			case "function", "type", "index":
			default: // the endpoint added it, for example a signature, and needs it back with the call
				if c.Extra != nil {
					c.Extra = append(c.Extra, ',')
				}
				c.Extra = append(append(append(c.Extra, m.At.Raw()...), ':'), m.Raw()...)
			}
		}
		name := jsontext.Member(fn.Raw(), "name")
		c.Name = jsontext.Text(name)
		if args, ok := fn.Get("arguments"); ok && args.Kind() == '"' {
			c.Arguments = []byte(args.Text())
		} else if ok && !args.IsNull() {
			c.Arguments = bytes.Clone(args.Raw())
		}
		if c.ID == "" || jsontext.Kind(name) != '"' { // models have called tools by an empty name
			return nil, inputError(e, "a call without an id or a name")
		}
		calls = append(calls, c)
	}
	return calls, nil
}

// labelsOf reads the labels of a message; null is none.
func labelsOf(v document.Value) (words []string, ok bool) {
	if v.IsNull() {
		return nil, true
	}
	words, err := v.Words()
	if err != nil || v.Kind() != '[' {
		return nil, false
	}
	labels, err := approve.ParseLabels(words, approve.Exposed)
	return labels.Words(), err == nil
}
