package code

import (
	"bytes"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

// A level is the set of constructs around the beginning of a line. Lines of one level are
// siblings.
type level struct {
	bracket int32 // 1 + the offset of the innermost open bracket; 0 for none
	branch  int32 // the line of the innermost #if or #else; 0 for none
	part    lexis.Part
	open    int // comments and strings
}

// level is the level of a line, or of the end of the text.
func (l *layout) level(n int) level {
	var of level
	if l.inside != nil {
		of = l.inside[n-1]
	}
	of.part, of.open = l.states[n-1].Part, l.states[n-1].Open
	return of
}

// A unit describes the surroundings of a line. A unit is a range of lines from one that
// begins in code to the next such line of the same level: one line, or a comment or a
// decorator of any length. Line number 0 means none.
type unit struct {
	first     int // the first line of the unit
	above     int // the first line of the unit directly above
	head      int // where a definition in the unit starts, including the comments and decorators above
	decorated int // where it starts with only the decorators above; 0 without any
	codeAbove int // the first line of the next unit above that is neither
	codeEnd   int // the offset after the last code before the line
	nextCode  int // the first line from this one on that has code
	nextStart int // the first line from this one on that does not begin in a comment or string
	holds     holding
}

// A holding is the largest kind of content of the preprocessor conditional that begins in a
// line.
type holding uint8

const (
	holdsNone       holding = iota // no conditional begins in the line
	holdsComments                  // or nothing
	holdsDecorators                // attributes of the code after it
	holdsStatements                // or other directives
	holdsList                      // an element of a list before a comma
	holdsPart                      // a part of the code after it
)

// unit is the surroundings of a line.
func (l *layout) unit(n int) *unit {
	if l.units == nil {
		l.findUnits()
	}
	return &l.units[n]
}

func (l *layout) findUnits() {
	l.units = make([]unit, l.lines()+2)
	last := map[level]int{} // the last line of a level
	joined := 0             // the last line of a head without brackets around it, such as template <...>
	conditionals := conditionals{layout: l}
	for n := 1; n <= l.lines()+1; n++ {
		u, continues := &l.units[n], false
		u.first, u.codeEnd = l.units[n-1].first, l.units[n-1].codeEnd
		if n > 1 {
			if line := bytes.TrimRight(l.line(l.mask, n-1), whiteSpace); len(line) > 0 {
				u.codeEnd = l.starts[n-2] + len(line)
				continues = line[len(line)-1] == '\\'
			}
		}
		if n > l.lines() || n > 1 && (continues || n <= joined || l.states[n-1].Part != lexis.Code) {
			continue
		}
		if end := l.decorated(l.starts[n-1], l.starts[n]); end > l.starts[n] {
			joined = l.lineOf(end - 1)
		}
		key := l.level(n)
		u.first, u.above, u.head = n, last[key], n
		last[key] = n
		l.lookAbove(n, u)
		conditionals.pass(n)
	}
	l.units[l.lines()+1].nextStart = l.lines() + 1
	for n := l.lines(); n > 0; n-- {
		l.units[n].nextCode, l.units[n].nextStart = l.units[n+1].nextCode, l.units[n+1].nextStart
		if l.code(n) {
			l.units[n].nextCode = n
		}
		if l.states[n-1].Part == lexis.Code {
			l.units[n].nextStart = n
		}
	}
}

// conditionals finds the contents of a text's conditionals, in one pass.
type conditionals struct {
	*layout
	open []int // the first lines of the open ones
	from int   // the offset up to which the text was handled
}

// pass handles a line, and the text before it if the line is a directive.
func (c *conditionals) pass(n int) {
	does := c.conditional(n)
	if does == noConditional {
		return
	}
	if last := len(c.open) - 1; last >= 0 {
		inner := &c.units[c.open[last]]
		inner.holds = max(inner.holds, c.holding(c.from, c.starts[n-1]))
		if does == closesConditional {
			c.open = c.open[:last]
		}
		if does == closesConditional && last > 0 {
			outer := &c.units[c.open[last-1]]
			outer.holds = max(outer.holds, inner.holds)
		}
	}
	if does == opensConditional {
		c.open = append(c.open, n)
	}
	c.from = c.starts[c.directiveEnd(n)]
}

// holding is the kind of a text between two directives.
func (c *conditionals) holding(from, to int) holding {
	end := from + len(bytes.TrimRight(c.mask[from:to], whiteSpace))
	switch {
	case end == from:
		return holdsComments
	case c.decorated(from, end) >= end:
		return holdsDecorators
	case c.mask[end-1] == ',':
		return holdsList
	case c.terminated(c.lineOf(end - 1)):
		return holdsStatements
	}
	return holdsPart
}

// joinsNext reports whether a backslash joins a line with the next one.
func (l *layout) joinsNext(n int) bool {
	return n < l.lines() && bytes.HasSuffix(bytes.TrimRight(l.line(l.text, n), "\r\n"), []byte(`\`))
}

func (l *layout) directiveEnd(n int) int {
	for l.joinsNext(n) {
		n++
	}
	return n
}

// lookAbove decides which lines of the unit above belong to this unit. A decorator belongs to
// it whatever comments and empty lines are between; a comment only if it is directly above,
// or between the unit and its decorator. A conditional with only such content counts like its
// content.
func (l *layout) lookAbove(n int, u *unit) {
	if u.above == 0 {
		return
	}
	above := &l.units[u.above]
	from, to := l.starts[u.above-1], l.starts[n-1]
	switch {
	case u.codeEnd <= from:
		u.codeAbove, u.decorated = above.codeAbove, above.decorated
		text := bytes.TrimLeft(l.text[from:to], whiteSpace)
		isAround := l.language.Is("Rust") && (bytes.HasPrefix(text, []byte("//!")) || bytes.HasPrefix(text, []byte("/*!"))) // it is about the module
		if u.head = above.head; isAround || l.kinds[u.above-1] != hasNoCode {                                               // or it is empty, or #!
			u.head = n
			if u.decorated > 0 {
				u.head = u.decorated
			}
		}
	case above.holds == holdsComments:
		u.head, u.decorated, u.codeAbove = above.head, above.decorated, above.codeAbove
	case above.holds == holdsDecorators, above.holds == holdsNone && l.decorated(from, to) >= u.codeEnd:
		u.head, u.decorated, u.codeAbove = above.head, above.head, above.codeAbove
	default:
		u.codeAbove = u.above
	}
}

// decorated is the offset of the first code from an offset on that is not a decorator,
// annotation, attribute, template head, or a directive around these. It handles only those
// that begin before until.
func (l *layout) decorated(from, until int) int {
	for from < until {
		c := l.mask[from]
		next := from
		switch {
		case strings.IndexByte(whiteSpace, c) >= 0:
			from++
			continue
		case c == '@' && l.language.Is("Python", "Java", "JavaScript", "TypeScript", "Kotlin", "Scala", "Swift", "Dart") && !l.beginsInterface(from+1):
			next = l.passNames(from + 1)
		case c == '#' && from+1 < until && l.mask[from+1] == '[' && l.language.Is("Rust", "PHP"):
			next = l.passBracket(from + 1)
		case c == '#' && l.conditional(l.lineOf(from)) != noConditional:
			next = l.starts[l.directiveEnd(l.lineOf(from))]
		case c == '[' && l.language.Is("C", "C++", "C#"):
			next = l.passBracket(from)
		case l.language.Is("C", "C++"):
			word := from + lexis.WordLen(l.mask[from:until])
			switch string(l.mask[from:word]) {
			case "template":
				next = l.passAngles(word)
			case "__attribute__", "__declspec", "alignas":
				next = l.passBracket(word)
			}
		}
		if next <= from {
			return from
		}
		from = next
	}
	return from
}

// beginsInterface reports whether the word after an @ begins a Java type.
func (l *layout) beginsInterface(at int) bool {
	word, _ := cutWord(l.mask[at:])
	return word == "interface" && l.language.Is("Java")
}

// passNames is the offset after names with dots between and brackets after them, as in a
// decorator.
func (l *layout) passNames(at int) int {
	for at < len(l.mask) {
		c := l.mask[at]
		switch {
		case lexis.IsWord(c), c == '.', c == '$', c == ':' && !l.language.Is("Python"):
			at++
		case c == '(', c == '[', c == ' ' && at+1 < len(l.mask) && l.mask[at+1] == '(':
			next := l.passBracket(at)
			if next < 0 {
				return at
			}
			at = next
		case l.language.Is("Python") && (c != '\n' || bytes.HasSuffix(bytes.TrimRight(l.mask[:at], "\r"), []byte(`\`))):
			at++
		default:
			return at
		}
	}
	return at
}

// passBracket is the offset after the partner of the bracket at an offset, which may have a
// blank before it; -1 if there is none.
func (l *layout) passBracket(at int) int {
	if at < len(l.mask) && l.mask[at] == ' ' {
		at++
	}
	if other, _ := l.partner(at); other > at {
		return other + 1
	}
	return -1
}

// passAngles is the offset after the > that closes the < at an offset, which may have a blank
// before it; -1 if there is none.
func (l *layout) passAngles(at int) int {
	depth := 0
	for end := min(at+maxLooked, len(l.mask)); at < end; at++ {
		switch c := l.mask[at]; {
		case c == '<':
			depth++
		case c == '>' && depth == 1:
			return at + 1
		case c == '>':
			depth--
		case depth == 0 && c != ' ', c == ';':
			return -1
		default:
			if other, _ := l.partner(at); other > at {
				at = other
			}
		}
	}
	return -1
}
