package code

import (
	"bytes"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

// script finds the JavaScript and TypeScript definitions that begin with a line.
func (h *heads) script() []definition {
	at := h.starts[h.line-1]
	for {
		word, next := h.word(at)
		if word == "" {
			return nil
		}
		switch c := h.at(next); {
		case c == '(' || c == '<':
			return h.member("method", word, next)
		case c == '.':
			return h.assigned(next)
		case c == ':', c == ';', c == '\n', c == ',', c == '=' && h.at(next+1) != '>' && h.at(next+1) != '=':
			return h.member("field", word, next)
		}
		name, _ := h.word(next)
		kind := ""
		switch word {
		case "class", "interface", "enum", "namespace", "function":
			kind = word
		case "type":
			if _, behind := h.word(next); h.at(behind) == '=' || h.at(behind) == '<' {
				kind = "alias"
			}
		case "const":
			if name != "enum" {
				kind = "constant"
			}
		case "let", "var":
			kind = "variable"
		case "export", "default", "declare", "abstract", "async", "public", "private", "protected", "static", "readonly", "override", "get", "set":
		default:
			return nil
		}
		switch {
		case kind == "":
			at = next
		case name != "":
			return h.found(kind, name)
		case kind == "constant" || kind == "variable":
			return h.pattern(kind, next)
		default:
			return nil
		}
	}
}

// at is the byte of code at an offset; 0 after the text.
func (l *layout) at(offset int) byte {
	if offset >= len(l.mask) {
		return 0
	}
	return l.mask[offset]
}

// word is the name at an offset, after white space and *. It may be in quotes. next is the
// offset after the name and after the white space, ? and ! that follow in the line.
func (l *layout) word(at int) (word string, next int) {
	at = l.pass(at, blanks+"*")
	if c := l.at(at); c == '"' || c == '\'' {
		if n := bytes.IndexByte(l.mask[at+1:min(at+1+maxQuoted, len(l.mask))], c); n > 0 {
			return string(l.text[at+1 : at+1+n]), l.pass(at+n+2, blanks+"\r?!")
		}
	}
	end := at
	for end < len(l.mask) && (lexis.IsWord(l.mask[end]) || l.mask[end] == '$' || l.mask[end] == '#') {
		end++
	}
	return string(l.mask[at:end]), l.pass(end, blanks+"\r?!")
}

const maxQuoted = 200 // bytes of a name in quotes

// pass is the offset of the first byte from an offset on that is not one of passed.
func (l *layout) pass(at int, passed string) int {
	for end := min(at+maxLooked, len(l.mask)); at < end && strings.IndexByte(passed, l.mask[at]) >= 0; at++ {
	}
	return at
}

// member finds a member of a class, or a function in an object with a name. next is the
// offset after the member's name.
func (h *heads) member(kind, name string, next int) []definition {
	if h.inType() {
		n := len(h.all)
		switch top := h.around[len(h.around)-1].Kind; {
		case n > 0 && h.all[n-1].Line == h.line:
			return nil
		case top == "enum" && kind == "field":
			return h.found("enumerator", name)
		case top == "class", top == "interface" && name != "new":
			return h.found(kind, name)
		}
		return nil
	}
	bracket := int(h.level(h.line).bracket) - 1
	if bracket < 0 || !h.isNamedObject(bracket) || slices.Contains(notNames, name) {
		return nil
	}
	if kind == "method" && h.opensFunction(next) || h.at(next) == ':' && h.isFunction(next+1) {
		return h.found("method", name)
	}
	return nil
}

const maxObjects = 20 // nested objects that are checked

// isNamedObject reports whether a bracket { opens an object that is the value of a variable,
// of a member, or of a member of such an object.
func (h *heads) isNamedObject(bracket int) bool {
	for range maxObjects {
		before := bytes.TrimRight(h.mask[max(0, bracket-maxLooked):bracket], whiteSpace)
		inner := int(h.level(h.lineOf(bracket)).bracket) - 1
		switch {
		case h.mask[bracket] != '{', len(before) == 0:
			return false
		case before[len(before)-1] == '=', lexis.LastWord(before) == "default":
			return true
		case before[len(before)-1] != ':', inner < 0:
			return false
		}
		bracket = inner
	}
	return false
}

// opensFunction reports whether type parameters, parameters and a body are at an offset.
func (h *heads) opensFunction(at int) bool {
	if h.at(at) == '<' {
		at = h.passAngles(at)
	}
	if at < 0 || h.at(at) != '(' {
		return false
	}
	other, _ := h.partner(at)
	next := byte(0)
	if other > at {
		next = h.behind(other+1, whiteSpace)
	}
	return next == '{' || next == ':'
}

// assigned finds a function that is assigned to a member, as in a.b.c = function() { }. at is
// the offset of the first dot.
func (h *heads) assigned(at int) []definition {
	name := ""
	for h.at(at) == '.' {
		name, at = h.word(at + 1)
	}
	if name == "" || h.at(at) != '=' || !h.isFunction(at+1) {
		return nil
	}
	return h.found("function", name)
}

// isFunctionVariable reports whether the value of a variable is a function or a class. end is
// the offset after its name.
func (h *heads) isFunctionVariable(end int) bool {
	at := h.pass(end, whiteSpace+"?!")
	if h.at(at) == ':' {
		at = h.behindType(at + 1)
	}
	return h.at(at) == '=' && h.isFunction(at+1)
}

// behindType is the offset of the byte that ends a type, such as = after it.
func (l *layout) behindType(at int) int {
	for end := min(at+maxLooked, len(l.mask)); at < end; at++ {
		switch c := l.mask[at]; {
		case c == '=' && l.at(at+1) == '>':
			at++
		case c == '=', c == ';', c == ',', strings.IndexByte(closers, c) >= 0:
			return at
		default:
			if other, _ := l.partner(at); other > at {
				at = other
			}
		}
	}
	return at
}

// isFunction reports whether the value at an offset is a function or a class.
func (l *layout) isFunction(at int) bool {
	at = l.pass(at, whiteSpace)
	word, next := l.word(at)
	if word == "async" {
		at = next
		word, next = l.word(at)
	}
	switch {
	case word == "function", word == "class":
		return true
	case word != "":
		return l.at(next) == '=' && l.at(next+1) == '>'
	}
	return l.isArrow(at)
}

// isArrow reports whether an arrow function begins at an offset: type parameters, parameters,
// result type, and =>.
func (l *layout) isArrow(at int) bool {
	if l.at(at) == '<' {
		at = l.passAngles(at)
	}
	if at < 0 || l.at(at) != '(' {
		return false
	}
	other, _ := l.partner(at)
	if other < at {
		return false
	}
	next := l.pass(other+1, whiteSpace)
	if l.at(next) == ':' {
		line, _, _ := bytes.Cut(l.mask[next:min(next+maxLooked, len(l.mask))], []byte("\n"))
		return bytes.Contains(line, []byte("=>"))
	}
	return l.at(next) == '=' && l.at(next+1) == '>'
}

// pattern finds the names that { a, b: c, ...d } takes from an object, or [a, b] from an
// array. The bracket is at an offset, and closes in its line.
func (h *heads) pattern(kind string, at int) (all []definition) {
	other, _ := h.partner(at)
	if other < at || other >= h.starts[h.line] || h.at(at) == '(' {
		return nil
	}
	for part := range bytes.SplitSeq(h.mask[at+1:other], []byte(",")) {
		if _, renamed, found := bytes.Cut(part, []byte(":")); found {
			part = renamed
		}
		part, _, _ = bytes.Cut(part, []byte("="))
		if word, behind := cutWord(bytes.Trim(part, ". \t")); word != "" && len(behind) == 0 {
			all = append(all, h.found(kind, word)...)
		}
	}
	return all
}

// overloads makes one definition of the overloads of a TypeScript function that follow each
// other, with all their signatures. Its body is the body of the last one.
func (l *layout) overloads(defs []definition) (merged []definition) {
	if !l.language.Is("TypeScript") {
		return defs
	}
	for _, d := range defs {
		n := len(merged) - 1
		if n < 0 || !isFunction(d.Kind) || d.fullName() != merged[n].fullName() || d.Kind != merged[n].Kind || l.head(&merged[n]).open != "" || l.unit(d.Start).codeEnd > l.starts[merged[n].lastLine()] {
			merged = append(merged, d)
			continue
		}
		first := merged[n]
		d.Signature = l.signature(&first) + "; " + l.signature(&d)
		d.Start, d.Guessed, d.Shared = first.Start, d.Guessed || first.Guessed, d.Shared || first.Shared
		merged[n] = d
	}
	return merged
}
