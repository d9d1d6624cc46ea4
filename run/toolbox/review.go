package toolbox

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

const (
	maxFindings    = 16  // of one tool
	maxReviewDepth = 64  // of a schema
	maxReviewPath  = 160 // bytes
	around         = 30  // bytes of a quote before and after the position
)

// Review returns the findings in the definition of each tool: characters without a shape, letters
// that look like others, and names that look like names of another server. A definition without
// findings may be malicious too. The member of a finding is name, description, title or the path in a
// schema, for example schema.properties.note.description. Its quote is the text around the position.
func (b *Toolbox) Review() [][]event.Finding {
	tools := b.All()
	all := make([][]event.Finding, len(tools))
	alike := sameNames(tools)
	for i, t := range tools {
		r := definitionReader{alike[i]}
		r.name("name", t.Name)
		r.unseen("title", t.Title)
		r.unseen("description", t.Description)
		r.value("schema", t.InputSchema, maxReviewDepth)
		r.value("output_schema", t.OutputSchema, maxReviewDepth)
		r.value("annotations", t.Annotations, maxReviewDepth)
		if n := len(r.found) - maxFindings; n > 0 {
			r.found = append(r.found[:maxFindings], event.Finding{What: fmt.Sprintf("more findings: %d", n)})
		}
		all[i] = r.found
	}
	return all
}

type definitionReader struct{ found []event.Finding }

func (r *definitionReader) find(what, member, text string, from, to int) {
	member = readable.Cut(member, maxReviewPath, "…")
	if slices.ContainsFunc(r.found, func(f event.Finding) bool { return f.What == what && f.Member == member }) {
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
	r.found = append(r.found, event.Finding{What: what, Member: member, Quote: quote})
}

func (r *definitionReader) name(member, name string) {
	latin := strings.ContainsFunc(name, func(c rune) bool { return c < utf8.RuneSelf && unicode.IsLetter(c) })
	if i := strings.IndexFunc(name, func(c rune) bool { return c >= utf8.RuneSelf && folded(c) < utf8.RuneSelf }); i >= 0 && latin {
		r.find("letter that looks like another", member, name, i, i)
	}
	r.unseen(member, name)
}

// value checks all strings of a JSON value, including keys.
func (r *definitionReader) value(path string, value []byte, depth int) {
	if len(r.found) > 2*maxFindings {
		return
	}
	switch kind := jsontext.Kind(value); {
	case kind == '"':
		r.unseen(path, jsontext.Unquote(value))
	case kind != '{' && kind != '[':
	case depth == 0:
		r.found = append(r.found, event.Finding{What: "not read: nested too deep", Member: path[:min(len(path), maxReviewPath)]})
	case kind == '[':
		for e := range jsontext.Elements(value) {
			r.value(path, e, depth-1)
		}
	default:
		for literal, v := range jsontext.Members(value) {
			key := jsontext.Unquote(literal)
			inner := path
			if len(inner) <= maxReviewPath {
				inner += "." + key
			}
			r.name(inner, key)
			r.value(inner, v, depth-1)
		}
	}
}
