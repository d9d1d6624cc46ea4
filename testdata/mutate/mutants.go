package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// A mutant is a source file with one change. It usually compiles, and the change
// keeps the number of every line.
type mutant struct {
	file, function string
	line           int
	what           string // the change, on one line
	from, to       int    // the bytes that are replaced
	text           string
}

// apply returns the changed source.
func (m *mutant) apply(source []byte) []byte {
	return []byte(string(source[:m.from]) + m.text + string(source[m.to:]))
}

// maker collects the mutants of one file.
type maker struct {
	file     string
	source   string
	set      *token.FileSet
	function string
	results  [][]string // the result types of the functions around a node
	made     []mutant
}

// makeMutants changes one thing at a time: a condition or an operand of one
// becomes true or false, a comparison includes or excludes its bound, a statement
// is left out, a result becomes the zero value of its type or true. Locks are not
// changed, because only the race detector finds their absence.
func makeMutants(file string, source []byte) ([]mutant, error) {
	m := &maker{file: file, source: string(source), set: token.NewFileSet()}
	syntax, err := parser.ParseFile(m.set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range syntax.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			m.function = f.Name.Name
			if f.Recv != nil {
				m.function = strings.TrimLeft(m.between(f.Recv.List[0].Type), "*") + "." + m.function
			}
			m.body(f.Type, f.Body)
		}
	}
	return m.made, nil
}

// body walks a function's body.
func (m *maker) body(t *ast.FuncType, body *ast.BlockStmt) {
	var results []string
	if t.Results != nil {
		for _, field := range t.Results.List {
			for range max(1, len(field.Names)) {
				results = append(results, m.between(field.Type))
			}
		}
	}
	m.results = append(m.results, results)
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			m.body(n.Type, n.Body)
			return false
		case *ast.IfStmt:
			m.truth(n.Cond, true)
			m.truth(n.Cond, false)
		case *ast.ForStmt:
			if n.Cond != nil {
				m.truth(n.Cond, false)
			}
		case *ast.SwitchStmt:
			if n.Tag == nil {
				m.cases(n.Body)
			}
		case *ast.BinaryExpr:
			m.binary(n)
		case *ast.BlockStmt:
			m.statements(n.List)
		case *ast.CaseClause:
			m.statements(n.Body)
		case *ast.CommClause:
			m.statements(n.Body)
		case *ast.ReturnStmt:
			m.returned(n)
		}
		return true
	})
	m.results = m.results[:len(m.results)-1]
}

func (m *maker) cases(body *ast.BlockStmt) {
	for _, clause := range body.List {
		for _, condition := range clause.(*ast.CaseClause).List {
			m.truth(condition, true)
			m.truth(condition, false)
		}
	}
}

// truth makes a condition true or false. The condition stays in the text, so that
// its variables are still used and its calls still happen.
func (m *maker) truth(condition ast.Expr, to bool) {
	text := "(" + m.between(condition)
	if to {
		text += " || true)"
	} else {
		text += " && false)"
	}
	m.replace(condition, text, fmt.Sprintf("%s is %t", m.clip(condition), to))
}

var bounds = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

func (m *maker) binary(n *ast.BinaryExpr) {
	if n.Op == token.LAND || n.Op == token.LOR {
		m.truth(n.X, n.Op == token.LAND)
		m.truth(n.Y, n.Op == token.LAND)
	}
	if other := bounds[n.Op]; other != "" {
		at := m.offset(n.OpPos)
		m.add(n.OpPos, at, at+len(n.Op.String()), other, fmt.Sprintf("%s with %s", m.clip(n), other))
	}
}

// statements leaves out one statement of a list at a time.
func (m *maker) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || isBlank(s) {
				continue
			}
		case *ast.BranchStmt:
			if s.Tok == token.FALLTHROUGH {
				continue
			}
		case *ast.ReturnStmt:
			if len(s.Results) > 0 {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt:
		default:
			continue
		}
		if text := m.between(s); !strings.HasSuffix(text, "ock()") { // Lock, RUnlock, …
			m.replace(s, "if false { "+text+" }", "without "+m.clip(s))
		}
	}
}

// isBlank tells whether a statement assigns to nothing.
func isBlank(s *ast.AssignStmt) bool {
	for _, to := range s.Lhs {
		if name, ok := to.(*ast.Ident); !ok || name.Name != "_" {
			return false
		}
	}
	return true
}

// returned makes each result the zero value, and a bool also true.
func (m *maker) returned(n *ast.ReturnStmt) {
	types := m.results[len(m.results)-1]
	if len(n.Results) == 1 && len(types) > 1 { // the results of a call
		zeros := make([]string, len(types))
		for i, t := range types {
			zeros[i] = "*new(" + t + ")"
		}
		text := m.between(n)
		m.replace(n, "if false { "+text+" }; return "+strings.Join(zeros, ", "), "zero values for "+m.clip(n.Results[0]))
		return
	}
	for i, r := range n.Results {
		text := m.between(r)
		if text == "nil" || text == "0" || text == `""` {
			continue
		}
		if types[i] == "bool" {
			m.truth(r, false)
			m.truth(r, true)
			continue
		}
		// The call stays and its result is dropped, so that every import is still used.
		m.replace(r, fmt.Sprintf("func() (zero %s) { if false { zero = %s }; return }()", types[i], text), "the zero value for "+m.clip(r))
	}
}

func (m *maker) offset(p token.Pos) int { return m.set.Position(p).Offset }

func (m *maker) between(n ast.Node) string { return m.source[m.offset(n.Pos()):m.offset(n.End())] }

// clip returns a node's text on one line.
func (m *maker) clip(n ast.Node) string {
	text := strings.Join(strings.Fields(m.between(n)), " ")
	if r := []rune(text); len(r) > 90 {
		text = string(r[:89]) + "…"
	}
	return "`" + text + "`"
}

func (m *maker) replace(n ast.Node, text, what string) {
	m.add(n.Pos(), m.offset(n.Pos()), m.offset(n.End()), text, what)
}

func (m *maker) add(at token.Pos, from, to int, text, what string) {
	if m.source[from:to] == "true" && strings.HasSuffix(what, " is true") || m.source[from:to] == "false" && strings.HasSuffix(what, " is false") {
		return // no change
	}
	m.made = append(m.made, mutant{m.file, m.function, m.set.Position(at).Line, what, from, to, text})
}
