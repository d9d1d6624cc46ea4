package imports

import "strings"

func cGrammar() *grammar {
	return &grammar{
		parse: parseC, header: cHeader, apart: true, form: "#include <stdio.h>",
		rank: func(st *Statement) int {
			if st.form == angled {
				return 0
			}
			return 1
		},
		keys: []func(*Statement) string{
			func(st *Statement) string { return st.Module },
			func(st *Statement) string { return strings.ToLower(st.Module) },
		},
		has: func(there, new *Statement) bool { return there.Module == new.Module && there.form == new.form },
		write: func(s *source, st *Statement, _ string) string {
			if st.form == angled {
				return "#include <" + st.Module + ">"
			}
			return `#include "` + st.Module + `"`
		},
	}
}

// parseC reads the directives of a text. One in a condition is not at the top; the guard
// around a header is no condition.
func parseC(s *source) (all []Statement) {
	depth, guard := 0, s.guard()
	for n := range s.lines() {
		line := s.line(s.text, n)
		code := strings.TrimLeft(line, " \t\ufeff")
		if s.states[n].Open > 0 || !strings.HasPrefix(code, "#") {
			continue
		}
		word, rest := firstWord(strings.TrimLeft(code[1:], " \t"))
		switch {
		case strings.HasPrefix(word, "if") && n != guard:
			depth++
		case word == "endif":
			depth = max(0, depth-1)
		case word == "include" || word == "import" || word == "include_next":
			st := Statement{From: s.starts[n] + len(line) - len(code), Top: depth == 0, shape: shape{alone: true, form: odd}}
			rest = strings.TrimLeft(rest, " \t")
			for _, quotes := range [][3]string{{`"`, `"`}, {"<", ">"}} {
				if inner, found := strings.CutPrefix(rest, quotes[0]); found {
					if name, _, ended := strings.Cut(inner, quotes[1]); ended && word == "include" {
						st.Module, st.form = name, quoted
						if quotes[0] == "<" {
							st.form = angled
						}
						st.To = st.From + len(code) - len(inner) + len(name) + 1
					}
				}
			}
			if st.form != odd {
				all = append(all, st)
			}
		}
	}
	return all
}

func firstWord(text string) (word, rest string) {
	end := strings.IndexFunc(text, func(r rune) bool { return r != '_' && (r|0x20 < 'a' || r|0x20 > 'z') })
	if end < 0 {
		return text, ""
	}
	return text[:end], text[end:]
}

// guard is the line of the #ifndef around a header, -1 for none: the first code, with a
// #define of the same name directly below it.
func (s *source) guard() int {
	for n := range s.lines() {
		code := strings.TrimSpace(s.line(s.mask, n))
		if code == "" {
			continue
		}
		name, isGuard := strings.CutPrefix(code, "#ifndef ")
		if !isGuard {
			name, isGuard = strings.CutPrefix(code, "#if !defined(")
			name = strings.TrimSuffix(name, ")")
		}
		if isGuard && n+1 < s.lines() && strings.HasPrefix(strings.TrimSpace(s.line(s.mask, n+1)), "#define "+strings.TrimSpace(name)) {
			return n
		}
		return -1
	}
	return -1
}

// cHeader is the line behind the comment of the file, its guard and #pragma once.
func cHeader(s *source) int {
	n := s.comments(0)
	if guard := s.guard(); guard >= 0 {
		n = max(n, guard+2)
	}
	for at := n; at < s.lines() && at < n+5; at++ {
		if code := strings.TrimSpace(s.line(s.mask, at)); code == "#pragma once" {
			n = at + 1
			break
		} else if code != "" {
			break
		}
	}
	for n < s.lines() && s.isBlank(n) {
		n++
	}
	return n
}
