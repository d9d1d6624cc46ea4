package code

import (
	"bytes"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

// extend finds the lines of a definition; ctags may have reported the last one. They are a
// guess unless they are proven. They are proven if two ways to find the end agree, or the
// only way does not contradict the indentation, and the definition continues neither from the
// code above nor into the code below.
func (l *layout) extend(d *definition) {
	told := d.End >= d.Line
	proven := told && l.language.Is("Python") || l.findEnd(d, told) // in Python, ctags reports the ends until it gives up
	d.End = min(d.End, l.lines())
	if next := l.unit(d.End + 1); next.nextStart <= next.nextCode || next.nextCode == 0 {
		d.End = max(d.End, next.nextStart-1) // the comment after its last code has more lines
	}
	first, isWhole := l.firstLine(d)
	d.Start = l.unit(first).head
	isWhole = isWhole && proven && l.language != nil && l.endsAbove(d) && l.endsBelow(d, first)
	d.Guessed = !isWhole && !d.Shared
}

// findEnd sets the last line of a definition, unless told, and reports whether it is proven.
// told means that ctags reported the last line.
func (l *layout) findEnd(d *definition, told bool) bool {
	body := hasBody(d.Kind)
	switch {
	case told && d.Kind == "macro":
		return true // in C, a line without a backslash at its end
	case told && l.language.Is("Ruby"):
		isOpen := d.End > l.lines()
		d.End = min(d.End, l.lines())
		return !isOpen && l.endsRuby(d)
	case body && l.ending == byWord:
		last, guessed := l.wordEnd(d.Line)
		agree := !told || last == d.End || !l.code(min(d.End, l.lines())) // ctags accepts any "end" in a here-document
		if !told || !guessed {
			d.End = last
		}
		return agree && !guessed
	case l.ending == byIndent, body && l.language.Is("Python"):
	default:
		if at, ok := l.statement(d).end(l.behindName(d)); ok {
			return l.endAt(d, at, told)
		}
	}
	if !told {
		d.End = l.indentedEnd(d.Line)
	}
	return false
}

// endsRuby reports whether the end of a definition is certain: the end that closes it is
// indented like its beginning, or it has none. It finds code after that end.
func (l *layout) endsRuby(d *definition) bool {
	last := l.line(l.mask, d.End)
	if d.End == d.Line || !hasBody(d.Kind) || wordAt(last, []byte("end"), 0) < 0 {
		return true
	}
	word, rest := cutWord(last)
	d.Shared = d.Shared || len(trim(rest)) > 0 // such as end if a
	return word == "end" && l.column(d.End) == l.column(d.Line)
}

// endAt sets the last line of a definition to the line of an offset, unless ctags reported
// another.
func (l *layout) endAt(d *definition, at int, told bool) bool {
	last := max(d.Line, l.lineOf(at))
	if told && last != d.End && d.End > d.Line {
		return false
	}
	d.End = last
	rest := trim(l.mask[min(at+1, l.starts[last]):l.starts[last]])
	isLast := isFunction(d.Kind) && l.ending == bySemicolon && bytes.HasPrefix(rest, []byte(";")) // of an enum in Java
	names := isType(d.Kind) && l.language.Is("C", "C++")                                          // names of variables may follow
	d.Shared = isLast || len(bytes.Trim(rest, ";,")) > 0 && !names
	return true
}

// firstLine is the first line of a definition without the comments and decorators above it.
// isWhole reports whether the definition begins there, and not after other code in this line.
func (l *layout) firstLine(d *definition) (first int, isWhole bool) {
	first = l.unit(d.Line).first
	if bracket := l.level(first).bracket; bracket > 0 && l.level(first) != l.level(d.End+1) {
		first = l.unit(l.lineOf(int(bracket) - 1)).first
	}
	if first < d.Line && l.decorated(l.starts[first-1], l.starts[d.Line-1]) < l.starts[d.Line-1] {
		return l.unit(d.Line).first, false
	}
	d.Shared = d.Shared || l.isInside(d)
	if first == d.Line && l.isType(d) {
		first = l.unit(d.Line - 1).first
	}
	for l.language.Is("C", "C++") && l.beginsAbove(first) {
		first--
	}
	return first, l.level(first) == l.level(d.End+1)
}

// beginsAbove reports whether a C statement that includes a line begins above it: with a word
// such as typedef struct above its bracket {, or with a macro below an empty line.
func (l *layout) beginsAbove(n int) bool {
	if u := l.unit(n); u.above == 0 || u.above != n-1 || u.codeAbove != n-1 || l.terminated(n-1) {
		return false
	}
	above := l.unit(n - 1).above
	return l.firstOf(n) == '{' || above == 0 || l.kinds[above-1] != hasCode
}

// terminated reports whether a C line with code ends the statement in it.
func (l *layout) terminated(n int) bool {
	line := trim(l.line(l.mask, n))
	return l.firstOf(l.unit(n).first) == '#' || strings.IndexByte(";{},:", line[len(line)-1]) >= 0
}

// behindName is the offset after the name of a definition, and after brackets that close
// there, as in int (*name)(int).
func (l *layout) behindName(d *definition) int {
	at := l.nameEnd(d)
	if body := l.oldBody(d); body > 0 {
		return body
	}
	if l.listed(d) {
		return l.behindPattern(at)
	}
	for at < l.starts[d.Line] {
		if other, isBracket := l.partner(at); !isBracket || other < l.starts[d.Line-1] || other > at || l.mask[at] == '}' {
			break
		}
		at++
	}
	return at
}

// isInside reports whether a definition's name is in a bracket that opens before it in its
// line, as for a function that is an argument, or after another statement.
func (l *layout) isInside(d *definition) bool {
	if l.language.Is("C", "C++", "Objective-C", "Python") { // there it may be int (*name)(int), (name, b) = 1, 2
		return false
	}
	end := l.nameEnd(d)
	for i := l.firstByte(d.Line); i < end; i++ {
		other, isBracket := l.partner(i)
		switch {
		case l.mask[i] == ';', isBracket && l.mask[i] != '{' && other >= end:
			return true
		case isBracket && other > i && other < end:
			i = other
		}
	}
	return false
}

// endsAbove reports whether the code above a definition ends there. A declarator that ends
// with a comma may follow another one that ends with a comma; one that ends with a semicolon
// may not: int a,\n b;
func (l *layout) endsAbove(d *definition) bool {
	n := d.Start
	u := l.unit(n)
	if u.codeEnd == 0 || l.language.Is("Python") {
		return true
	}
	last, own := l.mask[u.codeEnd-1], l.mask[l.unit(d.End+1).codeEnd-1]
	line := l.unit(l.lineOf(u.codeEnd - 1)).first
	isDirective := l.ending == bySemicolon && (l.firstOf(line) == '#' || bytes.HasPrefix(trim(l.line(l.text, l.lineOf(u.codeEnd-1))), []byte("<?")))
	switch above := l.unit(u.codeAbove).holds; {
	case isDirective && (above == holdsPart || above == holdsList && own != ',' && d.Kind != "enumerator"):
		return false
	case isDirective, l.firstOf(l.unit(d.Line).first) == '#' && l.ending == bySemicolon:
		return true
	case l.listed(d) && l.firstOf(n) == ',':
		d.Shared = true // it follows another variable
		return true
	case l.language.Is("C", "C++") && l.kinds[n-2] == isEmpty && (lexis.IsWord(last) || last == ')'):
		return true // after a macro that needs no semicolon
	case last == ',' && own == ';', last == ';' && own == ',', d.Kind == "enumConstant" && own == ';':
		d.Shared = true
		return true
	case l.ending != byWord && !l.language.Is("Shell", "Objective-C") && strings.IndexByte(".?:|&=>,)]", l.firstOf(n)) >= 0:
		return false
	case l.ending == bySemicolon:
		if strings.IndexByte(";{},:", last) < 0 {
			return false
		}
	case l.ending == byWord:
		return strings.IndexByte(`=+-*%&^<.\`, last) < 0 || u.codeEnd > 1 && endsName(l.mask[u.codeEnd-2], last)
	case last != ',' && last != '(' && l.goesOn(u.codeEnd-1):
		return false
	case l.language.Is("Shell"):
		return true
	}
	return u.codeAbove == 0 || l.column(u.codeAbove) >= l.column(n) || l.isResultType(d.Line-1) || last == ':' || l.firstOf(u.codeAbove) == '#'
}

// behindPattern is the offset after the bracket { or [ around a name in its line, as in const
// { a, b } = c; without one it is the offset itself.
func (l *layout) behindPattern(at int) int {
	for i := l.firstByte(l.lineOf(max(at-1, 0))); i < at; i++ {
		other, isBracket := l.partner(i)
		switch {
		case isBracket && other >= at && l.mask[i] != '(':
			return other + 1
		case isBracket && other > i:
			i = other
		}
	}
	return at
}

// listed reports whether a definition may be one of several variables separated by commas.
func (l *layout) listed(d *definition) bool {
	return l.language.Is("JavaScript", "TypeScript") && (d.Kind == "variable" || d.Kind == "constant")
}

// endsName reports whether an operator at the end of a Ruby line is the end of a name,
// according to the byte before it: alias store []=, or private :size=.
func endsName(before, operator byte) bool {
	return before == ':' || operator == '=' && (before == ']' || lexis.IsWord(before))
}

// firstOf is the first byte of code in a line; 0 for none.
func (l *layout) firstOf(n int) byte {
	if line := trim(l.line(l.mask, n)); len(line) > 0 {
		return line[0]
	}
	return 0
}

// endsBelow reports whether a definition, which begins in line first, does not continue below
// its last line.
func (l *layout) endsBelow(d *definition, first int) bool {
	u := l.unit(d.End + 1)
	last, next := l.mask[max(u.codeEnd-1, 0)], byte(0)
	if l.listed(d) && u.nextCode > 0 && (last == ',' || l.firstOf(u.nextCode) == ',') {
		d.Shared = true // another variable follows
		return true
	}
	isDirective := l.ending == bySemicolon && l.firstOf(first) == '#'
	if n := u.nextCode; n > 0 && l.level(n) == l.level(d.End+1) {
		if next = l.firstOf(n); l.column(n) > l.column(first) && next != '#' && !isDirective && !l.isResultType(n) {
			return false
		}
	}
	isCloser := next != 0 && strings.IndexByte(closers, next) >= 0
	switch {
	case l.ending == byWord, l.language.Is("Python", "Shell"), isDirective:
		return true
	case last == ';', last == ',', isCloser, next == 0:
		return true
	case strings.IndexByte(".?:|&=>{", next) >= 0:
		return false
	case last == '}' && hasBody(d.Kind):
		return true
	case l.ending == bySemicolon:
		return last == '}'
	}
	return !l.goesOn(u.codeEnd-1) && strings.IndexByte("+-*/%^<([`", next) < 0
}
