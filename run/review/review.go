// Package review reads tool definitions for a person who has to decide whether to let
// a model have them. It finds what a reader does not see: characters without a shape,
// letters that look like others, and names that look like those of another server. What
// the words say is for the reader to judge: a definition without findings may be
// malicious too.
package review

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"toolpipe/run/event"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// A Tool is the definition of a tool.
type Tool struct {
	Server      string
	Own         bool // the server is built in
	Name        string
	Title       string
	Description string
	Schema      []byte // JSON; nil if the server gives none; the same for the next two
	Output      []byte
	Annotations []byte
}

// A Finding names a member, which is name, description, title or the path in a schema, for example
// schema.properties.note.description. Its quote is the text around the position.
type Finding = event.Finding

const (
	maxFindings = 16  // of one tool
	maxDepth    = 64  // of a schema
	maxPath     = 160 // bytes
	around      = 30  // bytes of a quote before and after the position
)

// Tools returns the findings for each tool.
func Tools(tools []Tool) [][]Finding {
	all := make([][]Finding, len(tools))
	alike := sameNames(tools)
	for i := range tools {
		t := &tools[i]
		r := reader{alike[i]}
		r.name("name", t.Name)
		r.unseen("title", t.Title)
		r.unseen("description", t.Description)
		r.value("schema", t.Schema, maxDepth)
		r.value("output_schema", t.Output, maxDepth)
		r.value("annotations", t.Annotations, maxDepth)
		if n := len(r.found) - maxFindings; n > 0 {
			r.found = append(r.found[:maxFindings], Finding{What: fmt.Sprintf("more findings: %d", n)})
		}
		all[i] = r.found
	}
	return all
}

// A reader collects the findings in one definition.
type reader struct{ found []Finding }

func (r *reader) find(what, member, text string, from, to int) {
	member = readable.Cut(member, maxPath, "…")
	if slices.ContainsFunc(r.found, func(f Finding) bool { return f.What == what && f.Member == member }) {
		return // a person needs to read it only once
	}
	start := max(from-around, 0)
	end := min(to+around, start+4*around, len(text))
	quote := strings.ToValidUTF8(text[start:end], "")
	if start > 0 {
		quote = "…" + quote
	}
	if end < len(text) {
		quote += "…"
	}
	r.found = append(r.found, Finding{What: what, Member: member, Quote: quote})
}

// name checks a name of a tool or an argument.
func (r *reader) name(member, name string) {
	latin := strings.ContainsFunc(name, func(c rune) bool { return c < utf8.RuneSelf && unicode.IsLetter(c) })
	if i := strings.IndexFunc(name, func(c rune) bool { return c >= utf8.RuneSelf && folded(c) < utf8.RuneSelf }); i >= 0 && latin {
		r.find("letter that looks like another", member, name, i, i)
	}
	r.unseen(member, name)
}

// value checks all strings of a JSON value, including keys.
func (r *reader) value(path string, value []byte, depth int) {
	if len(r.found) > 2*maxFindings {
		return
	}
	switch kind := jsontext.Kind(value); {
	case kind == '"':
		r.unseen(path, jsontext.Unquote(value))
	case kind != '{' && kind != '[':
	case depth == 0:
		r.found = append(r.found, Finding{What: "not read: nested too deep", Member: path[:min(len(path), maxPath)]})
	case kind == '[':
		for e := range jsontext.Elements(value) {
			r.value(path, e, depth-1)
		}
	default:
		for literal, v := range jsontext.Members(value) {
			key := jsontext.Unquote(literal)
			inner := path
			if len(inner) <= maxPath {
				inner += "." + key
			}
			r.name(inner, key)
			r.value(inner, v, depth-1)
		}
	}
}
