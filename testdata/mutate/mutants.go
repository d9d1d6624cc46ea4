package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A mutant is one change of a source file.
type mutant struct {
	file, function string
	text           string // of the function, without the change
	line           int
	what           string // the change, on one line
	number         int    // by which package active knows it
	edit           edit
	key            string // of its result
}

// An edit builds a change into the source: before and after are put around the
// bytes from:to, and the operator at op becomes a comma. In before, # stands for
// the change's number. An edit without before cannot be built in.
type edit struct {
	from, to      int
	before, after string
	op, opEnd     int
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.function, m.what)
}

// maker collects the mutants of one file.
type maker struct {
	file     string
	source   string
	set      *token.FileSet
	function string
	text     string     // the function's
	results  [][]string // the result types of the functions around a node
	zeros    []string   // the texts that are a zero value
	made     []*mutant
}

// makeMutants changes one thing at a time: a condition or an operand of one
// becomes true or false, a comparison includes or excludes its bound, a statement
// is left out, a result becomes the zero value of its type or true. Locks are not
// changed, because only the race detector finds their absence.
func makeMutants(file string, source []byte, zeros ...string) ([]*mutant, error) {
	m := &maker{file: file, source: string(source), set: token.NewFileSet(), zeros: append(zeros, "nil", "0", `""`)}
	syntax, err := parser.ParseFile(m.set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range syntax.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			m.function, m.text = f.Name.Name, m.between(f)
			if f.Recv != nil {
				m.function = strings.TrimLeft(m.between(f.Recv.List[0].Type), "*") + "." + m.function
			}
			m.body(f.Type, f.Body)
		}
	}
	return m.made, nil
}

// zeroConstants returns the constants of a package that are the zero value.
func zeroConstants(dir string) (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, m := range regexp.MustCompile(`(?m)^\s*(?:const )?(\w+) +\w+ += iota`).FindAllSubmatch(source, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names, err
}

// body walks a function's body. A node's changes are made before those of the
// nodes inside of it.
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

// truth makes a condition true or false. The condition is still evaluated.
func (m *maker) truth(condition ast.Expr, to bool) {
	if text := m.between(condition); text == fmt.Sprint(to) {
		return // no change
	}
	before := "active.False(#, "
	if to {
		before = "active.True(#, "
	}
	m.add(condition, edit{before: before, after: ")"}, fmt.Sprintf("%s is %t", m.clip(condition), to))
}

var bounds = map[token.Token]struct{ other, function string }{
	token.LSS: {"<=", "Less"}, token.LEQ: {"<", "LessEqual"}, token.GTR: {">=", "Greater"}, token.GEQ: {">", "GreaterEqual"},
}

func (m *maker) binary(n *ast.BinaryExpr) {
	if n.Op == token.LAND || n.Op == token.LOR {
		m.truth(n.X, n.Op == token.LAND)
		m.truth(n.Y, n.Op == token.LAND)
	}
	if b, ok := bounds[n.Op]; ok {
		at := m.offset(n.OpPos)
		m.add(n, edit{before: "active." + b.function + "(#, ", after: ")", op: at, opEnd: at + len(n.Op.String())}, fmt.Sprintf("%s with %s", m.clip(n), b.other))
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
			m.add(s, edit{before: "if active.Keep(#) { ", after: " }"}, "without "+m.clip(s))
		}
	}
}

// isBlank reports whether a statement assigns to nothing.
func isBlank(s *ast.AssignStmt) bool {
	for _, to := range s.Lhs {
		if name, ok := to.(*ast.Ident); !ok || name.Name != "_" {
			return false
		}
	}
	return true
}

// returned makes each result the zero value, and a bool also true. An expression
// whose value is replaced is not evaluated, unless it is a bool.
func (m *maker) returned(n *ast.ReturnStmt) {
	types := m.results[len(m.results)-1]
	if len(n.Results) == 1 && len(types) > 1 { // the results of a call
		zeros := make([]string, len(types))
		for i, t := range types {
			zeros[i] = "*new(" + t + ")"
		}
		m.instead(n, zeros, "zero values for "+m.clip(n.Results[0]))
		return
	}
	texts := make([]string, len(n.Results))
	for i, r := range n.Results {
		texts[i] = m.between(r)
	}
	for i, r := range n.Results {
		if slices.Contains(m.zeros, texts[i]) || texts[i] == types[i]+"{}" {
			continue
		}
		if types[i] == "bool" {
			m.truth(r, false)
			m.truth(r, true)
			continue
		}
		others := append([]string(nil), texts...)
		others[i] = "*new(" + types[i] + ")"
		m.instead(n, others, "the zero value for "+m.clip(r))
	}
}

// instead returns other results. The numbers of the lines must stay the same.
func (m *maker) instead(n *ast.ReturnStmt, results []string, what string) {
	e := edit{before: "if active.On(#) { return " + strings.Join(results, ", ") + " }; "}
	if strings.Contains(e.before, "\n") {
		e = edit{}
	}
	m.add(n, e, what)
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

func (m *maker) add(n ast.Node, e edit, what string) {
	e.from, e.to = m.offset(n.Pos()), m.offset(n.End())
	m.made = append(m.made, &mutant{file: m.file, function: m.function, text: m.text, line: m.set.Position(n.Pos()).Line, what: what, edit: e})
}
