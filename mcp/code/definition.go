package code

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/code/lexis"
	"toolpipe/stream/nearest"
)

// A Definition is a named thing in a source file. Lines are counted from 1 and
// included.
type Definition struct {
	Name       string
	Kind       string // function, class, ... as go/ast or ctags call it
	Scope      string // the names that it is in, joined by dots; "" at the top
	Line       int    // of the name
	Start, End int    // with decorators, attributes and the comment directly above; an End of 0: not known
	Guessed    bool   // End is not certain
	Signature  string // of a function: parameters, and what is behind them
	Parents    []string

	structure string // the full name of the struct whose type it is
}

// FullName is the name with those that it is in.
func (d *Definition) FullName() string {
	if d.Scope == "" {
		return d.Name
	}
	return d.Scope + "." + d.Name
}

// outline gives the definitions of one file, in the order of their lines. The name
// tells the language.
func (c *call) outline(ctx context.Context, name string, text []byte) ([]Definition, error) {
	o := c.outliner(ctx)
	defer o.close()
	return o.outline(name, text)
}

// An outliner gives the definitions of one file after the other. It starts one
// ctags, when the first file needs it.
type outliner struct {
	ctx     context.Context
	ctags   *ctags
	session *session
}

func (c *call) outliner(ctx context.Context) *outliner { return &outliner{ctx: ctx, ctags: c.ctags} }

func (o *outliner) close() {
	if o.session != nil {
		o.session.close()
	}
}

// outline is as that of call. After an error about one file, others may be
// outlined.
func (o *outliner) outline(name string, text []byte) ([]Definition, error) {
	if strings.HasSuffix(name, ".go") {
		return sorted(goDefinitions(text)), nil
	}
	if o.session == nil {
		var err error
		if o.session, err = o.ctags.start(o.ctx); err != nil {
			return nil, err
		}
	}
	language := lexis.Of(name, text)
	defs, err := o.session.definitions(ctagsName(name, language), text)
	if err != nil {
		o.close()
		o.session = nil
		return nil, err
	}
	l := newLayout(language, text)
	return l.addMissed(l.place(sorted(defs)), language), nil
}

func sorted(defs []Definition) []Definition {
	slices.SortStableFunc(defs, func(a, b Definition) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), strings.Compare(a.Scope, b.Scope)) // what is around comes first
	})
	return defs
}

// named gives the definitions of a name, which may have names before it, as
// Class.method or Class::method, and a line behind it, as method:12. Those with
// exactly that name come alone, without others that have more names before it.
func named(defs []Definition, name string) (found []*Definition) {
	name, line := cutLine(name)
	name = normalName(strings.TrimSpace(name))
	exact := false
	for i := range defs {
		d := &defs[i]
		full := d.FullName()
		switch {
		case line > 0 && (line < d.Start || line > d.Line):
		case full == name && !exact:
			exact, found = true, []*Definition{d}
		case full == name, !exact && strings.HasSuffix(full, "."+name):
			found = append(found, d)
		}
	}
	return found
}

// cutLine cuts the line off a name; 0 is none.
func cutLine(name string) (string, int) {
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		if line, err := strconv.Atoi(name[i+1:]); err == nil && line > 0 {
			return name[:i], line
		}
	}
	return name, 0
}

// nearName is a hint at the name that is most like one that is not defined.
func nearName(defs []Definition, name string) string {
	name, _ = cutLine(name)
	names := make([]string, 0, 2*len(defs))
	for i := range defs {
		names = append(names, defs[i].Name, defs[i].FullName())
	}
	if near := nearest.Nearest(normalName(name), names); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}
