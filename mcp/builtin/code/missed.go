package code

import (
	"bytes"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

// addMissed adds definitions that ctags 5.9 does not see: in JavaScript and
// TypeScript all behind syntax that it does not know (field: Map<K, V>, overloads,
// lines without semicolons) and all but one of a name, in Rust the constants, and in
// Python all behind a bracket that stays open. The definitions that are given are in
// order, and have their places.
func (l *layout) addMissed(defs []definition) []definition {
	if !l.language.Is("JavaScript", "TypeScript", "Rust", "Python") {
		return defs
	}
	var all, around []definition
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
		isSame := func(d definition) bool { // with or without the # of a private member
			return strings.TrimLeft(d.Name, "#") == strings.TrimLeft(name, "#")
		}
		if kind == "" || slices.ContainsFunc(all[from:], isSame) {
			continue
		}
		d := definition{Name: name, Kind: kind, Line: n}
		inClass := false
		if len(around) > 0 {
			top := &around[len(around)-1]
			inClass, d.Scope = top.Kind == "class" && int(l.level(n).bracket) > l.starts[top.Line-1], top.fullName()
		}
		isMember := kind == "method" || kind == "field"
		if isMember && (!inClass || from < len(all)) || isLocal(&d, around) {
			continue
		}
		if d.Kind == "function" && l.language.Is("Python") && inClass {
			d.Kind = "method"
		}
		l.extend(&d)
		all, around = append(all, d), append(around, d)
	}
	return all
}

// isLocal reports whether a variable is inside a function, or inside another variable,
// which is a function then: const f = () => { ... }.
func isLocal(d *definition, around []definition) bool {
	if d.Kind != "constant" && d.Kind != "variable" || len(around) == 0 {
		return false
	}
	outer := &around[len(around)-1]
	return outer.Line != d.Line && !isType(outer.Kind) && outer.Kind != "namespace" && outer.Kind != "implementation"
}

// missed gives the kind and the name of a definition that begins with a line; "" for
// none.
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
