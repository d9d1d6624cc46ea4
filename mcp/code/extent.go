package code

import (
	"bytes"
	"strings"

	"toolpipe/mcp/code/lexis"
)

const maxBeside = 100 // definitions in one line that are looked at to find the one around another

// place sets where definitions begin and end. It leaves out definitions in comments
// and strings.
func (l *layout) place(all []definition) (defs []definition) {
	structures := map[string]*definition{}
	whole := "" // the package or namespace that the whole file is in
	for _, d := range all {
		if d.Line > l.lines() || !l.code(d.Line) {
			continue
		}
		if up := d; l.ending == byLine && d.Line > 1 && hasBody(d.Kind) && l.nameEnd(&d) == l.firstByte(d.Line) {
			if up.Line--; l.nameEnd(&up) != l.firstByte(up.Line) {
				d = up // ctags gives the line of the bracket
			}
		}
		if rest, ok := strings.CutPrefix(d.Scope+".", whole+"."); ok && whole != "" {
			d.Scope = strings.TrimSuffix(rest, ".")
		}
		if (d.Kind == "package" || d.Kind == "namespace") && d.Scope == "" && whole == "" && (d.End == 0 || d.End == d.Line) && !l.opensBody(d.Line) {
			whole = d.fullName()
		}
		defs = append(defs, d)
	}
	for i := range defs {
		d := &defs[i]
		inText := l.ending == byWord && d.End > d.Line && d.End <= l.lines() && !l.code(d.End) // ctags takes any "end" in a here-document
		if own, guessed := l.end(d); d.End < d.Line || inText {
			d.End, d.Guessed = own, guessed
		} else if !guessed && own != d.End && l.ending == bySemicolon && hasBody(d.Kind) && d.Kind != "macro" {
			d.Guessed = true // ctags says another line, and nothing tells who is right
		}
		d.End = min(d.End, l.lines())
		d.Start = l.start(d)
		for j := i - 1; j >= max(0, i-maxBeside) && defs[j].Line == d.Line; j-- {
			if within(d.Scope, defs[j].fullName()) {
				d.Start = d.Line // the lines above belong to the definition around it
			}
		}
		if structure := structures[d.structure]; structure != nil && structure.lastLine() == d.Line {
			d.Start = structure.Start // of typedef struct { } d;
		}
		if d.Kind == "struct" || d.Kind == "union" || d.Kind == "enum" {
			structures[d.fullName()] = d
		}
	}
	return defs
}

// opensBody says whether a bracket { is in a line, or is the first thing behind it.
func (l *layout) opensBody(n int) bool {
	return bytes.IndexByte(l.line(l.mask, n), '{') >= 0 || l.behind(l.starts[n], whiteSpace) == '{'
}

// nameEnd is the offset behind a definition's name, or of the first character of its
// line when the name is not in it.
func (l *layout) nameEnd(d *definition) int {
	line := l.line(l.mask, d.Line)
	if at := wordAt(line[:min(len(line), maxLooked)], []byte(d.Name), 0); at >= 0 {
		return l.starts[d.Line-1] + at + len(d.Name)
	}
	return l.firstByte(d.Line)
}

// end finds a definition's last line, for which ctags gives none.
func (l *layout) end(d *definition) (last int, guessed bool) {
	body := hasBody(d.Kind)
	if body && l.ending == byWord {
		return l.wordEnd(d.Line)
	}
	if l.ending != byIndent && !(body && l.language.Is("Python")) { // of Python, ctags gives the ends until it gives up
		s := statement{layout: l, kind: d.Kind, body: body, comma: !body}
		if at, ok := s.end(l.nameEnd(d)); ok {
			return max(d.Line, l.lineOf(at)), false
		}
	}
	return l.indentedEnd(d.Line), true
}

// A statement is a definition whose end is searched for.
type statement struct {
	*layout
	kind  string // of the definition
	body  bool   // it ends with a body
	comma bool   // it may end with a comma
	angle int    // how many < are open, as in Map<string, number>
	value bool   // the value behind a = has begun, where < may compare
}

