package stream

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// fragments joins objects that come in pieces: entries of reasoning_details, thinking blocks,
// parts of a content. Pieces of the same type and index are one object. Endpoints refuse the
// pieces, because the signature in one of them is for the complete object.
type fragments []*fragment

type fragment struct {
	kind, index string // as JSON; "" for none
	members     []member
	name        string    // the name of the member that holds the text
	text        []byte    // the text, if that member is a string
	inner       fragments // the pieces, if that member is a list
}

// fragmentTexts are the members that hold the text of an object.
var fragmentTexts = []string{"text", "summary", "thinking"}

// add takes a list of pieces, and returns their text.
func (f *fragments) add(list gjson.Result) (joined []byte) {
	for _, v := range list.Array() {
		if v.IsObject() {
			joined = appendPiece(joined, f.piece(v).add(v))
		}
	}
	return joined
}

// piece returns the object that a piece belongs to.
func (f *fragments) piece(v gjson.Result) *fragment {
	kind, index := v.Get("type").Raw, v.Get("index").Raw
	for i, o := range slices.Backward(*f) {
		if o.kind == kind && o.index == index && (index != "" || i == len(*f)-1) {
			if o.takes(v) {
				return o
			}
			break
		}
	}
	o := &fragment{kind: strings.Clone(kind), index: strings.Clone(index)}
	if len(*f) < maxItems { // more are no reasoning, and do not go back
		*f = append(*f, o)
	}
	return o
}

// takes reports whether a piece agrees with the earlier ones: it has no other id, signature or
// data, and no text after the signature.
func (o *fragment) takes(v gjson.Result) bool {
	for _, m := range o.members {
		was, is := gjson.Parse(m.value), v.Get(gjson.Parse(m.name).Str)
		if was.Str == "" {
			continue
		}
		if is.Str != "" && is.Str != was.Str || m.name == `"signature"` && len(textOf(v)) > 0 {
			return false
		}
	}
	return true
}

func (o *fragment) add(v gjson.Result) (piece []byte) {
	for _, name := range fragmentTexts {
		switch t := v.Get(name); {
		case t.Type == gjson.String:
			piece = text(t)
			o.name, o.text = name, appendPiece(o.text, piece)
		case t.IsArray():
			o.name = name
			piece = o.inner.add(t)
		}
	}
	more := otherMembers(nil, v, fragmentTexts...)
	for _, m := range more {
		i := slices.IndexFunc(o.members, func(known member) bool { return known.name == m.name })
		if i < 0 {
			o.members = append(o.members, m)
		} else if m.value != `""` {
			o.members[i] = m
		}
	}
	return piece
}

// json returns the objects, as the items of an array.
func (f fragments) json() []byte {
	var all [][]byte
	for _, o := range f {
		members := slices.Clip(o.members)
		switch {
		case o.inner != nil:
			members = append(members, newMember(o.name, formed("[?]", o.inner.json())))
		case o.name != "":
			members = append(members, newMember(o.name, jsontext.AppendQuoted(nil, o.text)))
		}
		all = append(all, formed("{?}", joinMembers(members)))
	}
	return bytes.Join(all, []byte(","))
}
