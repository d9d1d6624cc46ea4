package code

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"toolpipe/mcp/code/lexis"
	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

func outlineTool() tool {
	return tool{define("outline", "List the definitions of a source file, each in the one around it, with kinds and lines.", toolserver.ReadsOnly,
		toolserver.Parameter{Name: "path", Kind: "string", About: "source file, relative to the root", Required: true},
		toolserver.Parameter{Name: "detail", Kind: "string", About: "outline: a line for each, when absent; skeleton: the source with comments and signatures, and ... for bodies"},
	), outlineFile}
}

func outlineFile(ctx context.Context, c *call, args toolserver.Arguments) (*wire.Result, error) {
	detail := args.Text("detail")
	if args.Has("detail") && detail != "outline" && detail != "skeleton" {
		return nil, fmt.Errorf("detail is %q; it is outline or skeleton", detail)
	}
	f, err := c.file(ctx, args.Text("path"))
	if err != nil {
		return nil, err
	}
	o := outlineText{sourceFile: f}
	if language := "of a language that is not known here"; len(f.defs) == 0 {
		if f.language != nil {
			language = "in " + f.language.Name
		}
		return toolserver.TextResult(fmt.Appendf(nil, "no definitions: %s has %d lines, %s\n", confine.ShownName(f.path), f.lines(), language)), nil
	}
	o.b = fmt.Appendf(o.b, "%s: %d lines\n", confine.ShownName(f.path), f.lines())
	if detail == "skeleton" {
		o.b = append(o.b, '\n')
		o.skeleton(nested(f.defs))
	} else {
		o.list(nested(f.defs), nil, 0)
	}
	return toolserver.TextResult(o.appendNotes()), nil
}

// A sourceFile is a source with what is in it.
type sourceFile struct {
	path string // as answers show it
	*layout
	language *lexis.Language
	defs     []Definition
}

// file reads the source file at a path, and finds its definitions.
func (c *call) file(ctx context.Context, path string) (*sourceFile, error) {
	source, err := c.read(path)
	if err != nil {
		return nil, err
	}
	return c.fileOf(ctx, source)
}

// fileOf finds the definitions of a source.
func (c *call) fileOf(ctx context.Context, source *source) (*sourceFile, error) {
	language := lexis.Of(source.path, source.text)
	defs, err := c.outline(ctx, source.path, source.text)
	if err != nil {
		return nil, err
	}
	return &sourceFile{source.path, newLayout(language, source.text), language, defs}, nil
}

// A node is a definition with those that stand inside it.
type node struct {
	*Definition
	inside []*node
}

// nested puts each definition into the one in whose lines it stands. In one line the
// scope tells it.
func nested(defs []Definition) (top []*node) {
	var around []*node
	line, inLine := 0, map[string]*node{}
	for i := range defs {
		n := &node{Definition: &defs[i]}
		for len(around) > 0 && !around[len(around)-1].holds(n.Definition) {
			around = around[:len(around)-1]
		}
		if n.Line != line {
			line = n.Line
			clear(inLine)
		}
		switch outer := inLine[n.Scope]; {
		case outer != nil:
			outer.inside = append(outer.inside, n)
		case len(around) == 0:
			top = append(top, n)
		default:
			outer = around[len(around)-1]
			outer.inside = append(outer.inside, n)
		}
		around = append(around, n)
		inLine[n.FullName()] = n
	}
	return top
}

// holds says whether the lines of another definition, which comes later, are in
// those of one.
func (d *Definition) holds(other *Definition) bool {
	if other.Line > d.Line && other.lastLine() < d.lastLine() {
		return true
	}
	return other.Line <= d.lastLine() && within(other.Scope, d.FullName())
}

// outlineText is the answer of a tool while it is written.
type outlineText struct {
	*sourceFile
	b       []byte
	listed  int
	shownTo int // the last line of the source that is shown
	guessed bool
}

// full says whether no more fits into the answer.
func (o *outlineText) full() bool {
	return o.listed >= toolserver.MaxListed || len(o.b) >= toolserver.MaxText
}

// list appends definitions that stand inside another, and those inside them.
func (o *outlineText) list(nodes []*node, outer *Definition, depth int) {
	for _, n := range nodes {
		if o.full() {
			return
		}
		o.b = append(o.b, strings.Repeat("  ", depth)...)
		o.appendLine(n.Definition, outer)
		o.list(n.inside, n.Definition, depth+1)
	}
}

const maxSignature = 300 // bytes of a signature in a line

