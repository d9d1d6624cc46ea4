package rename

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// A goFile is a file of Go that is parsed.
type goFile struct {
	*File
	positions *token.FileSet
	syntax    *ast.File
	parents   map[ast.Node]ast.Node // of identifiers and selectors
	isOwn     bool                  // of the package of the target
	as        string                // the name by which it has that package; "" for none
	dot       bool                  // it has its names without one
	known     map[string]map[*ast.Ident]bool
}

// findGo finds the uses of the target of Go. The scopes of a file say what an identifier
// means; a member of a value is certain where the value is declared with its type.
func (p *Plan) findGo() error {
	own := p.Files[p.Target.File]
	var all []*goFile
	name := ""
	for _, f := range p.Files {
		g := &goFile{File: f, positions: token.NewFileSet(), parents: map[ast.Node]ast.Node{}, known: map[string]map[*ast.Ident]bool{}}
		syntax, err := parser.ParseFile(g.positions, "", f.Text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			if f == own {
				return fmt.Errorf("%s does not parse, so its scopes are not known: %w", f.Path, err)
			}
			for _, at := range f.words(p.Name) {
				f.mark(at, false, "the file does not parse")
			}
			continue
		}
		g.syntax = syntax
		if f == own {
			name = syntax.Name.Name
		}
		g.note()
		all = append(all, g)
	}
	for _, g := range all {
		g.isOwn = g.Dir == own.Dir && g.syntax.Name.Name == name
		g.as, g.dot = g.imported(own.Package, name)
	}
	if p.Scope != "" {
		return p.findGoMember(all)
	}
	embedders := map[string]bool{}
	for _, g := range all {
		g.embeds(p.Name, embedders)
	}
	for _, g := range all {
		if err := p.findGoPackageLevel(g, embedders); err != nil {
			return err
		}
	}
	return p.checkGoExport(all)
}

// note notes the parents of the nodes.
func (g *goFile) note() {
	var stack []ast.Node
	ast.Inspect(g.syntax, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return false
		}
		if len(stack) > 0 {
			g.parents[n] = stack[len(stack)-1]
		}
		stack = append(stack, n)
		return true
	})
}

// imported is the name by which a file has a package; dot says that it has its names.
func (g *goFile) imported(module, name string) (as string, dot bool) {
	for _, spec := range g.syntax.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		switch {
		case module == "" || path != module:
		case spec.Name == nil:
			return strings.TrimSuffix(name, "_test"), false
		case spec.Name.Name == ".":
			return "", true
		default:
			return spec.Name.Name, false
		}
	}
	return "", false
}

func (g *goFile) offset(n ast.Node) int { return g.positions.PositionFor(n.Pos(), false).Offset }

// identifiers calls a function with each identifier of these names.
func (g *goFile) identifiers(visit func(id *ast.Ident), names ...string) {
	ast.Inspect(g.syntax, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			for _, name := range names {
				if id.Name == name {
					visit(id)
				}
			}
		}
		return true
	})
}

// A role is what an identifier does where it stands.
type role uint8

const (
	inScope  role = iota // the scopes say what it means
	selected             // x.name
	member               // the name of a field or method where it is declared
	key                  // of a composite literal: a field, or a value of a map
	other                // a label, the name of the package or of an import
)

func (g *goFile) role(id *ast.Ident) role {
	switch parent := g.parents[id].(type) {
	case *ast.SelectorExpr:
		if parent.Sel == id {
			return selected
		}
	case *ast.Field:
		list, _ := g.parents[parent].(*ast.FieldList)
		isType := false
		switch g.parents[list].(type) {
		case *ast.StructType, *ast.InterfaceType:
			isType = true
		}
		for _, name := range parent.Names {
			if name == id && isType {
				return member
			}
		}
	case *ast.FuncDecl:
		if parent.Name == id && parent.Recv != nil {
			return member
		}
	case *ast.KeyValueExpr:
		if _, literal := g.parents[parent].(*ast.CompositeLit); literal && parent.Key == id {
			return key
		}
	case *ast.LabeledStmt:
		if parent.Label == id {
			return other
		}
	case *ast.BranchStmt, *ast.ImportSpec, *ast.File:
		return other
	}
	return inScope
}

// embeds adds the types of the file whose struct embeds the target: they have a field of its
// name. A struct without a name is one of the name "".
func (g *goFile) embeds(name string, embedders map[string]bool) {
	g.identifiers(func(id *ast.Ident) {
		n := ast.Node(id)
		for g.parents[n] != nil {
			f, isField := g.parents[n].(*ast.Field)
			if !isField {
				n = g.parents[n]
				continue
			}
			structure, inStruct := g.parents[g.parents[f]].(*ast.StructType)
			if _, isSelected := f.Type.(*ast.SelectorExpr); inStruct && len(f.Names) == 0 && (g.isOwn || isSelected || g.as != "") {
				spec, _ := g.parents[structure].(*ast.TypeSpec)
				if embedders[""] = true; spec != nil {
					embedders[g.Dir+" "+g.syntax.Name.Name+" "+spec.Name.Name] = true
				}
			}
			return
		}
	}, name)
}

