package code

import (
	"bytes"
	"slices"
	"strings"
)

// A head is the text of a definition before its body, from the beginning of the line with the
// name.
type head struct {
	begin, end int    // offsets
	open       string // the text that opens the body; "" if there is no known body
}

func (l *layout) head(d *definition) head {
	h := head{begin: l.starts[d.Line-1], end: l.trimmedEnd(d.Line)}
	if l.language == nil || !hasBody(d.Kind) {
		return h
	}
	if at := l.nameEnd(d); l.language.Is("Ruby") && l.at(at) == '(' {
		if other, _ := l.partner(at); other > at {
			open := ""
			if l.at(l.pass(other+1, blanks+"\r")) == '\n' {
				open = "\n"
			}
			return head{h.begin, other + 1, open}
		}
	}
	if body := l.oldBody(d); body > 0 {
		return head{h.begin, body + 1, "{"}
	}
	s := l.statement(d)
	for i := l.nameEnd(d); i < min(h.begin+maxLooked, l.starts[d.lastLine()]); i++ {
		other, isBracket := l.partner(i)
		c := l.mask[i]
		switch {
		case c == '\n' && l.ending == byWord:
			return head{h.begin, l.trimmedEnd(l.lineOf(i)), "\n"}
		case c == ':' && l.language.Is("Python"), c == '{' && s.beginsBody(i, other):
			return head{h.begin, i + 1, string(c)}
		case c == ';' && l.ending == byWord:
			return head{h.begin, i, ""}
		case c == ';':
			return head{h.begin, i + 1, ""}
		case isBracket && other < i: // it closes a bracket from before the definition
			return head{h.begin, l.trimmed(i), ""}
		case isBracket:
			i = other
		default:
			s.count(i, i-1)
		}
	}
	return h
}

// arrow opens the body of a JavaScript function that is a value.
const arrow = "=>"

// wholeHead is the head of a definition that edit_definition replaces: up to its body, or up
// to its end if it has none. isWhole is false if it is uncertain where the body begins.
func (l *layout) wholeHead(d *definition) (h head, isWhole bool) {
	h = l.head(d)
	last := max(l.unit(d.lastLine()+1).codeEnd-1, 0)
	switch end := l.arrowEnd(d); {
	case l.unit(d.Line).first != d.Line: // the line begins in a comment, or in template parameters
		return h, false
	case h.open != "":
	case end > 0:
		h.open, h.end = arrow, end
	case l.ending == byIndent, bytes.IndexByte(l.mask[h.begin:max(last, h.begin)], '=') >= 0, hasBody(d.Kind) && l.mask[last] == '}':
		return h, false
	default:
		h.open, h.end = ";", max(last+1, h.begin) // a semicolon may be there
	}
	return h, true
}

// arrowEnd is the offset after the arrow of a function that is the value of a JavaScript
// variable or member; 0 if there is none. Function types have arrows too: if the result is a
// function type, it is uncertain which arrow is meant.
func (l *layout) arrowEnd(d *definition) int {
	if !l.language.Is("JavaScript", "TypeScript") || d.Kind == "alias" {
		return 0
	}
	at := l.pass(l.nameEnd(d), whiteSpace+"\"'?!")
	if value := l.behindType(at + 1); l.at(at) == ':' && l.at(value) == '=' {
		at = value
	} else if l.at(at) != '=' && !isFunction(d.Kind) || !l.isFunction(at+1) {
		return 0
	}
	for at, end := at+1, l.starts[d.lastLine()]; at < end; at++ {
		other, _ := l.partner(at)
		switch {
		case other > at:
			at = other
		case l.mask[at] == ':' && strings.IndexByte("(<", l.behind(at+1, whiteSpace)) >= 0:
			return 0
		case bytes.HasPrefix(l.mask[at:end], []byte(arrow)):
			return at + len(arrow)
		}
	}
	return 0
}

