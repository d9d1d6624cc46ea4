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
func (l *layout) addMissed(defs []Definition) []Definition {
	if !l.language.Is("JavaScript", "TypeScript", "Rust", "Python") {
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
		kind, name := l.missed(n)
		if kind == "" || hasName(all[from:], name) {
			continue
		}
		d := Definition{Name: name, Kind: kind, Line: n}
		inClass := false
		if len(around) > 0 {
			top := &around[len(around)-1]
			inClass, d.Scope = top.Kind == "class", top.FullName()
		}
		isMember := kind == "method" || kind == "field"
		if isMember && (!inClass || from < len(all)) || isLocal(&d, around) {
			continue
		}
		if d.Kind == "function" && l.language.Is("Python") && inClass {
			d.Kind = "method"
		}
		d.End, d.Guessed = l.end(&d)
		d.Start = l.start(&d)
		all, around = append(all, d), append(around, d)
	}
	return all
}

// isLocal says whether a variable is inside a function, or inside another variable,
// which is a function then: const f = () => { ... }.
func isLocal(d *Definition, around []Definition) bool {
	if d.Kind != "constant" && d.Kind != "variable" || len(around) == 0 {
		return false
	}
	outer := &around[len(around)-1]
	return outer.Line != d.Line && !isType(outer.Kind) && outer.Kind != "namespace" && outer.Kind != "implementation"
}

// hasName says whether one of these definitions has a name, with or without the #
// of a private member.
func hasName(defs []Definition, name string) bool {
	return slices.ContainsFunc(defs, func(d Definition) bool {
		return strings.TrimLeft(d.Name, "#") == strings.TrimLeft(name, "#")
	})
}

// missed reads what the code in a line defines, if it begins there.
func (l *layout) missed(n int) (kind, name string) {
	line := l.line(l.mask, n)
	line = line[:min(len(line), maxLooked)]
	isScript, isRust := l.language.Is("JavaScript", "TypeScript"), l.language.Is("Rust")
	for kind == "" {
		word, rest := cutWord(line)
		next, _ := cutWord(rest)
		switch {
		case word == "":
			return "", ""
		case isScript && bytes.IndexAny(rest, "(<") == 0:
			return "method", word
		case isScript && bytes.IndexAny(rest, "=:;\n") == 0:
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
			if next != "enum" && !(isRust && slices.Contains([]string{"fn", "unsafe", "extern", "async"}, next)) {
				kind = "constant"
			}
		case "let", "var":
			kind = "variable"
		case "export", "default", "declare", "abstract", "async", "public", "private", "protected", "static", "readonly", "override", "get", "set",
			"pub", "unsafe", "extern":
		default:
			return "", ""
		}
		line, name = rest, next
	}
	if name == "" || isRust && kind != "constant" && kind != "function" || l.language.Is("Python") && kind != "class" && kind != "function" {
		return "", ""
	}
	return kind, name
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
