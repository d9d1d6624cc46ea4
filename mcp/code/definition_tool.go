package code

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

func definitionTool() tool {
	return tool{define("definition", "Show a definition of a source file by its name.", toolserver.ReadsOnly,
		toolserver.Parameter{Name: "path", Kind: "string", About: "source file, relative to the root", Required: true},
		toolserver.Parameter{Name: "name", Kind: "string", About: "name, such as parse, Parser.parse or Parser::parse; name:LINE where there are several", Required: true},
		toolserver.Parameter{Name: "part", Kind: "string", About: "whole, when absent; signature; docstring; or summary: signature, comment and what is inside"},
	), showDefinition}
}

func showDefinition(ctx context.Context, c *call, args toolserver.Arguments) (*wire.Result, error) {
	part := args.Text("part")
	switch part {
	case "whole", "signature", "docstring", "summary":
	case "":
		if part = "whole"; !args.Has("part") {
			break
		}
		fallthrough
	default:
		return nil, fmt.Errorf("part is %q; it is whole, signature, docstring or summary", args.Text("part"))
	}
	f, err := c.file(ctx, args.Text("path"))
	if err != nil {
		return nil, err
	}
	d, others, err := f.find(args.Text("name"))
	if err != nil {
		return nil, err
	}
	o := outlineText{sourceFile: f}
	o.b = fmt.Appendf(o.b, "%s:%s %s %s\n", confine.ShownName(f.path), o.span(d), d.Kind, d.FullName())
	switch part {
	case "whole":
		o.whole(d)
	case "signature":
		o.signatureLines(d)
	case "docstring":
		if !o.doc(d) {
			o.b = fmt.Appendf(o.b, "(no comment above it and no docstring)\n")
		}
	case "summary":
		o.summary(d)
	}
	for _, other := range others {
		o.b = fmt.Appendf(o.b, "[toolpipe] also: %s %s, %s:%d\n", other.Kind, o.span(other), d.Name, other.Line)
	}
	return toolserver.TextResult(o.appendNotes()), nil
}

// find gives the one definition of a name, and declarations and implementations of
// the same name beside it.
func (f *sourceFile) find(name string) (d *Definition, others []*Definition, err error) {
	if strings.TrimSpace(name) == "" {
		return nil, nil, fmt.Errorf("name is empty; outline shows the names in %q", f.path)
	}
	found := named(f.defs, name)
	if len(found) == 0 {
		return nil, nil, fmt.Errorf("%q defines no %q%s; outline shows the names in it", f.path, name, nearName(f.defs, name))
	}
	var main []*Definition
	for _, d := range found {
		inFirst := d != found[0] && within(d.Scope, found[0].FullName()) // as a constructor in its class
		if inFirst || d.Kind == "prototype" || d.Kind == "externvar" || d.Kind == "implementation" {
			others = append(others, d)
		} else {
			main = append(main, d)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil, nil
	case len(main) == 1:
		return main[0], others, nil
	}
	o := outlineText{sourceFile: f}
	o.b = fmt.Appendf(o.b, "%q has %d definitions of %q; name one by its line:\n", f.path, len(found), name)
	for _, d := range found[:min(len(found), 100)] {
		o.b = fmt.Appendf(o.b, "%s:%d  ", d.FullName(), d.Line)
		o.appendLine(d, nil)
	}
	return nil, nil, fmt.Errorf("%s", bytes.TrimSpace(o.b))
}

// whole appends the source of a definition.
func (o *outlineText) whole(d *Definition) {
	text := o.text[o.starts[d.Start-1]:o.starts[d.lastLine()]]
	if len(text) <= toolserver.MaxText {
		o.b = append(o.b, text...)
		if !bytes.HasSuffix(text, []byte("\n")) {
			o.b = append(o.b, '\n')
		}
		return
	}
	text = toolserver.WholeRunes(text[:toolserver.MaxText])
	o.b = append(o.b, text...)
	o.b = fmt.Appendf(o.b, "\n[toolpipe] the definition is cut in line %d; go on with get_file_slice, start_line %[1]d\n", o.lineOf(o.starts[d.Start-1]+len(text)))
}

// signatureLines appends a definition's decorators and head.
func (o *outlineText) signatureLines(d *Definition) {
	for n := d.Start; n < d.Line; n++ {
		if o.code(n) {
			o.appendLines(n, n)
		}
	}
	h := o.head(d, o.language)
	text := o.text[h.begin:h.end]
	if h.open == "{" {
		text = bytes.TrimRight(bytes.TrimSuffix(text, []byte("{")), " \t\r\n")
	}
	o.appendText(text)
	if h.open == "" && o.lineOf(h.end) < d.lastLine() {
		o.b = append(o.b, " ..."...)
	}
	o.b = append(o.b, '\n')
}

// doc appends the comment above a definition and its docstring, and says whether
// there are any.
func (o *outlineText) doc(d *Definition) bool {
	before := len(o.b)
	o.appendText(o.docLines(d))
	o.docLine(d, o.head(d, o.language))
	return len(o.b) > before
}

// summary appends a definition without its body, and what is inside it.
func (o *outlineText) summary(d *Definition) {
	o.signatureLines(d)
	o.doc(d)
	for _, n := range nested(o.defs) {
		if found := n.of(d); found != nil {
			o.list(found.inside, d, 1)
		}
	}
	for i := range o.defs { // methods that stand elsewhere, as in C++ and Go
		if m := &o.defs[i]; m.Scope == d.FullName() && (m.Line < d.Start || m.Line > d.lastLine()) && !o.full() {
			o.b = append(o.b, "  "...)
			o.appendLine(m, d)
		}
	}
}

// of is the node of a definition, in n or below it.
func (n *node) of(d *Definition) *node {
	if n.Definition == d {
		return n
	}
	for _, inner := range n.inside {
		if found := inner.of(d); found != nil {
			return found
		}
	}
	return nil
}
