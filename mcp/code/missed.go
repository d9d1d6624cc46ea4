package code

import (
	"bytes"
	"slices"
	"strings"

	"toolpipe/mcp/code/lexis"
)

// addMissed adds definitions that ctags 5.9 does not see: in JavaScript and
// TypeScript it loses those behind syntax that it does not know (field: Map<K, V>,
// overloads, lines without semicolons) and all but one of a name, and in Rust the
// constants, and in Python what is behind a bracket that stays open. The definitions
// are in order, and have their places.
func (l *layout) addMissed(defs []Definition, language *lexis.Language) []Definition {
	if language == nil || !slices.Contains([]string{"JavaScript", "TypeScript", "Rust", "Python"}, language.Name) {
		return defs
	}
	var all, around []Definition
	for n, rest := 1, defs; n <= l.lines(); n++ {
		for len(around) > 0 && around[len(around)-1].lastLine() < n {
			around = around[:len(around)-1]
		}
		from := len(all)
		for len(rest) > 0 && rest[0].Line == n {
			if !isLocal(&rest[0], around) {
				all, around = append(all, rest[0]), append(around, rest[0])
			}
			rest = rest[1:]
		}
		kind, name := l.missed(n, language.Name)
		if kind == "" || hasName(all[from:], name) {
			continue
		}
		d := Definition{Name: name, Kind: kind, Line: n}
		outer := ""
		if len(around) > 0 {
			top := &around[len(around)-1]
			outer, d.Scope = top.Kind, top.FullName()
		}
		isMember := kind == "method" || kind == "field"
		if isMember && (outer != "class" || from < len(all)) || isLocal(&d, around) {
			continue
		}
		if d.Kind == "function" && language.Name == "Python" && outer == "class" {
			d.Kind = "method"
		}
		d.End, d.Guessed = l.end(&d)
		d.Start = l.start(&d)
		all, around = append(all, d), append(around, d)
	}
	return all
}

// isLocal says whether a variable is inside a function, or inside another, which is
// one then: const f = () => { ... }.
func isLocal(d *Definition, around []Definition) bool {
	if d.Kind != "constant" && d.Kind != "variable" || len(around) == 0 || around[len(around)-1].Line == d.Line {
		return false
	}
	switch around[len(around)-1].Kind {
	case "class", "interface", "enum", "namespace", "module", "implementation", "struct":
		return false
	}
	return true
}

func hasName(defs []Definition, name string) bool {
	for i := range defs {
		if strings.TrimLeft(defs[i].Name, "#") == strings.TrimLeft(name, "#") {
			return true
		}
	}
	return false
}

// missed reads what the code in a line defines, if it begins there.
func (l *layout) missed(n int, language string) (kind, name string) {
	line := l.line(l.mask, n)
	line = line[:min(len(line), maxLooked)]
	for {
		word, rest := cutWord(line)
		if word == "" {
			return "", ""
		}
		next := byte(' ')
		if len(rest) > 0 {
			next = rest[0]
		}
		switch script := language == "JavaScript" || language == "TypeScript"; {
		case script && strings.IndexByte("(<", next) >= 0:
			return "method", word
		case script && strings.IndexByte("=:;\n", next) >= 0:
			return "field", word
		}
		switch word {
		case "class", "interface", "enum", "namespace", "function":
			kind = word
		case "fn", "def":
			kind = "function"
		case "type":
			kind = "alias"
		case "const":
			if kind = "constant"; bytes.HasPrefix(rest, []byte("fn ")) || bytes.HasPrefix(rest, []byte("enum ")) {
				kind = ""
			}
		case "let", "var":
			kind = "variable"
		case "export", "default", "declare", "abstract", "async", "public", "private", "protected", "static", "readonly", "override", "get", "set",
			"pub", "unsafe", "extern":
		default:
			return "", ""
		}
		if line = bytes.TrimLeft(rest, "* "); kind != "" {
			name, _ = cutWord(line)
			switch {
			case name == "", language == "Rust" && kind != "constant" && kind != "function", language == "Python" && kind != "class" && kind != "function":
				return "", ""
			}
			return kind, name
		}
	}
}

// cutWord cuts the name at the begin of a text off, and white space around it.
func cutWord(text []byte) (word string, rest []byte) {
	text = bytes.TrimLeft(text, " \t*")
	n := 0
	for n < len(text) && (lexis.IsWord(text[n]) || text[n] == '$' || text[n] == '#') {
		n++
	}
	return string(text[:n]), bytes.TrimLeft(text[n:], " \t\r?!")
}
