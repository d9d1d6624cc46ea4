// Package document reads JSON that people write: configs, locks, sessions, messages.
//
// A document is a JSON text that was parsed strictly. No tree is built. Every value knows its
// position, so that an error about its meaning can name the line.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/failure"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// A Document is a JSON text. Parse reads it strictly and refuses a key that occurs twice in one
// object; ParseAs can accept it in files of other programs.
type Document struct {
	// Hint, if set, says what to write instead of an unknown key; "" for no hint. known are the
	// keys that the object can have.
	Hint func(key string, known []string) string

	name   string // the name of the document in errors
	data   []byte
	before int // lines of the file before data
}

type Value struct {
	Doc      *Document
	From, To int
}

type Member struct {
	Key string
	At  Value // position of the key
	Value
}

// Parse reads a JSON text strictly. Errors call it name.
func Parse(name string, data []byte) (Value, error) {
	return ParseAs(name, data, jsontext.Options{})
}

func ParseAs(name string, data []byte, o jsontext.Options) (Value, error) {
	err := jsontext.Check(data, o)
	if e, ok := errors.AsType[*jsontext.SyntaxError](err); ok {
		first := ""
		if e.First != nil {
			first = fmt.Sprintf(", and before at %d:%d", e.First.Line, e.First.Column)
		}
		return Value{}, failure.Usage("%s:%d:%d: %s (byte %d)%s", name, e.Line, e.Column, e.Message, e.Offset, first)
	}
	d := &Document{name: name, data: data}
	return d.value(jsontext.Space(data, 0)), nil
}

func (d *Document) value(from int) Value { return Value{d, from, jsontext.ValueEnd(d.data, from)} }

// Data is the text of the document.
func (d *Document) Data() []byte { return d.data }

func (d *Document) Name() string { return d.name }

func (v Value) Raw() []byte { return v.Doc.data[v.From:v.To] }

func (v Value) line() int {
	before := v.Doc.data[:min(v.From, len(v.Doc.data))] // in a file of lines, data is gone when the next line is read
	return v.Doc.before + bytes.Count(before, []byte{'\n'}) + 1
}

// Origin is the document and the line of the value, for example ci.json:12.
func (v Value) Origin() string { return v.Doc.name + ":" + strconv.Itoa(v.line()) }

func (v Value) Errorf(format string, args ...any) *failure.Error {
	return failure.Usage("%s: %s", v.Place(), fmt.Sprintf(format, args...))
}

// Place is the document, the line and the path of the value, for example config.json:7:
// models.local.timeout.
func (v Value) Place() string {
	if path := v.path(); path != "" {
		return v.Origin() + ": " + path
	}
	return v.Origin()
}

// path is the keys and indexes that lead to the value, for example models.local.timeout or args[0].
// For a key it is the path of the object with this key.
func (v Value) path() string {
	path, in := "", v.Doc.value(jsontext.Space(v.Doc.data, 0))
	for in.From != v.From {
		next, n, step := in, 0, ""
		in.parts(in.Kind(), func(at, value Value) bool {
			if value.From <= v.From && v.From < value.To {
				next, step = value, fmt.Sprintf("[%d]", n)
				if at.Doc != nil {
					step = "." + at.pathKey()
				}
			}
			n++
			return step == ""
		})
		if step == "" { // v is a key
			break
		}
		path, in = path+step, next
	}
	return strings.TrimPrefix(path, ".")
}

// pathKey is the key v as part of a path: without quotes if it is one word.
func (v Value) pathKey() string {
	key := v.Text()
	if len(key) > 40 || key == "" || strings.ContainsFunc(key, func(r rune) bool { return !strings.ContainsRune(".:/", r) && !IsWord(r) }) {
		return v.Short()
	}
	return key
}

func (m Member) Unknown(known []string) *failure.Error {
	e := m.At.Errorf("unknown key %q", m.Key)
	hint := ""
	if m.At.Doc.Hint != nil {
		hint = m.At.Doc.Hint(m.Key, known)
	}
	if hint != "" {
		e.Hints = []string{hint}
	} else if near := readable.Nearest(m.Key, known); near != "" {
		e.Hints = []string{"did you mean " + strconv.Quote(near) + "?"}
	}
	return e
}

