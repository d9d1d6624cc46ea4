package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/run/failure"
	"toolpipe/stream/text/jsontext"
)

// A Document is a JSON text. It was read strictly, with no key twice in one object,
// unless it holds what other programs wrote. No tree is built of it. Every value knows
// its place, so that an error about the meaning of a value can name the line.
type Document struct {
	name string // the name of the document in errors
	data []byte
}

// A Value is one JSON value of a document.
type Value struct {
	Doc      *Document
	From, To int
}

// A member is one member of an object: its key and its value.
type member struct {
	Key string
	At  Value // the key in the document
	Value
}

// ParseDocument reads a JSON text strictly; name is what errors call it.
func ParseDocument(name string, data []byte) (Value, error) {
	return parseDocument(name, data, jsontext.Options{})
}

func parseDocument(name string, data []byte, o jsontext.Options) (Value, error) {
	err := jsontext.Check(data, o)
	if e, ok := errors.AsType[*jsontext.SyntaxError](err); ok {
		first := ""
		if e.First != nil {
			first = fmt.Sprintf(", and before at %d:%d", e.First.Line, e.First.Column)
		}
		return Value{}, failure.Usage("%s:%d:%d: %s (byte %d)%s", name, e.Line, e.Column, e.Message, e.Offset, first)
	}
	d := &Document{name, data}
	return d.value(jsontext.Space(data, 0)), nil
}

// ParseLines reads JSON lines: one object on each line that is not blank. The last line
// may not be whole, because its writer was killed or the disk was full. Such a line is
// no value; cut is the offset at which it begins, -1 if there is none.
func ParseLines(name string, data []byte) (values []Value, cut int, err error) {
	d := &Document{name, data}
	for number, from := 1, 0; from < len(data); number++ {
		line, _, whole := bytes.Cut(data[from:], []byte{'\n'})
		last := from+len(line)+1 >= len(data)
		err := jsontext.Check(line, jsontext.Options{})
		e, _ := errors.AsType[*jsontext.SyntaxError](err)
		switch {
		case err == nil:
			values = append(values, d.value(jsontext.Space(data, from)))
		case len(bytes.TrimSpace(line)) == 0:
		case last && (!whole || !bytes.HasSuffix(bytes.TrimSpace(line), []byte{'}'})):
			return values, from, nil
		default:
			return nil, -1, failure.Usage("%s:%d:%d: %s", name, number, e.Column, e.Message)
		}
		from += len(line) + 1
	}
	return values, -1, nil
}

// value returns the value that begins at from.
func (d *Document) value(from int) Value { return Value{d, from, jsontext.ValueEnd(d.data, from)} }

// ReadDocument reads a file that names what may run; what is the flag or key
// that names the file.
func (c *Config) ReadDocument(what, path string, o jsontext.Options, warn Warner) (Value, error) {
	data, err := RuleFile.Read(c, what, path, MaxRuleFile, warn)
	if err != nil {
		return Value{}, err
	}
	v, err := parseDocument(path, data, o)
	if err != nil {
		failure.Of(err).Hints = commentHint(data)
	}
	return v, err
}

// ErrTooLarge is the cause of the error of ReadLimited about a text over its limit.
var ErrTooLarge = errors.New("too large")

// ReadLimited reads to the end of r, which may have limit bytes. Errors begin with
// name.
func ReadLimited(r io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, failure.Usage("%s: %s", name, failure.Cause(err))
	}
	if int64(len(data)) > limit {
		e := failure.Usage("%s is larger than %d MiB", name, limit>>20)
		e.Cause = ErrTooLarge
		return nil, e
	}
	return data, nil
}

// Name is what errors call the document.
func (d *Document) Name() string { return d.name }

// Raw returns the text of the value as it stands in the document.
func (v Value) Raw() []byte { return v.Doc.data[v.From:v.To] }

func (v Value) line() int { return bytes.Count(v.Doc.data[:v.From], []byte{'\n'}) + 1 }

// Origin is the document and the line of the value, such as ci.json:12.
func (v Value) Origin() string { return v.Doc.name + ":" + strconv.Itoa(v.line()) }

// Errorf returns a usage error that begins with the place of the value.
func (v Value) Errorf(format string, args ...any) *failure.Error {
	return failure.Usage("%s: %s", v.place(), fmt.Sprintf(format, args...))
}

