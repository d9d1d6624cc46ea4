package code

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/text/readable"
)

func outlineFile(_ context.Context, c *call, args toolserver.Arguments) ([]byte, error) {
	detail := args.TextOr("detail", "outline")
	if detail != "outline" && detail != "skeleton" {
		return nil, fmt.Errorf("detail is %q; it is outline or skeleton", detail)
	}
	f, err := c.file(args.Text("path"))
	if err != nil {
		return nil, err
	}
	if language := "in an unknown language"; len(f.defs) == 0 {
		if f.language != nil {
			language = "in " + f.language.Name
		}
		return fmt.Appendf(nil, "no definitions: %s has %d lines, %s\n", confine.ShownName(f.path), f.lines(), language), nil
	}
	o := outlineText{sourceFile: f}
	o.b = fmt.Appendf(o.b, "%s: %d lines\n", confine.ShownName(f.path), f.lines())
	if detail == "skeleton" {
		o.b = append(o.b, '\n')
		o.skeleton(nested(f.defs))
	} else {
		o.list(nested(f.defs), 0)
	}
	return o.appendNotes(), nil
}

type node struct {
	*definition // nil: the root
	inside      []*node
}

// nested returns the root of a tree in which each definition is below the one with lines
// around it. If both are in one line, the scope decides.
func nested(defs []definition) *node {
	around := []*node{{}}
	line, inLine := 0, map[string]*node{}
	for i := range defs {
		n := &node{definition: &defs[i]}
		for len(around) > 1 && !around[len(around)-1].holds(n.definition) {
			around = around[:len(around)-1]
		}
		if n.Line != line {
			line = n.Line
			clear(inLine)
		}
		outer := inLine[n.Scope]
		if outer == nil {
			outer = around[len(around)-1]
		}
		outer.inside = append(outer.inside, n)
		around = append(around, n)
		inLine[n.fullName()] = n
	}
	return around[0]
}

type outlineText struct {
	*sourceFile
	b       []byte
	listed  int
	shownTo int  // the last line of the source that is shown
	guessed bool // a definition in the answer has guessed lines
}

func (o *outlineText) full() bool {
	return o.listed >= toolserver.MaxListed || len(o.b) >= toolserver.MaxText
}

func (o *outlineText) list(outer *node, depth int) {
	for _, n := range outer.inside {
		if o.full() {
			return
		}
		o.b = append(o.b, strings.Repeat("  ", depth)...)
		o.appendLine(n.definition, outer.definition)
		o.list(n, depth+1)
	}
}

const maxSignature = 300 // bytes of a signature in a line

// appendLine appends the kind, name, signature and lines of a definition inside another;
// outer is nil for a definition by itself.
func (o *outlineText) appendLine(d, outer *definition) {
	o.listed++
	name := d.fullName()
	switch {
	case strings.HasPrefix(d.Name, anonymous):
		name = "(anonymous)"
	case outer != nil && d.Scope == outer.fullName():
		name = d.Name
	}
	signature := readable.Cut(o.signature(d), maxSignature, " ...")
	o.b = fmt.Appendf(o.b, "%s %s%s  %s\n", d.Kind, name, signature, o.span(d))
}

// span is the lines of a definition. If they are a guess, a note explains the mark.
func (o *outlineText) span(d *definition) string {
	o.guessed = o.guessed || d.Guessed
	return d.span()
}

func (o *outlineText) appendNotes() []byte {
	if o.guessed {
		o.b = append(o.b, "[toolpipe] ~: where it begins or ends is a guess; edit_definition does not edit it\n"...)
	}
	if o.full() && o.listed > 1 && o.listed < len(o.defs) {
		o.b = fmt.Appendf(o.b, "[toolpipe] %d of %d definitions are shown; definition finds others by name, grep_files by pattern\n", o.listed, len(o.defs))
	}
	return o.b
}

// skeleton appends the definitions inside another as their source without bodies.
func (o *outlineText) skeleton(outer *node) {
	for _, n := range outer.inside {
		if o.full() {
			return
		}
		o.listed++
		if n.Line <= o.shownTo { // it is in a line with another
			o.skeleton(n)
			continue
		}
		o.withoutBody(n)
		o.shownTo = max(o.shownTo, n.lastLine())
	}
}

