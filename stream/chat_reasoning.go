package stream

import (
	"slices"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// chatReasoning collects the reasoning of a reply in the form in which it goes back to the
// endpoint: under its original field names, because endpoints refuse the field names of others,
// and some demand their own.
type chatReasoning struct {
	fields  [len(reasoningFields)][]byte // nil for a field that did not come
	details fragments                    // reasoning_details of OpenRouter and others
	blocks  fragments                    // thinking_blocks of LiteLLM
	parts   fragments                    // parts of the content that are thoughts: Mistral, Databricks
	extra   []member                     // extra_content of the message: Gemini's signature of a text
	marked  bool                         // the content so far is a thought, as Gemini marks it
}

var reasoningFields = [...]string{"reasoning_content", "reasoning", "thinking"}

// take keeps the reasoning of a delta or of a complete message, and returns its text. The same
// text may come under several names; the first one counts.
func (r *chatReasoning) take(m *chatMessage, whole bool) (shown []byte) {
	for i, value := range m.reasoning {
		f := &r.fields[i]
		if value.Type != gjson.String {
			continue
		}
		piece := text(value)
		if !whole && len(*f) > maxTextOfCalls { // it does not go back, see draft.reply
		} else if !whole {
			*f = appendPiece(*f, piece)
		} else if len(piece) > len(*f) {
			*f = piece
		}
		if *f == nil {
			*f = []byte{}
		}
		if len(shown) == 0 {
			shown = piece
		}
	}
	for _, list := range []struct {
		to   *fragments
		from gjson.Result
	}{{&r.details, m.details}, {&r.blocks, m.blocks}} {
		if whole && *list.to != nil {
			continue
		}
		if piece := list.to.add(list.from); len(shown) == 0 {
			shown = piece
		}
	}
	if m.extra.IsObject() && !m.isThought() {
		r.extra = []member{newMember("extra_content", []byte(m.extra.Raw))}
	}
	return shown
}

func (r *chatReasoning) keepParts(content gjson.Result) {
	for _, part := range content.Array() { // itself, if it is no array
		if isThoughtPart(part) {
			r.parts.piece(part).add(part)
		}
	}
}

func isThoughtPart(part gjson.Result) bool {
	kind := part.Get("type").Str
	return kind == "thinking" || kind == "reasoning"
}

// isThought reports whether Gemini marks the content as a thought.
func (m *chatMessage) isThought() bool { return m.extra.Get("google.thought").Bool() }

// opaque returns the state that goes back with the message of the assistant.
func (r *chatReasoning) opaque(d *chatDecoder) (o Opaque) {
	members := slices.Clone(r.extra)
	add := func(name string, value []byte) { members = append(members, newMember(name, value)) }
	plain := slices.IndexFunc(r.fields[:], func(text []byte) bool { return len(text) > 0 })
	if plain < 0 && r.fields[0] != nil {
		plain = 0 // DeepSeek demands the field, even if it is empty
	}
	if plain == 0 || plain > 0 && r.details == nil {
		add(reasoningFields[plain], jsontext.AppendQuoted(nil, r.fields[plain]))
	}
	if r.details != nil {
		add("reasoning_details", formed("[?]", r.details.json()))
	}
	if r.blocks != nil {
		add("thinking_blocks", formed("[?]", r.blocks.json()))
	}
	o.json = joinMembers(members)
	text := d.text.parts()
	switch {
	case d.think.raw.size > 0:
		o.content = formed("?", slices.Concat(d.think.raw.parts(), []Part{{Text: string(d.think.pending)}}, text)) // with its tags
	case r.parts != nil && !d.request.ThinkTags && !hasText(text):
		o.content = formed("[?]", r.parts.json())
	case r.parts != nil && !d.request.ThinkTags:
		o.content = formed(`[?,{"type":"text","text":?}]`, r.parts.json(), text)
	}
	return o
}