// end gives the offset of the last byte of the statement that goes on at i. It is
// not found when a bracket stays open.
func (s *statement) end(i int) (int, bool) {
	last := i - 1 // the last byte that is not white space
	for looked := 0; i < len(s.mask); i, looked = i+1, looked+1 {
		if looked > maxLooked {
			return 0, false
		}
		other, isBracket := s.partner(i)
		switch c := s.mask[i]; {
		case isBracket && other < 0 && strings.IndexByte(openers, c) >= 0:
			return 0, false
		case isBracket && other < i: // it closes a bracket that opened before the statement
			return last, true
		case isBracket:
			if c == '{' && s.body && !s.opensType(i, s.kind) {
				// What stands behind it in its line goes on, as f: function() { }.bind(this), does.
				s.comma = strings.IndexByte("{>&|=.?[(", s.behind(other+1, " \t\r")) >= 0
				if !s.comma {
					return other, true
				}
			}
			i, last = other, other
		case c == ';', c == ',' && s.comma && s.angle == 0:
			return i, true
		case c == '\n':
			switch {
			case s.ending == bySemicolon:
			case s.angle > 0 && s.value: // a comparison, or types over several lines
				return 0, false
			case s.angle == 0 && s.lineEnds(last, i+1):
				return last, !s.mayGoOn(i + 1)
			}
		case c != ' ' && c != '\t' && c != '\r':
			s.count(c, s.mask[max(last, 0)])
			last = i
		}
	}
	return last, s.ending != bySemicolon
}

// count counts angle brackets, which -> and => are not.
func (s *statement) count(c, before byte) {
	switch {
	case c == '=':
		s.value = s.value || s.angle == 0 && !s.body && s.kind != "alias"
	case c == '<':
		s.angle++
	case c == '>' && before != '-' && before != '=':
		s.angle = max(s.angle-1, 0)
	}
}

// lineEnds says whether a statement ends with its line, of which last is the last
// byte; next is where the next line begins.
func (s *statement) lineEnds(last, next int) bool {
	if last >= 0 && strings.IndexByte(`=+-*/%&|^?:<,.\(`, s.mask[last]) >= 0 || last > 0 && string(s.mask[last-1:last+1]) == "=>" {
		return false
	}
	before := bytes.TrimRightFunc(s.mask[max(0, last+1-maxWord):last+1], func(c rune) bool { return c < 0x80 && lexis.IsWord(byte(c)) })
	behind, rest := cutWord(bytes.TrimLeft(s.mask[next:min(next+maxLooked, len(s.mask))], whiteSpace))
	isName := len(rest) > 0 && strings.IndexByte(":=(,;", rest[0]) >= 0 // of a member
	if joins(string(s.mask[max(0, last+1-maxWord)+len(before):last+1])) || joins(behind) && !isName {
		return false
	}
	first := s.behind(next, whiteSpace)
	isScript := s.language.Is("JavaScript", "TypeScript")
	if isScript && (s.kind == "class" || s.kind == "interface" || s.kind == "enum") { // which have a body
		return false
	}
	return strings.IndexByte(".?:&|=", first) < 0 && !(isScript && strings.IndexByte("<>,%^+-/", first) > 0) && !(s.body && first == '{')
}

const maxWord = 16 // bytes of a keyword, and more

// joins says whether a word that ends or begins a line belongs to a statement that goes
// on in the other line. No statement begins or ends with it.
func joins(word string) bool {
	switch word {
	case "extends", "implements", "satisfies", "instanceof", "keyof", "typeof", "as", "with":
		return true
	}
	return false
}

// mayGoOn says whether the next line of code may belong to a statement of JavaScript:
// a bracket or a template there can be a call, an index, or the begin of something else.
func (s *statement) mayGoOn(next int) bool {
	first := s.behind(next, whiteSpace)
	return s.language.Is("JavaScript", "TypeScript") && first != 0 && strings.IndexByte("([`", first) >= 0
}

// indented gives the last of the lines of code that follow a line and stand further
// right, and the first that does not; 0 when there is none.
func (l *layout) indented(from int) (last, next int) {
	column := l.column(from)
	last = from
	for n := from + 1; n <= l.lines(); n++ {
		switch {
		case !l.code(n):
		case l.column(n) <= column:
			return last, n
		default:
			last = n
		}
	}
	return last, 0
}

// indentedEnd is the last line of a definition that begins in a line, by the
// indentation.
func (l *layout) indentedEnd(from int) int {
	last, next := l.indented(from)
	if next > 0 && strings.IndexByte(closers, bytes.TrimSpace(l.line(l.mask, next))[0]) >= 0 {
		return next
	}
	return last
}

// wordEnd is the line with the "end" of a definition that begins in a line.
func (l *layout) wordEnd(from int) (last int, guessed bool) {
	end := []byte("end")
	line := bytes.TrimSpace(l.mask[max(l.starts[from-1], l.starts[from]-maxLooked):l.starts[from]])
	if wordAt(line, end, max(0, len(line)-len(end))) >= 0 {
		return from, false
	}
	if _, next := l.indented(from); next > 0 && l.column(next) == l.column(from) {
		first := l.mask[l.firstByte(next):l.starts[next]]
		if wordAt(first[:min(len(first), len(end)+1)], end, 0) == 0 {
			return next, false
		}
	}
	return l.indentedEnd(from), true
}

