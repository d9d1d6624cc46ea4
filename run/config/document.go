package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"toolpipe/run/failure"
	"toolpipe/stream/jsontext"
)

// Document is a JSON text that has been read strictly: valid, no duplicate
// keys, UTF-8. It is walked without building a tree, and every value knows
// its place, so that an error about its meaning can name the line.
type Document struct {
	Name string // as errors show it
	Data []byte
}

// Value is one JSON value of a document.
type Value struct {
	Doc      *Document
	From, To int
}

// member is one member of an object.
type member struct {
	Key string
	At  Value // the key itself
	Value
}

func ParseDocument(name string, data []byte) (Value, error) {
	d := &Document{name, data}
	if err := jsontext.Check(data, jsontext.Options{}); err != nil {
		if s, ok := errors.AsType[*jsontext.SyntaxError](err); ok {
			return Value{}, failure.Usage("%s:%d:%d: %s (byte %d)", name, s.Line, s.Column, s.Message, s.Offset)
		}
		return Value{}, failure.Usage("%s: %v", name, err)
	}
	at := d.Space(0)
	return Value{d, at, d.Skip(at)}, nil
}

// ReadDocument reads a file that names what may run; what is the flag or key
// that names the file.
func ReadDocument(what, path string, warn Warner) (Value, error) {
	data, err := RuleFile.Read(what, path, 16<<20, warn)
	if err != nil {
		return Value{}, err
	}
	return ParseDocument(path, data)
}

func ReadLimited(r io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, failure.Usage("%s: %s", name, failure.Cause(err))
	}
	if int64(len(data)) > limit {
		return nil, failure.Usage("%s: more than %d MiB", name, limit>>20)
	}
	return data, nil
}

func (v Value) Raw() []byte { return v.Doc.Data[v.From:v.To] }

func (v Value) line() int { return bytes.Count(v.Doc.Data[:v.From], []byte{'\n'}) + 1 }

func (v Value) origin() string { return v.Doc.Name + ":" + strconv.Itoa(v.line()) }

func (v Value) Errorf(format string, args ...any) *failure.Error {
	where := v.origin()
	if path := v.path(); path != "" {
		where += ": " + path
	}
	return failure.Usage("%s: %s", where, fmt.Sprintf(format, args...))
}

// Path is the keys and positions that lead to v, such as models.local.timeout
// or args[0]; for a key those of the object that it stands in.
func (v Value) path() string {
	var b strings.Builder
	at := v.Doc.Space(0)
	in := Value{v.Doc, at, v.Doc.Skip(at)}
descend:
	for in.From != v.From {
		for _, m := range in.Members() {
			if m.From <= v.From && v.From < m.To {
				if b.Len() > 0 {
					b.WriteByte('.')
				}
				b.WriteString(m.At.shownKey())
				in = m.Value
				continue descend
			}
		}
		for i, e := range in.Elements() {
			if e.From <= v.From && v.From < e.To {
				fmt.Fprintf(&b, "[%d]", i)
				in = e
				continue descend
			}
		}
		break // a key
	}
	return b.String()
}

// shownKey is a key in a path: bare where that reads as one word.
func (v Value) shownKey() string {
	key := v.Text()
	if len(key) > 40 || key == "" || strings.ContainsFunc(key, func(r rune) bool { return r != '.' && r != ':' && r != '/' && (r > 0x7f || !nameByte(byte(r))) }) {
		return v.Short()
	}
	return key
}

// Unknown is the error of a key that means nothing; known are those that do.
func (m member) Unknown(known []string) *failure.Error {
	e := m.At.Errorf("unknown key %q", m.Key)
	if near := Nearest(m.Key, known); near != "" {
		e.Hints = []string{"did you mean " + strconv.Quote(near) + "?"}
	}
	return e
}

// within is err with v's place before its message.
func (v Value) within(err error) *failure.Error { return failure.Within(v.origin(), err) }

// Kind is what v begins with: '{', '[', '"', 't', 'f', 'n' or a digit's '0'.
func (v Value) Kind() byte {
	switch c := v.Doc.Data[v.From]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	}
	return '0'
}

