package toolserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// Arguments are the arguments of one call by name, without the absent ones.
type Arguments map[string][]byte

// Read checks the arguments of a call against the parameters. null counts as absent, because
// models write it for arguments that they leave out.
func (t *Builtin) Read(raw json.RawMessage) (Arguments, error) {
	args := make(Arguments, len(t.Params))
	for literal, value := range jsontext.Members(raw) {
		name := jsontext.Unquote(literal)
		i := slices.IndexFunc(t.Params, func(p Parameter) bool { return p.Name == name })
		if i < 0 {
			return nil, t.unknown(name)
		}
		p := t.Params[i]
		if _, twice := args[name]; twice {
			return nil, fmt.Errorf("argument %q is given twice", name)
		}
		if string(value) == "null" && !p.Required {
			continue
		}
		if want := p.mismatch(value); want != "" {
			return nil, fmt.Errorf("argument %q must be %s, not %s", name, want, wire.Snippet(value))
		}
		args[name] = value
	}
	for _, p := range t.Params {
		if _, given := args[p.Name]; p.Required && !given {
			return nil, fmt.Errorf("%s needs the argument %q: %s", t.Name, p.Name, p.About)
		}
	}
	return args, nil
}

func (t *Builtin) unknown(name string) error {
	names := t.ParamNames(func(Parameter) bool { return true })
	return fmt.Errorf("%s has no argument %q%s (it takes %s)", t.Name, name, readable.DidYouMean(name, names), strings.Join(names, ", "))
}

// mismatch is the kind of value that is wanted; "" if v is one.
func (p Parameter) mismatch(v []byte) (wanted string) {
	kind := jsontext.Kind(v)
	isOther := func(e []byte) bool { return jsontext.Kind(e) != '"' }
	switch {
	case p.Kind == "string" && kind != '"':
		return "a string"
	case p.Kind == "string" && jsontext.Check(v, jsontext.Options{AnyBytes: true}) != nil: // half of a surrogate pair
		return "a string of whole characters"
	case p.Kind == "integer":
		if _, ok := jsontext.Integer(v); !ok {
			return "a whole number"
		}
	case p.Kind == "number" && !jsontext.IsNumber(v):
		return "a number"
	case p.Kind == "boolean" && kind != 't' && kind != 'f':
		return "true or false"
	case p.Kind == "object" && kind != '{':
		return "an object"
	case p.Kind == "strings" && (kind != '[' || slices.ContainsFunc(slices.Collect(jsontext.Elements(v)), isOther)):
		return "an array of strings"
	}
	return ""
}

func (a Arguments) Has(name string) bool      { return a[name] != nil }
func (a Arguments) Text(name string) string   { return jsontext.Text(a[name]) }
func (a Arguments) Flag(name string) bool     { return jsontext.IsTrue(a[name]) }
func (a Arguments) List(name string) []string { return jsontext.Strings(a[name]) }

// TextOr, Integer and Number return the argument's value, or otherwise if it is absent.
func (a Arguments) TextOr(name, otherwise string) string {
	if a.Has(name) {
		return a.Text(name)
	}
	return otherwise
}

func (a Arguments) Integer(name string, otherwise int64) int64 {
	if n, ok := jsontext.Integer(a[name]); ok {
		return n
	}
	return otherwise
}

func (a Arguments) Number(name string, otherwise float64) float64 {
	if n, err := strconv.ParseFloat(string(a[name]), 64); err == nil {
		return n
	}
	return otherwise
}