// appendLine appends the kind, name, signature and lines of a definition, which
// stands inside another or by itself.
func (o *outlineText) appendLine(d, outer *Definition) {
	o.listed++
	signature := o.signature(d, o.language)
	if len(signature) > maxSignature {
		signature = string(toolserver.WholeRunes([]byte(signature[:maxSignature]))) + " ..."
	}
	o.b = fmt.Appendf(o.b, "%s %s%s  %s\n", d.Kind, shownName(d, outer), signature, o.span(d))
}

// anonymous begins the names that ctags gives to what has none.
const anonymous = "__anon"

// shownName is the name of a definition in a list: in full where it stands outside
// of what it belongs to.
func shownName(d, outer *Definition) string {
	switch {
	case strings.HasPrefix(d.Name, anonymous):
		return "(anonymous)"
	case d.Scope == "" || outer != nil && d.Scope == outer.FullName():
		return d.Name
	}
	return d.FullName()
}

// span are the first and the last line of a definition.
func (o *outlineText) span(d *Definition) string {
	switch mark := ""; {
	case d.lastLine() == d.Start && !d.Guessed:
		return fmt.Sprint(d.Start)
	default:
		if d.Guessed {
			mark, o.guessed = "~", true
		}
		return fmt.Sprintf("%d-%d%s", d.Start, d.lastLine(), mark)
	}
}

func (o *outlineText) appendNotes() []byte {
	if o.guessed {
		o.b = append(o.b, "[toolpipe] ~: the last line is a guess by the indentation\n"...)
	}
	if o.full() && o.listed > 1 && o.listed < len(o.defs) {
		o.b = fmt.Appendf(o.b, "[toolpipe] %d of %d definitions are shown; definition finds others by name, grep_files by pattern\n", o.listed, len(o.defs))
	}
	return o.b
}

// skeleton appends definitions as their source without bodies.
func (o *outlineText) skeleton(nodes []*node) {
	for _, n := range nodes {
		if o.full() {
			return
		}
		o.listed++
		last := n.lastLine()
		if n.Line <= o.shownTo { // it is in a line with another
			o.skeleton(n.inside)
			continue
		}
		o.appendLines(n.Start, n.Line-1)
		h := o.head(n.Definition, o.language)
		if container := isContainer(n); container || h.open != "{" {
			h.end = o.trimmedEnd(o.lineOf(max(h.end-1, h.begin)))
			o.appendText(o.text[h.begin:h.end])
			o.shownTo = o.lineOf(h.end)
			switch {
			case o.shownTo >= last:
				o.b = append(o.b, '\n')
				continue
			case container && len(n.inside) > 0:
				o.b = append(o.b, '\n')
				o.docLine(n.Definition, h)
				o.skeleton(n.inside)
				if o.shownTo < last && (h.open == "\n" || bytes.ContainsAny(o.line(o.mask, last), "}")) {
					o.appendLines(last, last)
				}
				o.shownTo = last
				continue
			}
		} else {
			o.appendText(o.text[h.begin:h.end])
		}
		o.appendBody(n.Definition, h)
		o.shownTo = last
	}
}

// isContainer says whether the definitions inside one are a part of what it offers.
func isContainer(n *node) bool {
	switch n.Kind {
	case "function", "method", "getter", "setter", "generator", "singletonMethod", "macro", "func":
		return false
	}
	return hasBody(n.Kind) || len(n.inside) > 0
}

// docLine appends a definition's docstring.
func (o *outlineText) docLine(d *Definition, h head) {
	if doc := o.docString(d, h); doc != nil {
		o.appendText(doc)
		o.b = append(o.b, '\n')
	}
}

// appendBody appends what stands for the body of a definition, behind its head.
func (o *outlineText) appendBody(d *Definition, h head) {
	doc := o.docString(d, h)
	switch {
	case doc != nil:
		o.b = append(o.b, '\n')
		o.docLine(d, h)
		o.b = append(append(o.b, doc[:len(doc)-len(bytes.TrimLeft(doc, " \t"))]...), "...\n"...)
	case h.open == "{":
		o.b = append(o.b, " ... }\n"...)
	default:
		o.b = append(o.b, " ...\n"...)
	}
}

// appendLines appends lines of the source.
func (o *outlineText) appendLines(from, to int) {
	for n := from; n <= to && !o.full(); n++ {
		o.appendText(o.text[o.starts[n-1]:o.trimmedEnd(n)])
		o.b = append(o.b, '\n')
	}
}

// appendText appends a piece of the source, with lines that end as others do.
func (o *outlineText) appendText(text []byte) {
	text = text[:min(len(text), toolserver.MaxText)]
	o.b = append(o.b, bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))...)
}
