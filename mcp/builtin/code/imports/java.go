package imports

import "strings"

func javaGrammar() *grammar {
	return &grammar{
		parse: parseJava, header: javaHeader, apart: true, form: "import java.util.List;",
		rank: func(st *Statement) int {
			if st.form == static {
				return 1
			}
			return 0
		},
		keys: []func(*Statement) string{
			func(st *Statement) string { return st.Module },
			func(st *Statement) string { return strings.ToLower(st.Module) },
		},
		has: func(there, new *Statement) bool {
			if there.form != new.form {
				return false
			}
			package_, isAll := strings.CutSuffix(there.Module, ".*")
			above := new.Module[:max(0, strings.LastIndexByte(new.Module, '.'))]
			return there.Module == new.Module || isAll && package_ == above
		},
		write: func(_ *source, st *Statement, _ string) string {
			if st.form == static {
				return "import static " + st.Module + ";"
			}
			return "import " + st.Module + ";"
		},
	}
}

func parseJava(s *source) (all []Statement) {
	for n := range s.lines() {
		line := s.line(s.mask, n)
		code := strings.TrimSpace(line)
		rest, isImport := strings.CutPrefix(code, "import ")
		if !s.isOuter(n) || !isImport {
			continue
		}
		name, behind, ended := strings.Cut(rest, ";")
		from := s.starts[n] + strings.Index(line, "import")
		st := Statement{From: from, To: from + len("import ") + len(name), Top: true, shape: shape{alone: strings.TrimSpace(behind) == ""}}
		if ended {
			st.To++
		}
		fields := strings.Fields(name)
		if len(fields) > 1 && fields[0] == "static" {
			st.form, fields = static, fields[1:]
		}
		if st.Module = strings.Join(fields, ""); len(fields) != 1 || !isPath(st.Module, ".*") {
			st.form = odd
		}
		all = append(all, st)
	}
	return all
}

// isPath reports whether a text is names with some marks between them.
func isPath(text, marks string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r < 0x80 && r != '_' && r != '$' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') && !strings.ContainsRune(marks, r)
	})
}

// javaHeader is the line behind the package clause, or behind the comment of the file.
func javaHeader(s *source) int {
	for n := range s.lines() {
		code := strings.TrimSpace(s.line(s.mask, n))
		if s.isOuter(n) && strings.HasPrefix(code, "package ") {
			for n++; n < s.lines() && s.isBlank(n); n++ {
			}
			return n
		}
	}
	return s.comments(0)
}
