package code

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/nearest"
)

const maxAncestry = 50 // levels of a hierarchy that are shown

func hierarchyTool() tool {
	return tool{define("hierarchy", "Show the superclasses and subclasses of a class, trait or interface below a directory, by their names. Of Go, embedded types.", toolserver.ReadsOnly,
		toolserver.Parameter{Name: "name", Kind: "string", About: "name of the class; of Outer.Inner, the last part is matched", Required: true},
		toolserver.Parameter{Name: "path", Kind: "string", About: "file or directory to search; the root when absent"},
	), showHierarchy}
}

func showHierarchy(ctx context.Context, c *call, args toolserver.Arguments) (*wire.Result, error) {
	name, err := lastName(args.Text("name"))
	if err != nil {
		return nil, err
	}
	path := pathOrRoot(args)
	p, err := c.project(ctx, path)
	if err != nil {
		return nil, err
	}
	h := hierarchy{types: map[string]*typeNode{}, path: path}
	for _, f := range p.files {
		for i := range f.defs {
			h.add(p, f, &f.defs[i])
		}
	}
	if h.types[name] == nil {
		hint := ""
		if near := nearest.Nearest(name, slices.Sorted(maps.Keys(h.types))); near != "" {
			hint = fmt.Sprintf(", did you mean %q?", near)
		}
		return nil, fmt.Errorf("no class or type %q below %q%s%s", name, path, hint, strings.TrimSuffix("\n"+string(p.survey.appendTo(nil)), "\n"))
	}
	up := treeText{ctx: ctx, deepest: maxAncestry, b: []byte("superclasses:\n")}
	up.add(h.branch(name, func(t *typeNode) []string { return t.parents }))
	down := treeText{ctx: ctx, deepest: maxAncestry, b: []byte("subclasses:\n")}
	down.add(h.branch(name, func(t *typeNode) []string { return t.children }))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	b := down.appendNotes(up.appendNotes(append(up.b, down.b...)))
	return toolserver.TextResult(p.survey.appendTo(b)), nil
}

// A hierarchy is types by their names. Types of one name are one.
type hierarchy struct {
	types map[string]*typeNode
	path  string
}

type typeNode struct {
	places            []string // its definitions
	parents, children []string
}

func (h *hierarchy) node(name string) *typeNode {
	if h.types[name] == nil {
		h.types[name] = &typeNode{}
	}
	return h.types[name]
}

// add adds a definition of a type, and leaves out any other.
func (h *hierarchy) add(p *project, f *sourceFile, d *Definition) {
	parents := d.Parents
	if len(parents) == 0 {
		parents = p.headParents(f, d)
	}
	if len(parents) == 0 && !isType(d.Kind) {
		return
	}
	n := h.node(d.Name)
	if d.Kind != "implementation" {
		n.places = append(n.places, d.Kind+" "+place(f, d))
	}
	for _, parent := range parents {
		parent = typeWord(parent)
		if parent == "" || slices.Contains(n.parents, parent) {
			continue
		}
		n.parents = append(n.parents, parent)
		above := h.node(parent)
		above.children = append(above.children, d.Name)
	}
}

func isType(kind string) bool {
	switch kind {
	case "class", "interface", "trait", "struct", "type", "enum", "union", "protocol", "object", "record", "module":
		return true
	}
	return false
}

// typeWord is the name of a type without what is before and behind it, as Base of
// ns::Base<int>. It is "" for what is no name.
func typeWord(text string) string {
	if i := strings.IndexAny(text, "<[("); i >= 0 {
		text = text[:i]
	}
	if i := strings.LastIndexAny(text, `.:\& `); i >= 0 {
		text = text[i+1:]
	}
	if strings.ContainsAny(text, ">])") {
		return ""
	}
	return text
}

// headParents reads the parents of a type from its head in languages of which
// ctags does not give them.
func (p *project) headParents(f *sourceFile, d *Definition) []string {
	language := f.language.Name
	switch {
	case language == "Rust" && (d.Kind == "implementation" || d.Kind == "interface"):
	case language == "Kotlin" && isType(d.Kind), language == "TypeScript" && d.Kind == "interface":
	default:
		return nil
	}
	l := p.layoutOf(f)
	begin := l.starts[d.Line-1]
	text := string(l.mask[begin:min(begin+maxLooked, len(l.mask))])
	if i := strings.IndexAny(text, "{;"); i >= 0 {
		text = text[:i]
	}
	text, _, _ = strings.Cut(withoutBrackets(text), " where ")
	found := false
	switch {
	case d.Kind == "implementation":
		text, _, found = strings.Cut(text, " for ")
		text = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(text), "unsafe "), "impl")
	case language == "TypeScript":
		_, text, found = strings.Cut(text, " extends ")
	default:
		_, text, found = strings.Cut(text, ":")
	}
	if !found {
		return nil
	}
	var parents []string
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '+' }) {
		if part = strings.TrimSpace(part); part != "" && part[0] != '\'' { // of Rust, a lifetime
			word, _, _ := strings.Cut(part, " ")
			parents = append(parents, word)
		}
	}
	return parents
}

// withoutBrackets is a text without what is in < > and ( ), in one line.
func withoutBrackets(text string) string {
	depth := 0
	return strings.Map(func(r rune) rune {
		switch {
		case r == '<', r == '(':
			depth++
		case r == '>' || r == ')':
			depth = max(0, depth-1)
		case depth > 0:
		case r == '\n', r == '\r', r == '\t':
			return ' '
		default:
			return r
		}
		return -1
	}, text)
}

// branch is a type with those that next gives below it.
func (h *hierarchy) branch(name string, next func(*typeNode) []string) branch {
	t := h.types[name]
	label := name + "  " + strings.Join(t.places[:min(len(t.places), maxPlaces)], ", ")
	switch more := len(t.places) - maxPlaces; {
	case len(t.places) == 0:
		label += fmt.Sprintf("(not defined below %q)", h.path)
	case more > 0:
		label += fmt.Sprintf(" and %d more", more)
	}
	return branch{name, label, func() (list []branch) {
		for _, other := range next(t) {
			list = append(list, h.branch(other, next))
		}
		return list
	}}
}

const maxPlaces = 5 // definitions of one name that are listed in a line
