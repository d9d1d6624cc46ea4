package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
)

func goGrammar() *grammar {
	return &grammar{
		parse: parseGo, header: goHeader, apart: true, form: `"net/http" or import x "net/http"`,
		rank: func(st *Statement) int {
			if first, _, _ := strings.Cut(st.Module, "/"); strings.Contains(first, ".") {
				return 1
			}
			return 0
		},
		keys: []func(*Statement) string{func(st *Statement) string { return st.Module }},
		has: func(there, new *Statement) bool {
			return there.Module == new.Module && goAlias(there) == goAlias(new)
		},
		write: func(_ *source, st *Statement, _ string) string {
			if st.Whole != "" {
				return "import " + st.Whole + " " + strconv.Quote(st.Module)
			}
			return "import " + strconv.Quote(st.Module)
		},
	}
}

// goAlias is the name by which a file has a package; an alias that is the last part of the
// path is none.
func goAlias(st *Statement) string {
	if st.Whole == path.Base(st.Module) {
		return ""
	}
	return st.Whole
}

func parseGo(s *source) (all []Statement) {
	positions := token.NewFileSet()
	file, _ := parser.ParseFile(positions, "", s.text, parser.ImportsOnly)
	if file == nil {
		return nil
	}
	at := func(p token.Pos) int { return positions.PositionFor(p, false).Offset }
	for _, d := range file.Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok || d.Tok != token.IMPORT {
			continue
		}
		for _, spec := range d.Specs {
			spec := spec.(*ast.ImportSpec)
			st := Statement{From: at(spec.Pos()), To: at(spec.End()), Top: true, shape: shape{alone: true}}
			st.Module, _ = strconv.Unquote(spec.Path.Value)
			if spec.Name != nil {
				st.Whole = spec.Name.Name
			}
			open := -1
			if d.Lparen.IsValid() {
				open = s.lineOf(at(d.Lparen))
			}
			if st.block = open >= 0 && s.lineOf(st.From) > open; !st.block {
				st.From, st.To = at(d.Pos()), at(d.End())
			}
			if st.Module == "C" { // cgo reads the comment above it
				st.form = odd
			}
			if open >= 0 && !st.block {
				st.From = at(spec.Pos()) // which stands in one line with its bracket
			}
			all = append(all, st)
		}
	}
	return all
}

// goHeader is the line behind the package clause.
func goHeader(s *source) int {
	for n := range s.lines() {
		if strings.HasPrefix(strings.TrimSpace(s.line(s.mask, n)), "package ") {
			for n++; n < s.lines() && s.isBlank(n); n++ {
			}
			if n < s.lines() && !s.isBlank(n-1) {
				return n
			}
			return n
		}
	}
	return s.lines()
}
