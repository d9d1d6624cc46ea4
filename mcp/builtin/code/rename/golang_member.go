package rename

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// findGoMember marks the uses of a method or a field of a type.
func (p *Plan) findGoMember(all []*goFile) error {
	if strings.Contains(p.Scope, ".") {
		return fmt.Errorf("%s.%s is inside another definition; it is not renamed", p.Scope, p.Name)
	}
	for _, g := range all {
		if at := g.declares(p.Scope, p.To); g.isOwn && at >= 0 {
			return taken(p.To, g.File, at)
		}
	}
	for _, g := range all {
		g.identifiers(func(id *ast.Ident) {
			at := g.offset(id)
			switch g.role(id) {
			case member:
				owner, isInterface := g.owner(id)
				switch {
				case g.isOwn && owner == p.Scope:
					g.mark(at, true, "")
				case isInterface:
					g.mark(at, false, "an interface has a method of this name")
				}
			case selected:
				x := g.parents[id].(*ast.SelectorExpr).X
				if !g.isPackage(x) {
					known := g.isTarget(g.typeOf(x), p.Scope)
					g.mark(at, known, "the type of the value before it is not known here")
				}
			case key:
				t := g.literalOf(g.parents[g.parents[id]].(*ast.CompositeLit))
				switch {
				case g.isTarget(t, p.Scope):
					g.mark(at, true, "")
				case t == nil:
					g.mark(at, false, "the type of the literal is not known here")
				}
			}
		}, p.Name)
	}
	return p.checkGoExport(all)
}

// owner is the type of which an identifier declares a field or a method.
func (g *goFile) owner(id *ast.Ident) (name string, isInterface bool) {
	if f, ok := g.parents[id].(*ast.FuncDecl); ok {
		return typeName(f.Recv.List[0].Type), false
	}
	list := g.parents[g.parents[id]]
	_, isInterface = g.parents[list].(*ast.InterfaceType)
	if spec, ok := g.parents[g.parents[list]].(*ast.TypeSpec); ok {
		name = spec.Name.Name
	}
	return name, isInterface
}

// declares is where a file declares a member of a type, -1 for nowhere.
func (g *goFile) declares(owner, name string) (at int) {
	at = -1
	g.identifiers(func(id *ast.Ident) {
		if g.role(id) == member {
			if of, _ := g.owner(id); of == owner {
				at = g.offset(id)
			}
		}
	}, name)
	return at
}

// typeName is the name of a type without pointers and type parameters; "" for one without.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.ParenExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	}
	return ""
}

// isTarget reports whether a type is the one whose member is renamed.
func (g *goFile) isTarget(t ast.Expr, name string) bool {
	switch t := t.(type) {
	case *ast.StarExpr:
		return g.isTarget(t.X, name)
	case *ast.ParenExpr:
		return g.isTarget(t.X, name)
	case *ast.SelectorExpr:
		x, ok := t.X.(*ast.Ident)
		return ok && g.as != "" && x.Name == g.as && t.Sel.Name == name
	}
	return g.isOwn && t != nil && typeName(t) == name && !g.scopes(name)[identOf(t)]
}

func identOf(t ast.Expr) *ast.Ident {
	switch t := t.(type) {
	case *ast.Ident:
		return t
	case *ast.IndexExpr:
		return identOf(t.X)
	case *ast.IndexListExpr:
		return identOf(t.X)
	}
	return nil
}

// isPackage reports whether an expression is the name of an import.
func (g *goFile) isPackage(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	if !ok {
		return false
	}
	if g.scopes(id.Name)[id] {
		return false
	}
	for _, spec := range g.syntax.Imports {
		text := strings.Trim(spec.Path.Value, "`\"")
		if spec.Name != nil && spec.Name.Name == id.Name || spec.Name == nil && (text[strings.LastIndexByte(text, '/')+1:] == id.Name || strings.Contains(text, id.Name)) {
			return true
		}
	}
	return false
}

// typeOf is the type that the declaration of a value gives it; nil where it is not written
// there. Of a name that is declared twice in a function it is not known.
func (g *goFile) typeOf(x ast.Expr) ast.Expr {
	switch x := x.(type) {
	case *ast.ParenExpr:
		if star, ok := x.X.(*ast.StarExpr); ok {
			return star.X // of a method expression, (*T).name
		}
		return g.typeOf(x.X)
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return g.typeOf(x.X)
		}
	case *ast.CompositeLit:
		return x.Type
	case *ast.Ident:
		return g.declaredType(x)
	}
	return nil
}

// declaredType looks for the one declaration of a name in the function around it.
func (g *goFile) declaredType(id *ast.Ident) (found ast.Expr) {
	var around ast.Node
	for n := g.parents[id]; n != nil; n = g.parents[n] {
		if f, ok := n.(*ast.FuncDecl); ok {
			around = f
		}
	}
	if around == nil {
		return nil
	}
	if !g.scopes(id.Name)[id] {
		return id // not a value: a type, as in T.name
	}
	count := 0
	declared := func(names []*ast.Ident, t ast.Expr) {
		for _, name := range names {
			if name.Name == id.Name {
				found = t
				count++
			}
		}
	}
	ast.Inspect(around, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			declared(n.Names, n.Type)
		case *ast.ValueSpec:
			t := n.Type
			if t == nil && len(n.Values) == len(n.Names) && len(n.Names) == 1 {
				t = literalType(n.Values[0])
			}
			declared(n.Names, t)
		case *ast.AssignStmt:
			for i, x := range n.Lhs {
				if name, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					var t ast.Expr
					if len(n.Lhs) == len(n.Rhs) {
						t = literalType(n.Rhs[i])
					}
					declared([]*ast.Ident{name}, t)
				}
			}
		case *ast.RangeStmt:
			for _, x := range []ast.Expr{n.Key, n.Value} {
				if name, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					declared([]*ast.Ident{name}, nil)
				}
			}
		}
		return true
	})
	if count != 1 {
		return nil
	}
	return found
}

// literalOf is the type of a literal, which may be written in the literal around it alone.
func (g *goFile) literalOf(literal *ast.CompositeLit) ast.Expr {
	if literal.Type != nil {
		return literal.Type
	}
	n := g.parents[literal]
	pair, isPair := n.(*ast.KeyValueExpr)
	if isPair {
		n = g.parents[n]
	}
	around, ok := n.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	switch t := g.literalOf(around).(type) {
	case *ast.ArrayType:
		return t.Elt
	case *ast.MapType:
		if isPair && pair.Key == literal {
			return t.Key
		}
		return t.Value
	}
	return nil
}

// literalType is the type of a literal such as T{} or &T{}, or of new(T).
func literalType(x ast.Expr) ast.Expr {
	switch x := x.(type) {
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return literalType(x.X)
		}
	case *ast.CompositeLit:
		return x.Type
	case *ast.CallExpr:
		if f, ok := x.Fun.(*ast.Ident); ok && f.Name == "new" && len(x.Args) == 1 {
			return x.Args[0]
		}
	}
	return nil
}
