package imports

import (
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

func rustGrammar() *grammar {
	return &grammar{
		parse: parseRust, header: rustHeader, rank: rustRank, merge: mergeRust, apart: true, form: "use std::fmt;",
		keys: []func(*Statement) string{
			func(st *Statement) string {
				return strings.ReplaceAll(st.Module, "::", "\x01") + "\x01" + firstName(st)
			},
			func(st *Statement) string { return strings.ToLower(st.Module + "::" + firstName(st)) },
		},
		has: func(there, new *Statement) bool { return containsAll(rustPaths(there), rustPaths(new)) },
		write: func(_ *source, st *Statement, _ string) string {
			if len(st.Names) == 1 {
				return "use " + written(rustPaths(st), " as ") + ";"
			}
			return "use " + st.Module + "::{" + written(st.Names, " as ") + "};"
		},
	}
}

func firstName(st *Statement) string {
	if len(st.Names) == 0 {
		return ""
	}
	return st.Names[0].Name
}

// rustPaths are the whole paths of the names of a statement.
func rustPaths(st *Statement) (paths []Name) {
	for _, n := range st.Names {
		if st.Module != "" {
			n.Name = st.Module + "::" + n.Name
		}
		paths = append(paths, Name{Name: strings.TrimSuffix(n.Name, "::self"), Alias: n.Alias})
	}
	return paths
}

// parseRust reads the use declarations of a text. One with an attribute such as #[cfg] is not
// at the top, nor is one in a module.
func parseRust(s *source) (all []Statement) {
	for n := 0; n < s.lines(); n++ {
		line := s.line(s.mask, n)
		code := strings.TrimLeft(line, " \t\ufeff")
		from := s.starts[n] + len(line) - len(code)
		rest := code
		isPublic := strings.HasPrefix(code, "pub")
		if isPublic {
			_, behind, found := strings.Cut(code, "use ")
			if !found || strings.ContainsAny(code[:len(code)-len(behind)], "{;=") {
				continue
			}
			rest = "use " + behind
		}
		if s.states[n].Part != lexis.Code || !strings.HasPrefix(rest, "use ") {
			continue
		}
		end := strings.IndexByte(string(s.mask[from:]), ';')
		if end < 0 {
			end = len(strings.TrimRight(string(s.mask[from:]), " \t\r\n"))
			if strings.ContainsRune(string(s.mask[from:from+end]), '\n') {
				continue
			}
		} else {
			end++
		}
		body := from + len(code) - len(rest) + len("use ")
		if body > from+end {
			continue
		}
		st := Statement{From: from, To: from + end, Top: s.isOuter(n) && !s.isConditional(n)}
		st.alone = strings.TrimSpace(string(s.mask[st.To:s.lineEnd(s.lineOf(st.To-1))])) == ""
		st.readRust(strings.TrimSuffix(string(s.mask[body:st.To]), ";"), body)
		if isPublic {
			st.list = [2]int{}
		}
		all = append(all, st)
		n = s.lineOf(st.To - 1)
	}
	return all
}

// isConditional reports whether an attribute stands directly above a line.
func (s *source) isConditional(n int) bool {
	return n > 0 && strings.HasPrefix(strings.TrimSpace(s.line(s.mask, n-1)), "#[")
}

// readRust reads the tree behind use. A tree with one level of brackets can get more names.
func (st *Statement) readRust(tree string, at int) {
	path, list, found := strings.Cut(tree, "{")
	if !found {
		names := listed(tree, at, " as ")
		if len(names) != 1 {
			st.form = odd
			return
		}
		name := names[0]
		if i := strings.LastIndex(name.Name, "::"); i >= 0 {
			st.Module, name.At = name.Name[:i], name.At+i+len("::")
			name.Name = name.Name[i+len("::"):]
		}
		if name.Name == "*" {
			st.Star = true
		}
		st.Names = []Name{name}
		return
	}
	st.Module = strings.TrimSuffix(strings.TrimSpace(path), "::")
	list = list[:max(0, strings.LastIndexByte(list, '}'))]
	if strings.Contains(list, "{") {
		st.Names = flattened("", list)
		return
	}
	start := at + len(path) + 1
	st.list = [2]int{start, start + len(list)}
	st.Names = listed(list, start, " as ")
}

// flattened are the names of a list whose members may be lists. They have no place.
func flattened(prefix, list string) (names []Name) {
	for list != "" {
		end := strings.IndexAny(list, ",{")
		if end < 0 {
			end = len(list)
		}
		if end == len(list) || list[end] == ',' {
			for _, n := range listed(list[:end], 0, " as ") {
				names = append(names, Name{prefix + n.Name, n.Alias, -1})
			}
			list = list[min(end+1, len(list)):]
			continue
		}
		depth, shut := 0, end
		for ; shut < len(list); shut++ {
			if list[shut] == '{' {
				depth++
			} else if list[shut] == '}' {
				if depth--; depth == 0 {
					break
				}
			}
		}
		names = append(names, flattened(prefix+strings.TrimSpace(list[:end]), list[end+1:min(shut, len(list))])...)
		list = list[min(shut+1, len(list)):]
	}
	return names
}

func rustRank(st *Statement) int {
	root, _, _ := strings.Cut(st.Module+"::"+firstName(st), "::")
	switch {
	case slices.Contains([]string{"std", "core", "alloc"}, root):
		return 0
	case slices.Contains([]string{"crate", "self", "super"}, root):
		return 2
	}
	return 1
}

// mergeRust adds names to the brackets of a declaration of the same module.
func mergeRust(s *source, into, new *Statement) ([]byte, bool) {
	if into.list == [2]int{} || into.Module != new.Module || new.Module == "" || new.form == odd || new.Star || !into.alone {
		return nil, false
	}
	if first := s.lineOf(into.From); first == s.lineOf(into.To-1) && len(s.line(s.text, first))+len(", "+written(new.Names, " as ")) > 100 { // as rustfmt has it
		return nil, false
	}
	return s.listedWith(into, new.Names, " as "), true
}

// rustHeader is the line behind the comments and attributes of the module, and extern crate.
func rustHeader(s *source) int {
	n := s.comments(0)
	for n < s.lines() {
		code := strings.TrimSpace(s.line(s.mask, n))
		if !strings.HasPrefix(code, "#![") && !strings.HasPrefix(code, "extern crate") && !strings.HasPrefix(strings.TrimSpace(s.line(s.text, n)), "//!") {
			break
		}
		n = s.joined(n) + 1
		n = s.comments(n)
	}
	return n
}