// initializes reports whether a bracket } closes the value of a member, as in the C++
// constructor A() : a{1} {.
func (l *layout) initializes(at int) bool {
	if l.ending != bySemicolon || at < 0 {
		return false
	}
	next := l.behind(at+1, whiteSpace)
	return next == '{' || next == ','
}

// opensType reports whether a bracket { belongs to a type, as in Go's interface{} or in
// TypeScript's (): { a: number }.
func (l *layout) opensType(at int, kind string) bool {
	before := bytes.TrimRight(l.mask[max(0, at-maxLooked):at], whiteSpace)
	if l.language.Is("Go") {
		return isFunction(kind) && (bytes.HasSuffix(before, []byte("interface")) || bytes.HasSuffix(before, []byte("struct")))
	}
	mayBeTyped := l.language.Is("TypeScript") || l.ending == byLine && isFunction(kind)
	return mayBeTyped && len(before) > 0 && strings.IndexByte(":|&<,?", before[len(before)-1]) >= 0
}

const maxDocString = 64 << 10 // bytes

// docString is the string at the beginning of the body of a Python definition, with the white
// space before it in its line.
func (l *layout) docString(d *definition, h head) []byte {
	if h.open != ":" {
		return nil
	}
	end := min(l.starts[d.lastLine()], h.end+maxDocString)
	mask := l.mask[h.end:end] // the mask has the quotes, and blanks between them
	at := len(mask) - len(bytes.TrimLeft(mask, whiteSpace))
	before := l.text[h.end : h.end+at]
	for _, quote := range [...]string{`"""`, `'''`, `"`, `'`} {
		inside, found := bytes.CutPrefix(mask[at:], []byte(quote))
		if n := bytes.Index(inside, []byte(quote)); found && n >= 0 {
			begin := bytes.LastIndexByte(before, '\n') + 1
			return slices.Clip(l.text[h.end+begin : h.end+at+n+2*len(quote)])
		}
	}
	return nil
}

// asLine is a text in one line, without blanks inside the brackets.
func asLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(text, "( ", "("), ", )", ")"), " )", ")")
}

// parametersOf returns where the parameters of a function value begin, and the head that ends
// with them: the first brackets ( ) from an offset on. Without brackets, both are the end of
// h.
func (l *layout) parametersOf(from int, h head) (int, head) {
	n := bytes.IndexByte(l.mask[from:max(from, h.end)], '(')
	if n < 0 {
		return h.end, h
	}
	at := from + n
	if other, _ := l.partner(at); other > at {
		return at, head{h.begin, other + 1, ""}
	}
	return h.end, h
}

// signature is the head of a definition in one line, from the name on, for languages without
// signatures from ctags.
func (l *layout) signature(d *definition) string {
	if d.Signature != "" || d.Kind == "macro" || l.language == nil || !hasBody(d.Kind) || l.language.Is("Go") || strings.HasPrefix(d.Name, anonymous) {
		return d.Signature
	}
	h := l.head(d)
	from := min(l.nameEnd(d), h.end)
	if from == l.firstByte(d.Line) { // the name is not in the line
		return ""
	}
	if l.language.Is("JavaScript", "TypeScript") && isFunction(d.Kind) {
		if at := l.pass(from, whiteSpace+"\"'"); l.at(at) == ':' || l.at(at) == '=' {
			from, h = l.parametersOf(at, h)
		}
	}
	gap := ""
	switch {
	case d.Kind == "implementation": // the name comes after the trait's name
		from, gap = h.begin, ": "
	case from < len(l.text) && strings.IndexByte(whiteSpace, l.text[from]) >= 0:
		gap = " "
	}
	text := asLine(strings.TrimSuffix(string(l.text[from:min(h.end, from+maxLooked)]), h.open))
	text = strings.TrimRight(text, " ;")
	if text == "" || text[0] == '.' || d.Kind == "class" && text[0] == '=' {
		return "" // it is an object in JavaScript
	}
	return gap + text
}
