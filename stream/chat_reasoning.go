package stream

import (
	"strings"

	"github.com/tidwall/gjson"

	"toolpipe/stream/jsontext"
)

// reasoningEcho collects what a model thought in the form that it goes back
// in: under the field name that it came with, since endpoints refuse the
// others' names (model-wire section 4).
type reasoningEcho struct {
	field   string // the first name that held text
	text    []byte
	details []string // entries of reasoning_details, as they came
}

var reasoningFields = [...]string{"reasoning_content", "reasoning", "thinking"}

// delta passes on what a delta holds. The same text may come under several
// names: the first counts.
func (e *reasoningEcho) delta(d *chatDecoder, delta gjson.Result) error {
	var found []byte
	for _, name := range reasoningFields {
		if v := delta.Get(name); len(found) == 0 && v.Str != "" {
			found = text(v)
			if e.field == "" {
				e.field = name
			}
		}
	}
	fromDetails := e.entries(d, delta.Get("reasoning_details"))
	if len(found) == 0 {
		found = fromDetails
	} else {
		e.text = appendPiece(e.text, found)
	}
	if len(found) > 0 {
		d.effects.other = true
	}
	return d.addReasoning(found)
}

// entries keeps the entries of reasoning_details and returns their text.
func (e *reasoningEcho) entries(d *chatDecoder, list gjson.Result) (joined []byte) {
	list.ForEach(func(_, entry gjson.Result) bool {
		d.effects.other = true
		if entry.IsObject() {
			e.details = append(e.details, strings.Clone(entry.Raw))
		}
		if t := text(entry.Get("text")); len(t) > 0 {
			joined = appendPiece(joined, t)
		} else {
			joined = appendPiece(joined, text(entry.Get("summary")))
		}
		return true
	})
	return joined
}

// opaque returns what goes back with the message.
func (e *reasoningEcho) opaque(d *chatDecoder) Opaque {
	o := Opaque{dialect: "chat"}
	switch {
	case len(e.details) > 0:
		o.json = append(o.json, `"reasoning_details":[`...)
		o.json = append(o.json, strings.Join(e.details, ",")...)
		o.json = append(o.json, ']')
	case len(e.text) > 0:
		o.json = append(jsontext.AppendQuoted(o.json, e.field), ':')
		o.json = jsontext.AppendQuoted(o.json, e.text)
	}
	if d.think.tagged {
		o.text = d.think.asItCame(d.text.parts())
	}
	if o.json == nil && o.text == nil {
		return Opaque{}
	}
	return o
}
