package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"toolpipe/stream/jsontext"
)

// document is a JSON text that has been read strictly: valid, no duplicate
// keys, UTF-8. It is walked without building a tree, and every value knows
// its place, so that an error about its meaning can name the line.
type document struct {
	name string // as errors show it
	data []byte
}

// value is one JSON value of a document.
type value struct {
	doc      *document
	from, to int
}

// member is one member of an object.
type member struct {
	key string
	at  value // the key itself
	value
}

func parseDocument(name string, data []byte) (value, error) {
	d := &document{name, data}
	if err := jsontext.Check(data, jsontext.Options{}); err != nil {
		if s, ok := errors.AsType[*jsontext.SyntaxError](err); ok {
			return value{}, usage("%s:%d:%d: %s (byte %d)", name, s.Line, s.Column, s.Message, s.Offset)
		}
		return value{}, usage("%s: %v", name, err)
	}
	at := d.space(0)
	return value{d, at, d.skip(at)}, nil
}

// readDocument reads a file that names what may run; what is the flag or key
// that names the file.
func readDocument(what, path string, warn warner) (value, error) {
	data, err := ruleFile.read(what, path, 16<<20, warn)
	if err != nil {
		return value{}, err
	}
	return parseDocument(path, data)
}

func readLimited(r io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, usage("%s: %s", name, cause(err))
	}
	if int64(len(data)) > limit {
		return nil, usage("%s: more than %d MiB", name, limit>>20)
	}
	return data, nil
}

func (v value) raw() []byte { return v.doc.data[v.from:v.to] }

func (v value) line() int { return bytes.Count(v.doc.data[:v.from], []byte{'\n'}) + 1 }

func (v value) origin() string { return v.doc.name + ":" + strconv.Itoa(v.line()) }

func (v value) errorf(format string, args ...any) *Error {
	where := v.origin()
	if path := v.path(); path != "" {
		where += ": " + path
	}
	return usage("%s: %s", where, fmt.Sprintf(format, args...))
}

// path is the keys and positions that lead to v, such as models.local.timeout
// or args[0]; for a key those of the object that it stands in.
func (v value) path() string {
	var b strings.Builder
	at := v.doc.space(0)
	in := value{v.doc, at, v.doc.skip(at)}
descend:
	for in.from != v.from {
		for _, m := range in.members() {
			if m.from <= v.from && v.from < m.to {
				if b.Len() > 0 {
					b.WriteByte('.')
				}
				b.WriteString(m.at.shownKey())
				in = m.value
				continue descend
			}
		}
		for i, e := range in.elements() {
			if e.from <= v.from && v.from < e.to {
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
func (v value) shownKey() string {
	key := v.text()
	if len(key) > 40 || key == "" || strings.ContainsFunc(key, func(r rune) bool { return r != '.' && r != ':' && r != '/' && (r > 0x7f || !nameByte(byte(r))) }) {
		return v.short()
	}
	return key
}

// unknown is the error of a key that means nothing; known are those that do.
func (m member) unknown(known []string) *Error {
	e := m.at.errorf("unknown key %q", m.key)
	if near := Nearest(m.key, known); near != "" {
		e.Hints = []string{"did you mean " + strconv.Quote(near) + "?"}
	}
	return e
}

// within is err with v's place before its message.
func (v value) within(err error) *Error { return within(v.origin(), err) }

// kind is what v begins with: '{', '[', '"', 't', 'f', 'n' or a digit's '0'.
func (v value) kind() byte {
	switch c := v.doc.data[v.from]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	}
	return '0'
}

func (v value) isNull() bool { return v.kind() == 'n' }

// members are those of an object, in order; none for any other value.
func (v value) members() []member {
	if v.kind() != '{' {
		return nil
	}
	var all []member
	d := v.doc
	for i := d.space(v.from + 1); d.data[i] != '}'; {
		key := value{d, i, d.skip(i)}
		i = d.space(d.space(key.to) + 1) // past the colon
		val := value{d, i, d.skip(i)}
		all = append(all, member{key.text(), key, val})
		if i = d.space(val.to); d.data[i] == ',' {
			i = d.space(i + 1)
		}
	}
	return all
}

// elements are those of an array, in order; none for any other value.
func (v value) elements() []value {
	if v.kind() != '[' {
		return nil
	}
	var all []value
	d := v.doc
	for i := d.space(v.from + 1); d.data[i] != ']'; {
		e := value{d, i, d.skip(i)}
		all = append(all, e)
		if i = d.space(e.to); d.data[i] == ',' {
			i = d.space(i + 1)
		}
	}
	return all
}

// get is the member of that key.
func (v value) get(key string) (value, bool) {
	for _, m := range v.members() {
		if m.key == key {
			return m.value, true
		}
	}
	return value{}, false
}

// text is a string's value, "" for any other value.
func (v value) text() string {
	s := v.raw()
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

func (v value) str() (string, error) {
	if v.kind() != '"' {
		return "", v.errorf("%s is not a string", v.short())
	}
	return v.text(), nil
}

func (v value) boolean() (bool, error) {
	if k := v.kind(); k != 't' && k != 'f' {
		return false, v.errorf("%s is not true or false", v.short())
	}
	return v.kind() == 't', nil
}

// count is a whole number that is not negative.
func (v value) count() (int, error) {
	n, err := strconv.Atoi(string(v.raw()))
	if err != nil || n < 0 {
		return 0, v.errorf("%s is not a whole number from 0 on", v.short())
	}
	return n, nil
}

// words is an array of strings, or one string.
func (v value) words() ([]string, error) {
	if v.kind() == '"' {
		return []string{v.text()}, nil
	}
	if v.kind() != '[' {
		return nil, v.errorf("%s is not a list of strings", v.short())
	}
	all := []string{}
	for _, e := range v.elements() {
		s, err := e.str()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// table is an object of strings.
func (v value) table() (map[string]string, error) {
	if v.kind() != '{' {
		return nil, v.errorf("%s is not an object of strings", v.short())
	}
	all := map[string]string{}
	for _, m := range v.members() {
		s, err := m.str()
		if err != nil {
			return nil, err
		}
		all[m.key] = s
	}
	return all, nil
}

// short shows a value in an error.
func (v value) short() string {
	s := v.raw()
	if len(s) > 40 {
		s = append(bytes.ToValidUTF8(s[:37:37], nil), "..."...)
	}
	return string(s)
}

// space is the offset of the first byte at or after i that is not white space.
func (d *document) space(i int) int {
	for i < len(d.data) {
		switch d.data[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// skip is the offset after the value that begins at i.
func (d *document) skip(i int) int {
	depth := 0
	for ; i < len(d.data); i++ {
		switch d.data[i] {
		case '"':
			for i++; d.data[i] != '"'; i++ {
				if d.data[i] == '\\' {
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
			for i+1 < len(d.data) && !bytes.ContainsRune([]byte(" \t\n\r,]}"), rune(d.data[i+1])) {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}
