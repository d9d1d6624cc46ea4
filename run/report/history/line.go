package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"

	"toolpipe/stream/text/jsontext"
)

// An event is the object on a line of a file. It records which members were used.
type event struct {
	members []member
	text    []byte // of the object
	number  int    // of the line
	kind    string
	at      int64
}

type member struct {
	name  string
	value value
	used  bool
}

// A value is the text of a JSON value; nil for none. It is valid only while its line is processed.
type value []byte

// lenient accepts everything that servers and models may have sent. An event is a few levels deeper
// than the deepest message from them.
var lenient = jsontext.Options{Depth: 1000, DuplicateNames: true, LoneSurrogates: true, AnyBytes: true}

// newEvent reads a line. The error is a *jsontext.SyntaxError.
func newEvent(line []byte, number int) (*event, error) {
	e := &event{text: bytes.TrimSpace(line), number: number}
	names, twice := map[string]bool{}, ""
	err := jsontext.CheckObject(line, lenient, func(literal, v []byte) {
		name := jsontext.Unquote(literal)
		if names[name] {
			twice = name
		}
		names[name] = true
		e.members = append(e.members, member{name: name, value: v})
	})
	if err == nil && twice != "" {
		err = &jsontext.SyntaxError{Message: "the object has the key " + strconv.Quote(twice) + " twice"}
	}
	return e, err
}

func isCut(line []byte) bool {
	line = bytes.TrimSpace(line)
	var whole json.RawMessage
	return line[0] == '{' && errors.Is(json.NewDecoder(bytes.NewReader(line)).Decode(&whole), io.ErrUnexpectedEOF)
}

func (e *event) find(name string) *member {
	for i := range e.members {
		if e.members[i].name == name {
			return &e.members[i]
		}
	}
	return nil
}

func (e *event) has(name string) bool { return e.find(name) != nil }

func (e *event) get(name string) value {
	m := e.find(name)
	if m == nil {
		return nil
	}
	m.used = true
	return m.value
}

func (e *event) word(name string) string {
	if m := e.find(name); m != nil {
		return m.value.word()
	}
	return ""
}

// only is the name of the only member; "" if there are none or several.
func (e *event) only() string {
	if len(e.members) != 1 {
		return ""
	}
	return e.members[0].name
}

func (e *event) rest() (rest []member) {
	for _, m := range e.members {
		if !m.used && m.value.kind() != 'n' {
			rest = append(rest, m)
		}
	}
	return rest
}

func (v value) kind() byte { return jsontext.Kind(v) }

func (v value) get(name string) value { return jsontext.Member(v, name) }

func (v value) members() (all []member) {
	for literal, m := range jsontext.Members(v) {
		all = append(all, member{name: jsontext.Unquote(literal), value: m})
	}
	return all
}

func (v value) elements() (all []value) {
	for e := range jsontext.Elements(v) {
		all = append(all, e)
	}
	return all
}

// Limits of short texts such as names.
const (
	maxWord  = 1 << 10 // bytes
	maxWords = 50      // of a list
)

// str is the content of a string, shortened to maxWord bytes; "" for any other value.
func (v value) str() string { return shortened(jsontext.Text(v)) }

func shortened(s string) string {
	t := Text{Head: s}.Within(maxWord)
	return t.String()
}

// word is a string or a number, as text; "" for any other value.
func (v value) word() string {
	if jsontext.IsNumber(v) {
		return shortened(string(v))
	}
	return v.str()
}

func (v value) strs() (all []string) {
	for e := range jsontext.Elements(v) {
		if jsontext.Kind(e) == '"' && len(all) < maxWords {
			all = append(all, value(e).str())
		}
	}
	return all
}

// number is a valid number that is not negative; Unknown for anything else.
func (v value) number() int64 {
	const most = 1 << 50 // more than any count or time in milliseconds
	if !jsontext.IsNumber(v) {
		return Unknown
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f < 0 || f > most {
		return Unknown
	}
	return int64(math.Floor(f))
}

// count is number, but 0 instead of Unknown.
func (v value) count() int64 { return max(0, v.number()) }

// maxIndented is the largest JSON text, in bytes, that is indented: indentation can make deep JSON
// a thousand times longer.
const maxIndented = 64 << 10

// text is the content of a string, or any other value as JSON.
func (v value) text() Text {
	if v.kind() == '"' {
		return Text{Head: jsontext.Unquote(v)}
	}
	var b bytes.Buffer
	if len(v) > maxIndented || json.Indent(&b, v, "", "  ") != nil {
		return Text{Head: string(v)}
	}
	return Text{Head: b.String()}
}
