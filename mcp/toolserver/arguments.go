package toolserver

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
	"toolpipe/stream/nearest"
)

// A Parameter is one argument of a built-in tool. Its kind is a JSON Schema
// type, or "strings" for an array of strings.
type Parameter struct {
	Name, Kind, About string
	Required          bool
}

// A Builtin is one built-in tool.
type Builtin struct {
	Name, About string
	Params      []Parameter
	Annotations string // a JSON object
}

const (
	ReadsOnly = `{"readOnlyHint":true,"openWorldHint":false}`
	Adds      = `{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":false}`
	Destroys  = `{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":false}`
	RunsFree  = `{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}`
	Fetches   = `{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":true}`
)

// Tool is the definition a client lists.
func (t *Builtin) Tool() wire.Tool {
	return wire.Tool{Name: t.Name, Description: t.About, InputSchema: t.schema(), Annotations: json.RawMessage(t.Annotations), ReadOnly: t.Annotations == ReadsOnly}
}

func (t *Builtin) schema() json.RawMessage {
	b := make([]byte, 0, 768)
	b = append(b, `{"type":"object","properties":{`...)
	for i, p := range t.Params {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsontext.AppendQuoted(b, p.Name), ':')
		if p.Kind == "strings" {
			b = append(b, `{"type":"array","items":{"type":"string"}`...)
		} else {
			b = jsontext.AppendQuoted(append(b, `{"type":`...), p.Kind)
		}
		b = append(jsontext.AppendQuoted(append(b, `,"description":`...), p.About), '}')
	}
	b = append(b, '}')
	separator := `,"required":[`
	for _, p := range t.Params {
		if p.Required {
			b = jsontext.AppendQuoted(append(b, separator...), p.Name)
			separator = ","
		}
	}
	if separator == "," {
		b = append(b, ']')
	}
	return append(b, `,"additionalProperties":false}`...)
}

// Arguments are the arguments of one call by name, without the absent ones.
type Arguments map[string][]byte

// Read checks the arguments of a call against the parameters. null counts as
// absent, as models write it for what they leave out.
func (t *Builtin) Read(raw json.RawMessage) (Arguments, error) {
	args := make(Arguments, len(t.Params))
	for literal, value := range jsontext.Members(raw) {
		name := jsontext.Unquote(literal)
		p := t.param(name)
		if p == nil {
			return nil, t.unknown(name)
		}
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

func (t *Builtin) param(name string) *Parameter {
	for i := range t.Params {
		if t.Params[i].Name == name {
			return &t.Params[i]
		}
	}
	return nil
}

func (t *Builtin) unknown(name string) error {
	names := make([]string, len(t.Params))
	for i, p := range t.Params {
		names[i] = p.Name
	}
	hint := ""
	if near := nearest.Nearest(name, names); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	return fmt.Errorf("%s has no argument %q%s (it takes %s)", t.Name, name, hint, strings.Join(names, ", "))
}

// mismatch says what kind of value is wanted; "" if v is one.
func (p *Parameter) mismatch(v []byte) string {
	switch p.Kind {
	case "string":
		if jsontext.Kind(v) != '"' {
			return "a string"
		}
		if jsontext.LoneSurrogate(v) {
			return "a string of whole characters"
		}
	case "integer":
		if _, ok := jsontext.Integer(v); !ok {
			return "a whole number"
		}
	case "number":
		if !jsontext.IsNumber(v) {
			return "a number"
		}
	case "boolean":
		if s := string(v); s != "true" && s != "false" {
			return "true or false"
		}
	case "object":
		if jsontext.Kind(v) != '{' {
			return "an object"
		}
	case "strings":
		if jsontext.Kind(v) != '[' {
			return "an array of strings"
		}
		for e := range jsontext.Elements(v) {
			if jsontext.Kind(e) != '"' {
				return "an array of strings"
			}
		}
	}
	return ""
}

func (a Arguments) Has(name string) bool    { return a[name] != nil }
func (a Arguments) Text(name string) string { return jsontext.Text(a[name]) }
func (a Arguments) Flag(name string) bool   { return jsontext.IsTrue(a[name]) }
func (a Arguments) List(name string) []string {
	return jsontext.Strings(a[name])
}

// Integer is the argument's value, or otherwise if it is absent.
func (a Arguments) Integer(name string, otherwise int64) int64 {
	if n, ok := jsontext.Integer(a[name]); ok {
		return n
	}
	return otherwise
}

// Number is the argument's value, or otherwise if it is absent.
func (a Arguments) Number(name string, otherwise float64) float64 {
	if n, err := strconv.ParseFloat(string(a[name]), 64); err == nil {
		return n
	}
	return otherwise
}