// start is the first line of a definition, with the lines directly above that belong
// to it: return type, decorators, attributes and comments. It is no line that begins
// inside a comment or a string of the code above, if the definition's own is none.
func (l *layout) start(d *definition) int {
	first := d.Line
	if first > 1 && l.isType(d) {
		first--
	}
	if l.topOf != first { // many definitions may stand in one line
		l.topOf, l.top = first, l.above(first)
	}
	return l.top
}

// above is the first of the lines directly above a line that belong to it.
func (l *layout) above(line int) int {
	first := line
	for n := line - 1; n > 0; n-- {
		if l.kinds[n-1] == isEmpty && !l.language.Is("Python") { // where a decorator is of the next definition, whatever comes between
			break
		}
		if l.code(n) {
			if n = l.decorator(n); n == 0 {
				break
			}
			first = n
		}
	}
	for first > 1 && l.kinds[first-2] == hasNoCode {
		first--
	}
	for first < line && l.continues[first-1] {
		first++
	}
	return first
}

// begins says whether a statement begins with a line: whether the code above it has
// ended, in languages where that can be seen and no macro stands alone in a line.
func (l *layout) begins(line int) bool {
	if !l.language.Is("Java", "C#", "Rust") {
		return true
	}
	for n := line - 1; n > 0; n-- {
		if code := bytes.TrimSpace(l.line(l.mask, n)); len(code) > 0 {
			return code[0] == '#' || strings.IndexByte(";{}:,", code[len(code)-1]) >= 0
		}
	}
	return true
}

// isType says whether the line above a function's own is the type that it returns.
func (l *layout) isType(d *definition) bool {
	if l.ending != bySemicolon || d.Kind != "function" && d.Kind != "method" && d.Kind != "prototype" {
		return false
	}
	before := bytes.TrimSpace(l.mask[l.starts[d.Line-1]:l.nameEnd(d)])
	before = bytes.TrimLeft(bytes.TrimSuffix(before, []byte(d.Name)), "*& ")
	above := l.line(l.mask, d.Line-1)
	if !l.code(d.Line-1) || len(above) > maxLooked {
		return false
	}
	above = bytes.TrimSpace(above)
	if above[0] == '#' || len(before) > 0 && !bytes.HasSuffix(before, []byte("::")) || strings.HasSuffix("."+d.Scope, "."+d.Name) {
		return false
	}
	end := above[len(above)-1]
	return lexis.IsWord(end) || strings.IndexByte("*&>", end) >= 0
}

// decorator gives the first line of a decorator or an attribute that ends in a line; 0
// when there is none.
func (l *layout) decorator(line int) int {
	if l.ending == byWord || l.ending == byIndent {
		return 0
	}
	last := bytes.TrimSpace(l.line(l.mask, line))
	isTemplate := l.ending == bySemicolon && bytes.HasSuffix(last, []byte(">"))
	for n := l.opener(line); n > 0 && l.code(n) && !bytes.HasSuffix(last, []byte(";")); n = l.opener(n - 1) {
		mask := bytes.TrimSpace(l.line(l.mask, n))
		switch {
		case len(mask) == 0: // a line #!
			return 0
		case isDecorator(string(mask)) && (mask[0] != '@' || l.onlyDecorates(n, line)) && (mask[0] != '[' || l.ending == bySemicolon && bytes.HasSuffix(last, []byte("]"))),
			bytes.HasPrefix(mask, []byte("__attribute__")), isTemplate && bytes.HasPrefix(mask, []byte("template")):
			return n
		case !isTemplate || bytes.ContainsAny(mask, ";{}"):
			return 0
		}
	}
	return 0
}

// onlyDecorates says whether lines hold decorators alone. Behind one of Python there is
// nothing in its line; behind @Override in Java the definition itself may follow.
func (l *layout) onlyDecorates(from, to int) bool {
	var left []byte // without what is in brackets
	for i := l.starts[from-1]; i < l.starts[to]; i++ {
		if other, isBracket := l.partner(i); isBracket {
			i = max(i, other)
		} else {
			left = append(left, l.mask[i])
		}
	}
	for word := range bytes.FieldsSeq(left) {
		if word[0] != '@' {
			return l.language.Is("Python")
		}
	}
	return true
}

// opener is the first of the lines that brackets hold together with a line; 0 when a
// bracket of the line stays open in it, or the line is too long to understand.
func (l *layout) opener(line int) int {
	if line == 0 || l.starts[line]-l.starts[line-1] >= maxLooked {
		return 0
	}
	end, first := l.starts[line], line
	for n := line + 1; n > first; {
		n = first
		for i := l.starts[n-1]; i < l.starts[n]; i++ {
			other, isBracket := l.partner(i)
			switch {
			case isBracket && (other < 0 || other >= end), i-l.starts[n-1] > maxLooked:
				return 0
			case isBracket:
				first = min(first, l.lineOf(other))
			}
		}
	}
	return first
}
