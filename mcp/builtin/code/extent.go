package code

import (
	"bytes"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

// place sets the lines where definitions begin and end. It leaves out definitions in comments
// and strings.
func (l *layout) place(all []definition) (defs []definition) {
	structures := map[string]*definition{}
	whole := "" // the package or namespace of the whole file
	for _, d := range all {
		if d.Line > l.lines() || !l.code(d.Line) {
			continue
		}
		if d.Kind == "function" && l.language.Is("Python") && strings.IndexByte("=:", l.at(l.pass(l.nameEnd(&d), blanks))) >= 0 {
			d.Kind, d.Signature = "variable", "" // its value is a lambda
		}
		if up := d; l.ending == byLine && d.Line > 1 && hasBody(d.Kind) && l.nameEnd(&d) == l.firstByte(d.Line) {
			if up.Line--; l.nameEnd(&up) != l.firstByte(up.Line) {
				d = up // ctags reports the line of the bracket
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
	open := map[int]bool{} // the offsets of statements that continue after the body of a type
	for i := range defs {
		d := &defs[i]
		l.extend(d)
		if end, isOpen := l.declares(d); isOpen {
			d.Guessed, open[end] = true, true
		}
		d.Guessed = d.Guessed || open[l.unit(d.Start).codeEnd]
		for j := i - 1; j >= max(0, i-maxBeside) && defs[j].Line == d.Line; j-- {
			if within(d.Scope, defs[j].fullName()) {
				d.Start = d.Line // the lines above belong to the outer definition
				break
			}
		}
		if structure := structures[d.structure]; structure != nil && structure.lastLine() == d.Line {
			d.Start, d.Guessed = structure.Start, structure.Guessed // of typedef struct { } d;
		}
		if d.Kind == "struct" || d.Kind == "union" || d.Kind == "enum" {
			structures[d.fullName()] = d
		}
	}
	last := map[string]int{}
	for name, d := range structures {
		last[name] = d.End
	}
	return slices.DeleteFunc(defs, func(d definition) bool { // ctags 5.9 does not understand <<; there an enum takes everything after it
		end, found := last[d.Scope]
		return found && d.Kind == "enumerator" && d.Line > end
	})
}

// declares reports whether the statement of a C type continues after its body on the next
// line: with variables, or as the result of a function. end is the offset after the body.
func (l *layout) declares(d *definition) (end int, isOpen bool) {
	if !isType(d.Kind) || !l.language.Is("C", "C++") {
		return 0, false
	}
	u := l.unit(d.End + 1)
	isOpen = u.nextCode > 0 && l.mask[u.codeEnd-1] == '}' && strings.IndexByte(closers, l.firstOf(u.nextCode)) < 0
	return u.codeEnd, isOpen
}

const maxBeside = 100 // definitions in one line that are checked

func (l *layout) opensBody(n int) bool {
	return bytes.IndexByte(l.line(l.mask, n), '{') >= 0 || l.behind(l.starts[n], whiteSpace) == '{'
}

// nameEnd is the offset after a definition's name, or the first byte of its line if the name
// is not in it.
func (l *layout) nameEnd(d *definition) int {
	line := l.line(l.mask, d.Line)
	if at := l.nameAt(line[:min(len(line), maxLooked)], []byte(d.Name), 0); at >= 0 {
		return l.starts[d.Line-1] + at + len(d.Name)
	}
	return l.firstByte(d.Line)
}

// A statement is a definition while its end is searched for.
type statement struct {
	*layout
	kind   string // of the definition
	body   bool   // it ends with a body
	header bool   // it certainly has a body, so no line ends it before
	comma  bool   // it may end with a comma
	angle  int    // how many < are open, as in Map<string, number>
}

func (l *layout) statement(d *definition) *statement {
	s := &statement{layout: l, kind: d.Kind, body: hasBody(d.Kind)}
	s.comma = !s.body
	if l.language.Is("JavaScript", "TypeScript") {
		if at := l.pass(l.nameEnd(d), whiteSpace+"\"'?!"); (l.at(at) == ':' || l.at(at) == '=') && l.hasExpression(at+1) {
			s.body, s.comma = false, true
		}
		before := l.mask[l.starts[d.Line-1]:l.nameEnd(d)]
		s.header = slices.ContainsFunc([]string{"class", "interface", "enum", "namespace"}, func(word string) bool {
			return wordAt(before[:min(len(before), maxLooked)], []byte(word), 0) >= 0
		})
	}
	return s
}

// hasExpression reports whether an arrow function at an offset has an expression as its body.
func (l *layout) hasExpression(at int) bool {
	for end := min(at+maxLooked, len(l.mask)); at < end; at++ {
		switch c := l.mask[at]; {
		case c == '=' && l.at(at+1) == '>':
			return l.behind(at+2, whiteSpace) != '{'
		case strings.IndexByte("{;,\n", c) >= 0:
			return false
		default:
			if other, _ := l.partner(at); other > at {
				at = other
			}
		}
	}
	return false
}

// end returns the offset of the last byte of the statement that continues at i. It is not
// found if a bracket stays open.
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
		case isBracket && other < i: // it closes a bracket from before the statement
			return last, true
		case isBracket:
			if c == '{' && s.body && s.beginsBody(i, other) {
				// The statement continues if more code follows on the same line, as in f:
				// function() { }.bind(this).
				s.comma = strings.IndexByte("{>&|=.?[(", s.behind(other+1, blanks+"\r")) >= 0
				if !s.comma {
					return other, true
				}
			}
			i, last = other, other
		case c == ';', c == ',' && s.comma && s.angle == 0:
			return i, true
		case c == '\n':
			inside := s.states[s.lineOf(i)].Part != lexis.Code // inside of a comment or a string
			if s.ending != bySemicolon && !s.header && !inside && s.lineEnds(last, i+1) {
				return last, true
			}
		case strings.IndexByte(whiteSpace, c) < 0:
			s.count(i, last)
			last = i
		}
	}
	return last, s.ending != bySemicolon && !s.header
}

// beginsBody reports whether a bracket { with the partner other begins the body. Brackets of
// types and of values in a head do not.
func (s *statement) beginsBody(at, other int) bool {
	isType := s.angle > 0 && !s.language.Is("C", "C++") || s.opensType(at, s.kind) || s.initializes(other)
	if s.language.Is("TypeScript") && !isType { // f(): () => { a: number } {
		next := s.behind(other+1, blanks+"\r")
		isType = next == '{' || next == ':'
	}
	return !isType
}

// count counts angle brackets, except ->, =>, << and comparisons with blanks around the
// bracket.
func (s *statement) count(i, last int) {
	before := s.mask[max(last, 0)]
	switch c := s.mask[i]; {
	case c == '<' && (s.at(i+1) == '<' || i > 0 && s.mask[i-1] == '<'):
	case c == '<' && (lexis.IsWord(before) && last == i-1 || s.behind(i+1, "") != ' '):
		s.angle++
	case c == '>' && before != '-' && before != '=':
		s.angle = max(s.angle-1, 0)
	}
}

// lineEnds reports whether a statement ends with its line. last is the last byte of the line,
// and next is where the next line begins.
func (s *statement) lineEnds(last, next int) bool {
	if last >= 0 && strings.IndexByte(",(", s.mask[last]) >= 0 || s.goesOn(last) {
		return false
	}
	first := s.behind(next, whiteSpace)
	word, _ := cutWord(bytes.TrimLeft(s.mask[next:min(next+maxLooked, len(s.mask))], whiteSpace))
	goesOn := "extends implements with where instanceof as satisfies"
	if s.language.Is("Python") {
		goesOn = ""
	}
	return strings.IndexByte(".?:|&=>", first) < 0 && !(s.body && first == '{') && (word == "" || !slices.Contains(strings.Fields(goesOn), word))
}

// goesOn reports whether a statement continues on the next line because of its last byte or
// last word in this one.
func (l *layout) goesOn(last int) bool {
	if last < 0 {
		return false
	}
	if strings.IndexByte(`=+-*/%&|^?:<.\`, l.mask[last]) >= 0 || last > 0 && string(l.mask[last-1:last+1]) == "=>" {
		return true
	}
	words := "export default declare abstract extends implements new typeof keyof instanceof as satisfies"
	return slices.Contains(strings.Fields(words), lexis.LastWord(l.mask[max(0, last-20):last+1]))
}

// indented returns the last of the lines of code after a line that are indented more, and the
// first that is not; 0 if there is none.
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

// indentedEnd is the last line of a definition that begins in a line, according to the
// indentation.
func (l *layout) indentedEnd(from int) int {
	last, next := l.indented(from)
	if next > 0 && strings.IndexByte(closers, trim(l.line(l.mask, next))[0]) >= 0 {
		return next
	}
	return last
}

// wordEnd is the line with the "end" of a definition that begins in a line.
func (l *layout) wordEnd(from int) (last int, guessed bool) {
	end := []byte("end")
	line := trim(l.mask[max(l.starts[from-1], l.starts[from]-maxLooked):l.starts[from]])
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

// oldBody is the offset of the { of a C function that declares its parameters after the brackets,
// as in int f(a) int a; {; 0 for any other.
func (l *layout) oldBody(d *definition) int {
	open := l.pass(l.nameEnd(d), whiteSpace)
	at, isBracket := l.partner(open)
	if !isBracket || at < open || l.mask[open] != '(' || !isFunction(d.Kind) || !l.language.Is("C") {
		return 0
	}
	names := bytes.Trim(l.mask[open+1:at], whiteSpace)
	isNames := len(names) > 0 && len(names) < maxLooked && bytes.ContainsFunc(names, func(r rune) bool { return r != ',' })
	for word := range bytes.SplitSeq(names, []byte(",")) {
		word = trim(word)
		isNames = isNames && lexis.WordLen(word) == len(word) && len(word) > 0
	}
	last := byte(0) // the last byte that is not white space
	for end := min(at+maxLooked, len(l.mask)); isNames && at+1 < end; {
		at++
		switch c := l.mask[at]; {
		case c == '{' && last == ';':
			return at
		case strings.IndexByte(whiteSpace, c) >= 0:
		case lexis.IsWord(c), c == '*', last != 0 && (c == ',' || c == ';' || c == '(' || c == '['):
			if last = c; c == '(' || c == '[' {
				if at, _ = l.partner(at); at < 0 {
					return 0
				}
			}
		default:
			return 0
		}
	}
	return 0
}

// isResultType reports whether a C line has only the result type of the function in the next
// line. Vim's style indents such a line.
func (l *layout) isResultType(n int) bool {
	if n < 1 || n >= l.lines() || !l.language.Is("C", "C++") || l.column(n) == 0 || l.column(n+1) > 0 || !l.code(n) || !l.code(n+1) {
		return false
	}
	text := trim(l.line(l.mask, n))
	next := l.line(l.mask, n+1)
	word := lexis.WordLen(next)
	last := text[len(text)-1]
	return lexis.IsWord(text[0]) && (lexis.IsWord(last) || last == '*') && word > 0 && bytes.HasPrefix(bytes.TrimLeft(next[word:], blanks), []byte("("))
}

// isType reports whether the line above a function's line is its result type.
func (l *layout) isType(d *definition) bool {
	if d.Line == 1 || l.ending != bySemicolon || d.Kind != "function" && d.Kind != "method" && d.Kind != "prototype" {
		return false
	}
	before := trim(l.mask[l.starts[d.Line-1]:l.nameEnd(d)])
	before = bytes.TrimLeft(bytes.TrimSuffix(before, []byte(d.Name)), "*& ")
	above := l.line(l.mask, d.Line-1)
	if len(above) > maxLooked {
		return false
	}
	above = trim(above)
	if len(above) == 0 || above[0] == '#' || len(before) > 0 && !bytes.HasSuffix(before, []byte("::")) || strings.HasSuffix("."+d.Scope, "."+d.Name) {
		return false
	}
	end := above[len(above)-1]
	return lexis.IsWord(end) || strings.IndexByte("*&>", end) >= 0
}
