package history

import (
	"math"
	"strconv"
	"strings"

	"toolpipe/stream/text/jsontext"
)

// A value is a JSON value of which only a part may be kept.
type value struct {
	kind     byte // '{', '[', '"', '0' for a number, 't', 'f' or 'n'; 0: there is none
	text     Text // what a string means, or the literal of a number or word
	members  []member
	elements []value
	left     int // members or elements that are not kept
}

type member struct {
	name  string
	value value
}

// get is the member of an object with that name; one of the kind 0 if there is none.
func (v *value) get(name string) *value {
	for i := range v.members {
		if v.members[i].name == name {
			return &v.members[i].value
		}
	}
	return &value{}
}

// str is what a string means, of at most maxWord bytes beside words about what is left out; ""
// for any other value.
func (v *value) str() string {
	if v.kind != '"' {
		return ""
	}
	t := v.text.Within(maxWord)
	return t.String()
}

// The bounds of what is no text, such as a name.
const (
	maxWord  = 1 << 10 // bytes
	maxWords = 50      // of a list of words
)

// word is a string or a number, as text; "" for any other value.
func (v *value) word() string {
	if v.kind == '0' {
		return v.text.Head
	}
	return v.str()
}

// strs are the strings of an array.
func (v *value) strs() (all []string) {
	for i := range v.elements {
		if e := &v.elements[i]; e.kind == '"' && len(all) < maxWords {
			all = append(all, e.str())
		}
	}
	return all
}

// number is a number that is not negative. Unknown stands for everything else, and for one
// that no run can have.
func (v *value) number() int64 {
	if v.kind != '0' {
		return Unknown
	}
	if n, err := strconv.ParseInt(v.text.Head, 10, 64); err == nil {
		return bounded(n)
	}
	f, err := strconv.ParseFloat(v.text.Head, 64)
	if err != nil || math.IsNaN(f) || f > most {
		return Unknown
	}
	return bounded(int64(f))
}

// most is more than any count, and any time in milliseconds, of a run.
const most = 1 << 50

func bounded(n int64) int64 {
	if n < 0 || n > most {
		return Unknown
	}
	return n
}

// count is number, and 0 for what is Unknown.
func (v *value) count() int64 { return max(0, v.number()) }

// json is the value as JSON with an indent, of at most limit bytes. What is not kept is told
// in words, which no JSON holds outside a string.
func (v *value) json(limit int) Text {
	var b strings.Builder
	v.write(&b, "\n")
	t := textOf(b.String())
	t.shrink(limit)
	return t
}

func (v *value) write(b *strings.Builder, indent string) {
	switch v.kind {
	case '{', '[':
		b.WriteByte(v.kind)
		n := 0
		item := func() {
			if n++; n > 1 {
				b.WriteByte(',')
			}
			b.WriteString(indent + "  ")
		}
		for i := range v.members {
			item()
			b.Write(jsontext.Quoted(v.members[i].name))
			b.WriteString(": ")
			v.members[i].value.write(b, indent+"  ")
		}
		for i := range v.elements {
			item()
			v.elements[i].write(b, indent+"  ")
		}
		if v.left > 0 {
			b.WriteString(indent + "  [" + strconv.Itoa(v.left) + " more are not shown here]")
			n++
		}
		if n > 0 {
			b.WriteString(indent)
		}
		b.WriteByte(v.kind + 2)
	case '"':
		b.Write(jsontext.Quoted(v.text.Head))
		if v.text.Left > 0 {
			b.WriteString(" [" + v.text.Gap() + "] ")
			b.Write(jsontext.Quoted(v.text.Tail))
		}
	default:
		b.WriteString(v.text.String())
	}
}

// shown is a string as it is, and any other value as JSON.
func (v *value) shown(limit int) Text {
	if v.kind == '"' {
		t := v.text
		t.shrink(limit)
		return t
	}
	return v.json(limit)
}

// maxMembers is how many members of an object are shown.
const maxMembers = 200

// details are the members of an object, to be shown.
func (v *value) details(limit int) (all []Detail) {
	for i := range v.members {
		if i == maxMembers {
			return append(all, Detail{Name: "…", Text: textOf(strconv.Itoa(len(v.members)-i+v.left) + " more members are not shown here")})
		}
		m := &v.members[i]
		all = append(all, Detail{Name: m.name, Text: m.value.shown(limit), JSON: m.value.kind != '"'})
	}
	if v.left > 0 {
		all = append(all, Detail{Name: "…", Text: textOf(strconv.Itoa(v.left) + " more members are not shown here")})
	}
	return all
}