func (v Value) IsNull() bool { return v.Kind() == 'n' }

// Members are those of an object, in order; none for any other value.
func (v Value) Members() []member {
	if v.Kind() != '{' {
		return nil
	}
	var all []member
	d := v.Doc
	for i := d.Space(v.From + 1); d.Data[i] != '}'; {
		key := Value{d, i, d.Skip(i)}
		i = d.Space(d.Space(key.To) + 1) // past the colon
		val := Value{d, i, d.Skip(i)}
		all = append(all, member{key.Text(), key, val})
		if i = d.Space(val.To); d.Data[i] == ',' {
			i = d.Space(i + 1)
		}
	}
	return all
}

// Elements are those of an array, in order; none for any other value.
func (v Value) Elements() []Value {
	if v.Kind() != '[' {
		return nil
	}
	var all []Value
	d := v.Doc
	for i := d.Space(v.From + 1); d.Data[i] != ']'; {
		e := Value{d, i, d.Skip(i)}
		all = append(all, e)
		if i = d.Space(e.To); d.Data[i] == ',' {
			i = d.Space(i + 1)
		}
	}
	return all
}

// Get is the member of that key.
func (v Value) Get(key string) (Value, bool) {
	for _, m := range v.Members() {
		if m.Key == key {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Text is a string's value, "" for any other value.
func (v Value) Text() string {
	s := v.Raw()
	if s[0] != '"' {
		return ""
	}
	if bytes.IndexByte(s, '\\') < 0 {
		return string(s[1 : len(s)-1])
	}
	var t string
	json.Unmarshal(s, &t) // valid already
	return t
}

func (v Value) str() (string, error) {
	if v.Kind() != '"' {
		return "", v.Errorf("%s is not a string", v.Short())
	}
	return v.Text(), nil
}

func (v Value) boolean() (bool, error) {
	if k := v.Kind(); k != 't' && k != 'f' {
		return false, v.Errorf("%s is not true or false", v.Short())
	}
	return v.Kind() == 't', nil
}

// count is a whole number that is not negative.
func (v Value) count() (int, error) {
	n, err := strconv.Atoi(string(v.Raw()))
	if err != nil || n < 0 {
		return 0, v.Errorf("%s is not a whole number from 0 on", v.Short())
	}
	return n, nil
}

// Words is an array of strings, or one string.
func (v Value) Words() ([]string, error) {
	if v.Kind() == '"' {
		return []string{v.Text()}, nil
	}
	if v.Kind() != '[' {
		return nil, v.Errorf("%s is not a list of strings", v.Short())
	}
	all := []string{}
	for _, e := range v.Elements() {
		s, err := e.str()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// table is an object of strings.
func (v Value) table() (map[string]string, error) {
	if v.Kind() != '{' {
		return nil, v.Errorf("%s is not an object of strings", v.Short())
	}
	all := map[string]string{}
	for _, m := range v.Members() {
		s, err := m.str()
		if err != nil {
			return nil, err
		}
		all[m.Key] = s
	}
	return all, nil
}

// Short shows a value in an error.
func (v Value) Short() string {
	s := v.Raw()
	if len(s) > 40 {
		s = append(bytes.ToValidUTF8(s[:37:37], nil), "..."...)
	}
	return string(s)
}

// Space is the offset of the first byte at or after i that is not white space.
func (d *Document) Space(i int) int {
	for i < len(d.Data) {
		switch d.Data[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// Skip is the offset after the value that begins at i.
func (d *Document) Skip(i int) int {
	depth := 0
	for ; i < len(d.Data); i++ {
		switch d.Data[i] {
		case '"':
			for i++; d.Data[i] != '"'; i++ {
				if d.Data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ' ', '\t', '\n', '\r', ',', ':':
			continue
		default:
			for i+1 < len(d.Data) && !bytes.ContainsRune([]byte(" \t\n\r,]}"), rune(d.Data[i+1])) {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}