// place is the document, the line and the path of the value, such as
// config.json:7: models.local.timeout.
func (v Value) place() string {
	if path := v.path(); path != "" {
		return v.Origin() + ": " + path
	}
	return v.Origin()
}

// path is the keys and positions that lead to the value, such as
// models.local.timeout or args[0]. For a key they are those that lead to the
// object of the key.
func (v Value) path() string {
	path, in := "", v.Doc.value(jsontext.Space(v.Doc.data, 0))
	for in.From != v.From {
		parts := in.parts()
		i := slices.IndexFunc(parts, func(m member) bool { return m.From <= v.From && v.From < m.To })
		switch {
		case i < 0: // v is a key
			return strings.TrimPrefix(path, ".")
		case in.Kind() == '[':
			path += fmt.Sprintf("[%d]", i)
		default:
			path += "." + parts[i].At.pathKey()
		}
		in = parts[i].Value
	}
	return strings.TrimPrefix(path, ".")
}

// pathKey is the key v as it stands in a path: without quotes where it reads as
// one word.
func (v Value) pathKey() string {
	key := v.Text()
	if len(key) > 40 || key == "" || strings.ContainsFunc(key, func(r rune) bool { return !strings.ContainsRune(".:/", r) && !nameByte(r) }) {
		return v.Short()
	}
	return key
}

// Unknown returns the error for a key that is not one of the known keys.
func (m member) Unknown(known []string) *failure.Error {
	e := m.At.Errorf("unknown key %q", m.Key)
	if hint := hintOfOthers(m.Key, known); hint != "" {
		e.Hints = []string{hint}
	} else if near := Nearest(m.Key, known); near != "" {
		e.Hints = []string{"did you mean " + strconv.Quote(near) + "?"}
	}
	return e
}

// within returns err with the place of the value before its message.
func (v Value) within(err error) *failure.Error { return failure.Within(v.Origin(), err) }

// Kind is the first byte of the value: '{', '[', '"', 't', 'f' or 'n', and '0'
// for every number.
func (v Value) Kind() byte {
	if raw := v.Raw(); !jsontext.IsNumber(raw) {
		return raw[0]
	}
	return '0'
}

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.Kind() == 'n' }

// Members are the members of an object, in order; none for any other value.
func (v Value) Members() []member {
	if v.Kind() != '{' {
		return nil
	}
	return v.parts()
}

// Elements are the elements of an array, in order; none for any other value.
func (v Value) Elements() (all []Value) {
	if v.Kind() == '[' {
		for _, m := range v.parts() {
			all = append(all, m.Value)
		}
	}
	return all
}

// parts are the members of an object, or the elements of an array, without keys.
func (v Value) parts() (all []member) {
	data, isObject := v.Doc.data, v.Kind() == '{'
	for i := jsontext.Space(data, v.From+1); data[i] != '}' && data[i] != ']'; {
		var m member
		if isObject {
			m.At = v.Doc.value(i)
			m.Key = m.At.Text()
			i = jsontext.Space(data, jsontext.Space(data, m.At.To)+1) // after the colon
		}
		m.Value = v.Doc.value(i)
		all = append(all, m)
		if i = jsontext.Space(data, m.To); data[i] == ',' {
			i = jsontext.Space(data, i+1)
		}
	}
	return all
}

// Get returns the value of the member with that key.
func (v Value) Get(key string) (Value, bool) {
	for _, m := range v.Members() {
		if m.Key == key {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Text is what a string means, "" for any other value.
func (v Value) Text() string { return jsontext.Text(v.Raw()) }

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

// count reads a whole number that is not negative.
func (v Value) count() (int, error) {
	n, err := strconv.Atoi(string(v.Raw()))
	if err != nil || n < 0 {
		return 0, v.Errorf("%s is not a whole number from 0 on", v.Short())
	}
	return n, nil
}

// Words reads an array of strings, or one string.
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

// Labels reads the labels of a message; null is none.
func (v Value) Labels() (words []string, ok bool) {
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

// table reads an object of strings, each of them by read.
func (v Value) table(read func(Value) (string, error)) (map[string]string, error) {
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

// Short is the value for an error: its text, cut when it is long.
func (v Value) Short() string {
	s := v.Raw()
	if len(s) > 40 {
		s = append(bytes.ToValidUTF8(s[:37:37], nil), "..."...)
	}
	return string(s)
}
