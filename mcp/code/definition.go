package code

import (
	"cmp"
	"context"
	"slices"
	"strings"
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
	defs, err := o.session.definitions(name, text)
	if err != nil {
		o.close()
		o.session = nil
		return nil, err
	}
	return sorted(defs), nil
}

func sorted(defs []Definition) []Definition {
	slices.SortStableFunc(defs, func(a, b Definition) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), strings.Compare(a.Scope, b.Scope)) // what is around comes first
	})
	return defs
}

// named gives the definitions of a name, which may have names before it, as
// Class.method or Class::method.
func named(defs []Definition, name string) (found []*Definition) {
	name = normalName(name)
	for i := range defs {
		if full := defs[i].FullName(); full == name || strings.HasSuffix(full, "."+name) {
			found = append(found, &defs[i])
		}
	}
	return found
}