func (v Value) Within(err error) *failure.Error { return failure.Within(v.Origin(), err) }

// Kind is the first byte of the value: '{', '[', '"', 't', 'f' or 'n', and '0'
// for every number.
func (v Value) Kind() byte {
	if raw := v.Raw(); !jsontext.IsNumber(raw) {
		return raw[0]
	}
	return '0'
}

func (v Value) IsNull() bool { return v.Kind() == 'n' }

// Members are the members of an object, in order; none for any other value.
func (v Value) Members() []Member { return slices.Collect(v.EachMember()) }

func (v Value) EachMember() iter.Seq[Member] {
	return func(yield func(Member) bool) {
		v.parts('{', func(at, value Value) bool { return yield(Member{at.Text(), at, value}) })
	}
}

// Elements are the elements of an array, in order; none for any other value.
func (v Value) Elements() []Value { return slices.Collect(v.EachElement()) }

func (v Value) EachElement() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		v.parts('[', func(_, value Value) bool { return yield(value) })
	}
}

func (v Value) IsEmpty() bool {
	for range v.EachElement() {
		return false
	}
	return true
}

// parts yields the keys and values of an object, or the elements of an array without keys. It
// yields nothing if the value does not begin with the bracket.
func (v Value) parts(bracket byte, yield func(at, value Value) bool) {
	if v.Kind() != bracket {
		return
	}
	data := v.Doc.data
	for i := jsontext.Space(data, v.From+1); data[i] != bracket+2; {
		var at Value
		if bracket == '{' {
			at = v.Doc.value(i)
			i = jsontext.Space(data, jsontext.Space(data, at.To)+1) // after the colon
		}
		value := v.Doc.value(i)
		if !yield(at, value) {
			return
		}
		if i = jsontext.Space(data, value.To); data[i] == ',' {
			i = jsontext.Space(data, i+1)
		}
	}
}

func (v Value) Get(key string) (member Value, found bool) {
	v.parts('{', func(at, value Value) bool {
		if found = jsontext.Is(at.Raw(), key); found {
			member = value
		}
		return !found
	})
	return member, found
}

func (v Value) Text() string { return jsontext.Text(v.Raw()) }

func (v Value) Str() (string, error) {
	if v.Kind() != '"' {
		return "", v.Errorf("%s is not a string", v.Short())
	}
	return v.Text(), nil
}

func (v Value) Boolean() (bool, error) {
	if k := v.Kind(); k != 't' && k != 'f' {
		return false, v.Errorf("%s is not true or false", v.Short())
	}
	return v.Kind() == 't', nil
}

// Count reads an integer that is not negative.
func (v Value) Count() (int, error) {
	n, err := strconv.Atoi(string(v.Raw()))
	if err != nil || n < 0 {
		return 0, v.Errorf("%s is not a whole number from 0 on", v.Short())
	}
	return n, nil
}

// Words reads an array of strings, or a single string.
func (v Value) Words() ([]string, error) { return v.WordsBy(Value.Str) }

// WordsBy reads an array of strings, or a single string, each by read.
func (v Value) WordsBy(read func(Value) (string, error)) ([]string, error) {
	elements := v.Elements()
	switch v.Kind() {
	case '"':
		elements = []Value{v}
	case '[':
	default:
		return nil, v.Errorf("%s is not a list of strings", v.Short())
	}
	all := []string{}
	for _, e := range elements {
		s, err := read(e)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (v Value) Table(read func(Value) (string, error)) (map[string]string, error) {
	if v.Kind() != '{' {
		return nil, v.Errorf("%s is not an object of strings", v.Short())
	}
	all := map[string]string{}
	for _, m := range v.Members() {
		s, err := read(m.Value)
		if err != nil {
			return nil, err
		}
		all[m.Key] = s
	}
	return all, nil
}

// Short is the text of the value for an error, cut if it is long.
func (v Value) Short() string { return readable.Cut(string(v.Raw()), 40, "...") }

// IsWord reports whether c can be part of a name: an ASCII letter or digit, - or _.
func IsWord[C byte | rune](c C) bool {
	return c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
