package mcp

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A parameter is one argument of a built-in tool. Its kind is a JSON Schema
// type, or "strings" for an array of strings.
type parameter struct {
	name, kind, about string
	required          bool
}

// A builtin is one built-in tool.
type builtin struct {
	name, about string
	params      []parameter
	annotations string // a JSON object
}

const (
	readsOnly = `{"readOnlyHint":true,"openWorldHint":false}`
	destroys  = `{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":false}`
	runsFree  = `{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}`
	fetches   = `{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":true}`
)

// tool is the definition a client lists.
func (t *builtin) tool() Tool {
	return Tool{Name: t.name, Description: t.about, InputSchema: t.schema(), Annotations: json.RawMessage(t.annotations), ReadOnly: t.annotations == readsOnly}
}

func (t *builtin) schema() json.RawMessage {
	b := make([]byte, 0, 768)
	b = append(b, `{"type":"object","properties":{`...)
	for i, p := range t.params {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendQuoted(b, p.name), ':')
		if p.kind == "strings" {
			b = append(b, `{"type":"array","items":{"type":"string"}`...)
		} else {
			b = appendQuoted(append(b, `{"type":`...), p.kind)
		}
		b = append(appendQuoted(append(b, `,"description":`...), p.about), '}')
	}
	b = append(b, '}')
	separator := `,"required":[`
	for _, p := range t.params {
		if p.required {
			b = appendQuoted(append(b, separator...), p.name)
			separator = ","
		}
	}
	if separator == "," {
		b = append(b, ']')
	}
	return append(b, `,"additionalProperties":false}`...)
}

// arguments are those of one call; absent ones are not in it.
type arguments map[string][]byte

// read checks the arguments of a call against the parameters. null counts as
// absent, as models write it for what they leave out.
func (t *builtin) read(raw json.RawMessage) (arguments, error) {
	args := make(arguments, len(t.params))
	for literal, value := range members(raw) {
		name := unquote(literal)
		p := t.param(name)
		if p == nil {
			return nil, t.unknown(name)
		}
		if _, twice := args[name]; twice {
			return nil, fmt.Errorf("argument %q is given twice", name)
		}
		if string(value) == "null" && !p.required {
			continue
		}
		if want := p.mismatch(value); want != "" {
			return nil, fmt.Errorf("argument %q must be %s, not %s", name, want, snippet(value))
		}
		args[name] = value
	}
	for _, p := range t.params {
		if _, given := args[p.name]; p.required && !given {
			return nil, fmt.Errorf("%s needs the argument %q: %s", t.name, p.name, p.about)
		}
	}
	return args, nil
}

func (t *builtin) param(name string) *parameter {
	for i := range t.params {
		if t.params[i].name == name {
			return &t.params[i]
		}
	}
	return nil
}

func (t *builtin) unknown(name string) error {
	names := make([]string, len(t.params))
	for i, p := range t.params {
		names[i] = p.name
	}
	hint := ""
	if near := Nearest(name, names); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	return fmt.Errorf("%s has no argument %q%s (it takes %s)", t.name, name, hint, strings.Join(names, ", "))
}

// mismatch says what the value should have been; "" when it is.
func (p *parameter) mismatch(v []byte) string {
	switch p.kind {
	case "string":
		if kind(v) != '"' {
			return "a string"
		}
		if loneSurrogate(v) {
			return "a string of whole characters"
		}
	case "integer":
		if _, ok := integer(v); !ok {
			return "a whole number"
		}
	case "number":
		if !isNumber(v) {
			return "a number"
		}
	case "boolean":
		if s := string(v); s != "true" && s != "false" {
			return "true or false"
		}
	case "strings":
		if kind(v) != '[' {
			return "an array of strings"
		}
		for e := range elements(v) {
			if kind(e) != '"' {
				return "an array of strings"
			}
		}
	}
	return ""
}

func (a arguments) has(name string) bool    { return a[name] != nil }
func (a arguments) text(name string) string { return text(a[name]) }
func (a arguments) flag(name string) bool   { return isTrue(a[name]) }
func (a arguments) list(name string) []string {
	return stringsIn(a[name])
}

// integer is the argument's value, or otherwise where it is absent.
func (a arguments) integer(name string, otherwise int64) int64 {
	if n, ok := integer(a[name]); ok {
		return n
	}
	return otherwise
}

// number is the argument's value, or otherwise where it is absent.
func (a arguments) number(name string, otherwise float64) float64 {
	if n, err := strconv.ParseFloat(string(a[name]), 64); err == nil {
		return n
	}
	return otherwise
}

// Nearest is the candidate that name is most likely a slip of, "" when
// none is near or has nothing of it. Case does not count; names of hundreds of bytes are not compared.
func Nearest(name string, candidates []string) string {
	const longest = 200
	if len(name) > longest {
		return ""
	}
	best, least := "", min(len(name), 1+max(1, (len(name)+1)/3))
	folded := strings.ToLower(name)
	for _, c := range candidates {
		if len(c) > longest || len(c)-len(name) >= least || len(name)-len(c) >= least {
			continue
		}
		if d := editDistance(folded, strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

// editDistance counts insertions, deletions and replacements of bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
