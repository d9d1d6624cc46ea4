package stream

import (
	"strings"

	"github.com/tidwall/gjson"

	"toolpipe/stream/jsontext"
)

// chatReasoning collects the reasoning of a reply in the form in which it goes
// back to the endpoint: under the field name that it came with, because
// endpoints refuse the field names of others.
type chatReasoning struct {
	field   string // the first name that held text
	text    []byte
	details []string // entries of reasoning_details, as they came
}

var reasoningFields = [...]string{"reasoning_content", "reasoning", "thinking"}

// delta takes the reasoning of a delta and passes it on. The same text may come
// under several names; the first one counts.
func (r *chatReasoning) delta(d *chatDecoder, delta gjson.Result) error {
	var found []byte
	for _, name := range reasoningFields {
		if v := delta.Get(name); len(found) == 0 && v.Str != "" {
			found = text(v)
			if r.field == "" {
				r.field = name
			}
		}
	}
	fromDetails := r.addDetails(d, delta.Get("reasoning_details"))
	if len(found) == 0 {
		found = fromDetails
	} else {
		r.text = appendPiece(r.text, found)
	}
	if len(found) > 0 {
		d.chunk.other = true
	}
	return d.addReasoning(found)
}

// addDetails keeps the entries of reasoning_details and returns their text.
func (r *chatReasoning) addDetails(d *chatDecoder, list gjson.Result) (joined []byte) {
	list.ForEach(func(_, entry gjson.Result) bool {
		d.chunk.other = true
		if entry.IsObject() {
			r.details = append(r.details, strings.Clone(entry.Raw))
		}
		t := text(entry.Get("text"))
		if len(t) == 0 {
			t = text(entry.Get("summary"))
		}
		joined = appendPiece(joined, t)
		return true
	})
	return joined
}

// opaque returns what goes back with the message of the assistant.
func (r *chatReasoning) opaque(d *chatDecoder) Opaque {
	o := Opaque{dialect: "chat"}
	switch {
	case len(r.details) > 0:
		o.json = append(o.json, `"reasoning_details":[`...)
		o.json = append(o.json, strings.Join(r.details, ",")...)
		o.json = append(o.json, ']')
	case len(r.text) > 0:
		o.json = append(jsontext.AppendQuoted(o.json, r.field), ':')
		o.json = jsontext.AppendQuoted(o.json, r.text)
	}
	if d.think.tagged {
		o.text = d.think.asItCame(d.text.parts())
	}
	if o.json == nil && o.text == nil {
		return Opaque{}
	}
	return o
}