// withoutBody appends the head of a definition, followed by the definitions inside it, or by
// "..." for its body.
func (o *outlineText) withoutBody(n *node) {
	o.appendLines(n.Start, n.Line-1)
	h := o.head(n.definition)
	isContainer := !isFunction(n.Kind) && (hasBody(n.Kind) || len(n.inside) > 0)
	wholeLine := isContainer || h.open != "{"
	if wholeLine {
		h.end = o.trimmedEnd(o.lineOf(max(h.end-1, h.begin)))
	}
	o.appendText(o.text[h.begin:h.end])
	o.shownTo = o.lineOf(h.end)
	doc, last := o.docString(n.definition, h), n.lastLine()
	switch {
	case wholeLine && o.shownTo >= last:
		o.b = append(o.b, '\n')
	case isContainer && len(n.inside) > 0:
		o.b = append(o.b, '\n')
		if doc != nil {
			o.appendText(append(doc, '\n'))
		}
		o.skeleton(n)
		if o.shownTo < last && (h.open == "\n" || bytes.IndexByte(o.line(o.mask, last), '}') >= 0) {
			o.appendLines(last, last)
		}
	case doc != nil:
		o.appendText(fmt.Appendf(nil, "\n%s\n%s...\n", doc, indentOf(string(doc))))
	case h.open == "{":
		o.b = append(o.b, " ... }\n"...)
	default:
		o.b = append(o.b, " ...\n"...)
	}
}

func (o *outlineText) appendLines(from, to int) {
	for n := from; n <= to && !o.full(); n++ {
		o.appendText(o.text[o.starts[n-1]:o.trimmedEnd(n)])
		o.b = append(o.b, '\n')
	}
}

// appendText appends a piece of the source. Its line ends become LF.
func (o *outlineText) appendText(text []byte) {
	text = text[:min(len(text), toolserver.MaxText)]
	o.b = append(o.b, bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))...)
}

func showDefinition(_ context.Context, c *call, args toolserver.Arguments) ([]byte, error) {
	part := args.TextOr("part", "whole")
	if !slices.Contains([]string{"whole", "signature", "docstring", "summary"}, part) {
		return nil, fmt.Errorf("part is %q; it is whole, signature, docstring or summary", part)
	}
	f, err := c.file(args.Text("path"))
	if err != nil {
		return nil, err
	}
	d, others, err := f.find(args.Text("name"))
	if err != nil {
		return nil, err
	}
	o := outlineText{sourceFile: f}
	o.b = fmt.Appendf(o.b, "%s:%s %s %s\n", confine.ShownName(f.path), o.span(d), d.Kind, d.fullName())
	switch part {
	case "whole":
		o.whole(d)
	case "signature":
		o.signatureLines(d)
	case "docstring":
		if !o.doc(d) {
			o.b = append(o.b, "(no comment above it and no docstring)\n"...)
		}
	case "summary":
		o.summary(d)
	}
	for _, other := range others {
		o.b = fmt.Appendf(o.b, "[toolpipe] also: %s %s, %s:%d\n", other.Kind, o.span(other), d.Name, other.Line)
	}
	return o.appendNotes(), nil
}

func (o *outlineText) whole(d *definition) {
	text := o.text[o.starts[d.Start-1]:o.starts[d.lastLine()]]
	if len(text) <= toolserver.MaxText {
		o.b = append(o.b, text...)
		if !bytes.HasSuffix(text, []byte("\n")) {
			o.b = append(o.b, '\n')
		}
		return
	}
	text = readable.WholeRunes(text[:toolserver.MaxText])
	o.b = append(o.b, text...)
	o.b = fmt.Appendf(o.b, "\n[toolpipe] the definition is cut in line %d; go on with get_file_slice, start_line %[1]d\n", o.lineOf(o.starts[d.Start-1]+len(text)))
}

func (o *outlineText) signatureLines(d *definition) {
	first := d.Start
	for first < d.Line && !o.code(first) {
		first++
	}
	o.appendLines(first, d.Line-1)
	h, isWhole := o.wholeHead(d)
	text := o.text[h.begin:h.end]
	if h.open == "{" {
		text = bytes.TrimRight(bytes.TrimSuffix(text, []byte("{")), whiteSpace)
	}
	o.appendText(text)
	if !isWhole && o.lineOf(h.end) < d.lastLine() {
		o.b = append(o.b, " ..."...)
	}
	o.b = append(o.b, '\n')
}

// doc appends the comment above a definition and its docstring, and reports whether there are
// any.
func (o *outlineText) doc(d *definition) bool {
	before := len(o.b)
	for n := d.Start; n < d.Line; n++ {
		if o.kinds[n-1] == hasNoCode {
			o.appendLines(n, n)
		}
	}
	if doc := o.docString(d, o.head(d)); doc != nil {
		o.appendText(append(doc, '\n'))
	}
	return len(o.b) > before
}

// summary appends a definition without its body, and a list of the definitions inside it.
func (o *outlineText) summary(d *definition) {
	o.signatureLines(d)
	o.doc(d)
	i := 0
	for &o.defs[i] != d {
		i++
	}
	o.list(nested(o.defs[i:]).inside[0], 1)
	for i := range o.defs { // methods elsewhere, as in C++ and Go
		if m := &o.defs[i]; m.Scope == d.fullName() && (m.Line < d.Start || m.Line > d.lastLine()) && !o.full() {
			o.b = append(o.b, "  "...)
			o.appendLine(m, d)
		}
	}
}
