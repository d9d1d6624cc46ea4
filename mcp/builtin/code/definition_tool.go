package code

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
)

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
	text = toolserver.WholeRunes(text[:toolserver.MaxText])
	o.b = append(o.b, text...)
	o.b = fmt.Appendf(o.b, "\n[toolpipe] the definition is cut in line %d; go on with get_file_slice, start_line %[1]d\n", o.lineOf(o.starts[d.Start-1]+len(text)))
}

// signatureLines appends a definition's decorators and head.
func (o *outlineText) signatureLines(d *definition) {
	for n := d.Start; n < d.Line; n++ {
		if o.code(n) {
			o.appendLines(n, n)
		}
	}
	h := o.head(d)
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

// doc appends the comment above a definition and its docstring, and reports whether
// there are any.
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

// summary appends a definition without its body, and what is inside it.
func (o *outlineText) summary(d *definition) {
	o.signatureLines(d)
	o.doc(d)
	i := 0
	for &o.defs[i] != d {
		i++
	}
	o.list(nested(o.defs[i:]).inside[0], 1)
	for i := range o.defs { // methods that stand elsewhere, as in C++ and Go
		if m := &o.defs[i]; m.Scope == d.fullName() && (m.Line < d.Start || m.Line > d.lastLine()) && !o.full() {
			o.b = append(o.b, "  "...)
			o.appendLine(m, d)
		}
	}
}