// qualified identifies a type of the package of the file; "-" for any other.
func (g *goFile) qualified(t ast.Expr) string {
	if name := typeName(t); name != "" {
		return g.Dir + " " + g.syntax.Name.Name + " " + name
	}
	return "-"
}

// findGoPackageLevel marks the uses of a target that is declared at the top of a package.
func (p *Plan) findGoPackageLevel(g *goFile, embedders map[string]bool) error {
	if g.isOwn {
		if err := g.checkFree(p.To); err != nil {
			return err
		}
	}
	scopes := g.scopes(p.Name)
	g.identifiers(func(id *ast.Ident) {
		at, isLocal := g.offset(id), scopes[id]
		switch g.role(id) {
		case selected:
			x, _ := g.parents[id].(*ast.SelectorExpr).X.(*ast.Ident)
			switch {
			case x != nil && g.as != "" && x.Name == g.as && !g.scopes(g.as)[x]:
				g.mark(at, true, "")
			case len(embedders) > 0 && !g.isPackage(g.parents[id].(*ast.SelectorExpr).X):
				of := g.typeOf(g.parents[id].(*ast.SelectorExpr).X)
				g.mark(at, embedders[g.qualified(of)], "a struct embeds the type, and so has a field of this name")
			}
		case inScope:
			switch {
			case g.isOwn && !isLocal:
				g.mark(at, true, "")
			case g.dot && !isLocal:
				g.mark(at, false, "a dot import may bring it")
			}
		case key:
			of := g.literalOf(g.parents[g.parents[id]].(*ast.CompositeLit))
			switch {
			case embedders[g.qualified(of)]:
				g.mark(at, true, "")
			case g.isOwn && !isLocal:
				g.markKey(id, at)
			case len(embedders) > 0:
				g.mark(at, false, "a struct embeds the type, and so has a field of this name")
			}
		}
	}, p.Name)
	for _, group := range g.syntax.Comments {
		for _, c := range group.List {
			fields := strings.Fields(c.Text)
			isDirective := len(fields) > 1 && (fields[0] == "//export" || fields[0] == "//go:linkname") && fields[1] == p.Name
			if g.isOwn && isDirective {
				g.mark(g.offset(c)+strings.Index(c.Text, p.Name), false, "a directive names it")
			}
		}
	}
	return nil
}

// markKey marks the key of a literal. In one of a map or an array it is a value; in one of a
// type that is not known here it may be a field.
func (g *goFile) markKey(id *ast.Ident, at int) {
	literal := g.parents[g.parents[id]].(*ast.CompositeLit)
	switch t := literal.Type.(type) {
	case *ast.MapType, *ast.ArrayType:
		g.mark(at, true, "")
	case *ast.StructType:
	case *ast.Ident:
		if spec := g.typeSpec(t.Name); spec != nil {
			if _, isStruct := spec.Type.(*ast.StructType); !isStruct {
				g.mark(at, true, "")
			}
			return
		}
		g.mark(at, false, "the key of a literal: a field, or the definition")
	default:
		g.mark(at, false, "the key of a literal: a field, or the definition")
	}
}

// typeSpec is the declaration of a type at the top of the file.
func (g *goFile) typeSpec(name string) *ast.TypeSpec {
	for _, d := range g.syntax.Decls {
		if d, ok := d.(*ast.GenDecl); ok {
			for _, spec := range d.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.Name == name {
					return spec
				}
			}
		}
	}
	return nil
}

// checkFree returns an error when a file of the package uses the new name: it would mean the
// target there, or hide it.
func (g *goFile) checkFree(to string) (err error) {
	g.identifiers(func(id *ast.Ident) {
		if r := g.role(id); err == nil && (r == inScope || r == key) {
			err = taken(to, g.File, g.offset(id))
		}
	}, to)
	for _, spec := range g.syntax.Imports {
		full, _ := strconv.Unquote(spec.Path.Value)
		if name := path.Base(full); err == nil && (spec.Name == nil && name == to || spec.Name != nil && spec.Name.Name == to) {
			err = taken(to, g.File, g.offset(spec))
		}
	}
	return err
}

// checkGoExport returns an error when other packages use the target, and could not use it
// under the new name.
func (p *Plan) checkGoExport(all []*goFile) error {
	for _, g := range all {
		if at := g.Certain(); !g.isOwn && len(at) > 0 && !ast.IsExported(p.To) {
			return fmt.Errorf("nothing was written: %s:%d is in another package, which cannot use %q: it is not exported", g.Path, g.Line(at[0]), p.To)
		}
	}
	return nil
}
