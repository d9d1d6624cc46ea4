package code

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// goDefinitions returns the definitions of a Go file. In a file with syntax errors it finds
// those that the parser recognises.
func goDefinitions(text []byte) []definition {
	g := goFile{positions: token.NewFileSet(), text: text}
	file, _ := parser.ParseFile(g.positions, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if clause := "package p; "; len(file.Decls) == 0 && !file.Package.IsValid() && !bytes.HasPrefix(text, []byte(clause)) {
		return goDefinitions(append([]byte(clause), text...)) // of a part of a file
	}
	for _, declaration := range file.Decls {
		switch declaration := declaration.(type) {
		case *ast.FuncDecl:
			g.function(declaration)
		case *ast.GenDecl:
			g.general(declaration)
		}
	}
	return g.defs
}

type goFile struct {
	positions *token.FileSet
	text      []byte
	defs      []definition
}

func (g *goFile) line(pos token.Pos) int { return g.positions.PositionFor(pos, false).Line }

// add adds a definition at a name. node is the complete definition, doc the comment above it.
func (g *goFile) add(name *ast.Ident, kind, scope string, node ast.Node, doc *ast.CommentGroup) *definition {
	start := node.Pos()
	if doc != nil {
		start = doc.Pos()
	}
	g.defs = append(g.defs, definition{
		Name: name.Name, Kind: kind, Scope: scope,
		Line: g.line(name.Pos()), Start: g.line(start), End: g.line(node.End() - 1),
	})
	return &g.defs[len(g.defs)-1]
}

func (g *goFile) function(f *ast.FuncDecl) {
	kind, scope := "function", ""
	if f.Recv != nil && len(f.Recv.List) > 0 {
		kind, scope = "method", typeName(f.Recv.List[0].Type)
	}
	g.add(f.Name, kind, scope, f, f.Doc).Signature = g.signature(f.Type)
	if f.Body != nil {
		g.localTypes(f.Body, strings.TrimPrefix(scope+"."+f.Name.Name, "."))
	}
}

func (g *goFile) localTypes(body *ast.BlockStmt, scope string) {
	ast.Inspect(body, func(n ast.Node) bool {
		if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.TYPE {
			from := len(g.defs)
			g.general(d)
			for i := range g.defs[from:] {
				inner := &g.defs[from+i]
				inner.Scope = strings.TrimSuffix(scope+"."+inner.Scope, ".")
			}
		}
		return true
	})
}

// general adds the definitions in a declaration of const, var or type. A definition in a
// declaration without brackets has the lines of the whole declaration.
func (g *goFile) general(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		node, doc := ast.Node(spec), (*ast.CommentGroup)(nil)
		if !d.Lparen.IsValid() {
			node, doc = d, d.Doc
		}
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				g.add(name, d.Tok.String(), "", node, cmp.Or(spec.Doc, doc))
			}
		case *ast.TypeSpec:
			g.typeSpec(spec, node, cmp.Or(spec.Doc, doc))
		}
	}
}

func (g *goFile) typeSpec(spec *ast.TypeSpec, node ast.Node, doc *ast.CommentGroup) {
	kind, members := "type", (*ast.FieldList)(nil)
	switch t := spec.Type.(type) {
	case *ast.StructType:
		kind, members = "struct", t.Fields
	case *ast.InterfaceType:
		kind, members = "interface", t.Methods
	}
	at := len(g.defs)
	g.add(spec.Name, kind, "", node, doc)
	if members == nil {
		return
	}
	var parents []string
	for _, field := range members.List {
		if name := typeName(field.Type); len(field.Names) == 0 && name != "" {
			parents = append(parents, name)
			g.add(&ast.Ident{Name: name, NamePos: field.Pos()}, "embedded", spec.Name.Name, field, field.Doc)
		}
		for _, name := range field.Names {
			if method, ok := field.Type.(*ast.FuncType); ok && kind == "interface" {
				g.add(name, "method", spec.Name.Name, field, field.Doc).Signature = g.signature(method)
				continue
			}
			g.add(name, "field", spec.Name.Name, field, field.Doc)
		}
	}
	g.defs[at].Parents = parents
}

// signature is the text after the name of a function, in one line.
func (g *goFile) signature(f *ast.FuncType) string {
	from, to := f.Params.Pos(), f.End()
	if f.TypeParams != nil {
		from = f.TypeParams.Pos()
	}
	file := g.positions.File(from)
	if file == nil {
		return ""
	}
	return asLine(string(g.text[file.Offset(from):min(file.Offset(to), len(g.text))]))
}

// typeName is the name of a type without pointers, type parameters and package; "" for an
// unnamed type.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	}
	return ""
}
