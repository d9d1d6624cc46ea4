package rename

import (
	"go/ast"
	"go/token"
)

// scopes reports of the identifiers of a name whether they are local: declared in a function,
// or a parameter, and so nothing of the package. It knows the blocks of Go, and looks at one
// name alone.
func (g *goFile) scopes(name string) map[*ast.Ident]bool {
	if known := g.known[name]; known != nil {
		return known
	}
	s := &scope{name: name, local: map[*ast.Ident]bool{}}
	g.known[name] = s.local
	for _, d := range g.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			s.function(d.Recv, d.Type, d.Body)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					s.typeSpec(spec, false)
				case *ast.ValueSpec:
					s.visit(spec.Type)
					s.all(spec.Values)
				}
			}
		}
	}
	return s.local
}

// A scope walks over the blocks of a file.
type scope struct {
	name     string
	declared bool // the name is declared in this block, or in one around it
	local    map[*ast.Ident]bool
}

// block visits what is in a block of its own.
func (s *scope) block(inside func()) {
	before := s.declared
	inside()
	s.declared = before
}

// declare notes identifiers that are declared here, from here on.
func (s *scope) declare(names ...*ast.Ident) {
	for _, id := range names {
		if id != nil && id.Name == s.name {
			s.local[id], s.declared = true, true
		}
	}
}

func (s *scope) fields(list *ast.FieldList, declares bool) {
	if list == nil {
		return
	}
	for _, f := range list.List {
		s.visit(f.Type)
	}
	for _, f := range list.List {
		if declares {
			s.declare(f.Names...)
		}
	}
}

func (s *scope) function(recv *ast.FieldList, t *ast.FuncType, body *ast.BlockStmt) {
	s.block(func() {
		if recv != nil {
			for _, f := range recv.List {
				s.receiver(f.Type)
			}
			s.fields(recv, true)
		}
		if t.TypeParams != nil { // which their own constraints may name
			for _, f := range t.TypeParams.List {
				s.declare(f.Names...)
			}
			s.fields(t.TypeParams, false)
		}
		s.fields(t.Params, false)
		s.fields(t.Results, false)
		s.fields(t.Params, true)
		s.fields(t.Results, true)
		if body != nil {
			s.statements(body.List)
		}
	})
}

// receiver declares the type parameters of a receiver such as (l *List[T]).
func (s *scope) receiver(t ast.Expr) {
	switch t := t.(type) {
	case *ast.StarExpr:
		s.receiver(t.X)
	case *ast.ParenExpr:
		s.receiver(t.X)
	case *ast.IndexExpr:
		if id, ok := t.Index.(*ast.Ident); ok {
			s.declare(id)
		}
	case *ast.IndexListExpr:
		for _, index := range t.Indices {
			if id, ok := index.(*ast.Ident); ok {
				s.declare(id)
			}
		}
	}
}

func (s *scope) typeSpec(spec *ast.TypeSpec, local bool) {
	if local {
		s.declare(spec.Name)
	}
	s.block(func() {
		if spec.TypeParams != nil {
			for _, f := range spec.TypeParams.List {
				s.declare(f.Names...)
			}
			s.fields(spec.TypeParams, false)
		}
		s.visit(spec.Type)
	})
}

func (s *scope) statements(list []ast.Stmt) {
	for _, statement := range list {
		s.visit(statement)
	}
}

func (s *scope) all(list []ast.Expr) {
	for _, x := range list {
		s.visit(x)
	}
}

// visit goes through a statement or an expression.
func (s *scope) visit(n ast.Node) {
	if isNil(n) {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if n.Name == s.name && s.declared {
				s.local[n] = true
			}
		case *ast.SelectorExpr:
			s.visit(n.X)
			return false
		case *ast.FuncLit:
			s.function(nil, n.Type, n.Body)
			return false
		case *ast.FuncType:
			s.block(func() { s.function(nil, n, nil) })
			return false
		case *ast.StructType:
			s.fields(n.Fields, false)
			return false
		case *ast.InterfaceType:
			s.fields(n.Methods, false)
			return false
		case *ast.BlockStmt:
			s.block(func() { s.statements(n.List) })
			return false
		}
		return s.statement(n)
	})
}

// isNil reports whether a node is absent.
func isNil(n ast.Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *ast.BlockStmt:
		return n == nil
	case *ast.BasicLit:
		return n == nil
	case *ast.CallExpr:
		return n == nil
	}
	return false
}

// statement visits a statement that declares something, or opens a block. It reports whether
// the walk has to go into the node.
func (s *scope) statement(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		s.all(n.Rhs)
		if n.Tok != token.DEFINE {
			s.all(n.Lhs)
			return false
		}
		for _, x := range n.Lhs {
			if id, ok := x.(*ast.Ident); ok {
				s.declare(id)
			}
		}
	case *ast.DeclStmt:
		for _, spec := range n.Decl.(*ast.GenDecl).Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				s.visit(spec.Type)
				s.all(spec.Values)
				s.declare(spec.Names...)
			case *ast.TypeSpec:
				s.typeSpec(spec, true)
			}
		}
	case *ast.IfStmt:
		s.block(func() { s.parts(n.Init, n.Cond, n.Body, n.Else) })
	case *ast.ForStmt:
		s.block(func() { s.parts(n.Init, n.Cond, n.Post, n.Body) })
	case *ast.SwitchStmt:
		s.block(func() { s.parts(n.Init, n.Tag, n.Body) })
	case *ast.TypeSwitchStmt:
		s.block(func() { s.parts(n.Init, n.Assign, n.Body) })
	case *ast.CaseClause:
		s.block(func() { s.all(n.List); s.statements(n.Body) })
	case *ast.CommClause:
		s.block(func() { s.parts(n.Comm); s.statements(n.Body) })
	case *ast.RangeStmt:
		s.block(func() {
			s.visit(n.X)
			for _, x := range []ast.Expr{n.Key, n.Value} {
				if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					s.declare(id)
				} else {
					s.visit(x)
				}
			}
			s.visit(n.Body)
		})
	case *ast.LabeledStmt:
		s.visit(n.Stmt)
	case *ast.BranchStmt:
	default:
		return true
	}
	return false
}

func (s *scope) parts(parts ...ast.Node) {
	for _, part := range parts {
		s.visit(part)
	}
}
