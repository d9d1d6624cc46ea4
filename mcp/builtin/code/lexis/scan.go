package lexis

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxFill    = 64  // characters that fill the opening of a span
	maxNesting = 100 // strings inside the code of strings
	maxFailed  = 16  // names of here-documents without an end that are searched for
	maxPending = 8   // here-documents that begin in one line
)

// A State describes the beginning of a line. The zero State is code outside everything.
type State struct {
	Part Part
	Open int // how many comments and strings are open; code inside a string counts as in one
	Cut  int // how many strings above it ended with their line, unterminated
}

// A Part distinguishes code, comments and strings.
type Part uint8

const (
	Code Part = iota
	Comment
	String // or a here-document
)

// Scan returns the mask of a text: of the same length, with blanks for comments and the
// insides of strings. Line ends stay, and so do the quotes around a string. For other
// delimiters, such as the slashes of a regular expression, the first byte of each becomes a
// double quote. Code inside a string, as in `${name}`, stays. The mask for an unknown
// language is the text itself. states are the states of the lines, followed by the state at
// the end of the text.
func (l *Language) Scan(text []byte) (mask []byte, states []State) {
	if l == nil {
		n := bytes.Count(text, []byte("\n"))
		if len(text) > 0 && text[len(text)-1] != '\n' {
			n++
		}
		return text, make([]State, n+1)
	}
	s := &scanner{Language: l, in: text, out: bytes.Clone(text), last: -1}
	for i := range l.spans {
		sp := &l.spans[i]
		s.first[sp.open[0]] = true
		if strings.HasPrefix(sp.open, filling) { // the filling may be empty
			s.first[sp.open[len(filling)]] = true
			s.first[sp.fill[0]] = true
		}
	}
	if l.hereDoc.open != "" {
		s.first[l.hereDoc.open[0]] = true
	}
	if outside := &l.spans[0]; l.outside && !bytes.HasPrefix(text, []byte(outside.close)) {
		s.stack = append(s.stack, frame{span: outside, close: outside.close, lines: true})
	}
	s.states = append(s.states, s.state())
	for s.i < len(text) {
		if n := len(s.stack); n == 0 || s.stack[n-1].inCode {
			s.code()
		} else {
			s.content(&s.stack[n-1])
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		for n := len(s.stack); n > 0 && !s.stack[n-1].inCode && !s.stack[n-1].lines; n-- {
			s.cut(&s.stack[n-1])
		}
		s.states = append(s.states, s.state())
	}
	return s.out, s.states
}

func (s *scanner) state() State {
	n := len(s.stack)
	state := State{Open: n, Cut: s.cuts}
	switch {
	case n == 0 || s.stack[n-1].inCode:
	case s.stack[n-1].flags&comment != 0:
		state.Part = Comment
	default:
		state.Part = String
	}
	return state
}

func (s *scanner) cut(f *frame) {
	if f.flags&(comment|regex) == 0 {
		s.cuts++
	}
	s.pop()
}

type scanner struct {
	*Language
	in, out []byte
	states  []State
	cuts    int
	first   [256]bool // the first bytes of spans and here-documents

	i        int
	stack    []frame
	word     int // where the word before i begins; i if there is none
	lastWord int // where the last word began
	last     int // the last byte of code that is not white space; -1 for none

	pending []string // names of the here-documents that begin after this line
	failed  int
}

// A frame is an open span.
type frame struct {
	*span
	close  string
	depth  int  // of nested comments, or of brackets in the code
	inCode bool // the scanner is in code inside the string
	lines  bool // it may span lines
	class  bool // the scanner is between [ and ] of a regular expression
}

// bracket returns the brackets that open and close code inside the string.
func (f *frame) bracket() (open, shut byte) {
	if open = f.code[len(f.code)-1]; open == '{' {
		return open, '}'
	}
	return open, ')'
}

// inner is the text that opens a nested span, which close then closes first.
func (sp *span) inner() string {
	if n := strings.Index(")]}>", sp.close); n >= 0 {
		return "([{<"[n : n+1]
	}
	return sp.open
}

func (s *scanner) code() {
	var inside *frame
	var open, shut byte
	if n := len(s.stack); n > 0 {
		inside = &s.stack[n-1]
		open, shut = inside.bracket()
	}
	for s.word = s.i; s.i < len(s.in); {
		c := s.in[s.i]
		switch {
		case s.first[c] && s.opens():
			return
		case c == '\n' && len(s.pending) > 0:
			s.hereDocs()
			continue
		case c == '\\' && s.escapes:
			s.i = min(s.i+1, len(s.in)-1)
		case c == '?' && s.characters && s.isOperand() && s.i+1 < len(s.in) && s.in[s.i+1] > ' ':
			s.blank(1, true)
			s.blank(1, true)
			s.last = s.i - 1
			continue
		case inside != nil && c == open:
			inside.depth++
		case inside != nil && c == shut && inside.depth == 0:
			inside.inCode = false
			s.blank(1, false)
			return
		case inside != nil && c == shut:
			inside.depth--
		}
		if c > ' ' {
			s.last = s.i
		}
		s.i++
		if s.in[s.i-1] == '\n' {
			s.states = append(s.states, s.state())
		}
		switch {
		case !IsWord(c):
			s.word = s.i
		case s.word == s.i-1:
			s.lastWord = s.word
		}
	}
}

// opens reports whether a span opened here, or a here-document was skipped.
func (s *scanner) opens() bool {
	if s.hereDoc.open != "" && s.opensHereDoc() {
		return true
	}
	for k := range s.spans {
		sp := &s.spans[k]
		n, close := sp.match(s.in[s.i:])
		if n == 0 || !s.mayOpen(sp, s.i+n) {
			continue
		}
		if len(s.stack) == maxNesting {
			return false
		}
		if sp.prefix != "" && prefixed(s.in[s.word:s.i], sp.prefix) {
			n += s.i - s.word
			s.i = s.word
		}
		s.stack = append(s.stack, frame{span: sp, close: close, lines: sp.flags&lines != 0 || sp.flags&block != 0 && s.goesOn(s.i+n, close)})
		s.blank(n, sp.flags&comment == 0)
		return true
	}
	return false
}

const filling = "…"

// goesOn reports whether a span certainly opened and its line does not close it.
func (s *scanner) goesOn(at int, close string) bool {
	line, _, _ := bytes.Cut(s.in[at:], []byte("\n"))
	return s.afterOperator() && !bytes.Contains(line, []byte(close))
}

// match returns how many bytes at the beginning of b open the span, 0 if none do, and the
// text that closes it.
func (sp *span) match(b []byte) (n int, close string) {
	head, tail, filled := strings.Cut(sp.open, filling)
	if len(b) < len(head) || string(b[:len(head)]) != head {
		return 0, ""
	}
	n = len(head)
	if !filled {
		return n, sp.close
	}
	for n < len(b) && n < maxFill && (b[n] == sp.fill[0] && sp.fill != "w" || IsWord(b[n]) && sp.fill == "w") {
		n++
	}
	if !bytes.HasPrefix(b[n:], []byte(tail)) {
		return 0, ""
	}
	return n + len(tail), strings.Replace(sp.close, filling, string(b[len(head):n]), 1)
}

// mayOpen reports whether a span may open here. behind is the offset after its opening.
func (s *scanner) mayOpen(sp *span, behind int) bool {
	before := byte('\n')
	if s.i > 0 {
		before = s.in[s.i-1]
	}
	word := s.in[s.word:s.i]
	switch {
	case sp.flags&lineStart != 0 && before != '\n',
		sp.after != "" && before > ' ' && strings.IndexByte(sp.after, before) < 0,
		sp.never != "" && strings.IndexByte(sp.never, before) >= 0,
		sp.not != "" && bytes.HasPrefix(s.in[behind:], []byte(sp.not)),
		sp.needs != "" && !(prefixed(word, sp.prefix) && bytes.ContainsAny(word, sp.needs)),
		sp.flags&number != 0 && len(word) > 0 && word[0]-'0' < 10,
		sp.flags&character != 0 && !oneCharacter(s.in[behind:]),
		sp.flags&(operand|regex) != 0 && !s.isOperand():
		return false
	}
	return true
}

// prefixed reports whether a word consists of a few of these letters.
func prefixed(word []byte, letters string) bool {
	return len(word) > 0 && len(word) <= 3 && strings.Trim(string(word), letters) == ""
}

// oneCharacter reports whether b begins with a single or escaped character and a quote.
func oneCharacter(b []byte) bool {
	if len(b) > 0 && b[0] == '\\' {
		return true
	}
	_, n := utf8.DecodeRune(b)
	return n < len(b) && b[n] == '\'' && b[0] != '\''
}

// isOperand reports whether a value is expected here, so that a slash is not a division.
func (s *scanner) isOperand() bool {
	spaced := s.last < s.i-1 && s.i+1 < len(s.in) && s.in[s.i+1] > ' ' && s.in[s.i+1] != '='
	return s.afterOperator() || s.regexSpaced && spaced && IsWord(s.in[s.last])
}

// afterOperator reports whether the preceding code must be followed by a value.
func (s *scanner) afterOperator() bool {
	if s.last < 0 {
		return true
	}
	if c := s.in[s.last]; !IsWord(c) {
		return strings.IndexByte(")]}\"'`$", c) < 0
	}
	return slices.Contains(s.regexAfter, string(s.in[s.lastWord:min(s.last+1, s.lastWord+16)]))
}

// content scans a comment or a string, up to its end or the opening of code in it.
func (s *scanner) content(f *frame) {
	for s.i < len(s.in) {
		rest := s.in[s.i:]
		c := rest[0]
		switch {
		case f.close != "" && c == f.close[0] && !f.class && bytes.HasPrefix(rest, []byte(f.close)):
			if s.closes(f, rest[len(f.close):]) {
				return
			}
		case c == '\n' && !f.lines:
			s.cut(f)
			return
		case f.flags&nests != 0 && bytes.HasPrefix(rest, []byte(f.inner())):
			f.depth++
			s.blank(len(f.inner()), false)
		case f.code != "" && c == f.code[0] && bytes.HasPrefix(rest, []byte(f.code)):
			if f.code == "{" && len(rest) > 1 && rest[1] == '{' {
				s.blank(2, false)
				continue
			}
			s.blank(len(f.code), false)
			f.inCode, f.depth = true, 0
			return
		case c == '\\' && f.flags&escapes != 0:
			n := 2
			if bytes.HasPrefix(rest[1:], []byte("\r\n")) {
				n = 3
			}
			s.blank(n, false)
		case c == '$' && f.flags&variables != 0:
			s.variable(rest)
		default:
			if f.flags&regex != 0 && (c == '[' || c == ']') {
				f.class = c == '['
			}
			s.blank(1, false)
		}
	}
}

func (s *scanner) closes(f *frame, behind []byte) bool {
	n := len(f.close)
	switch {
	case f.flags&nests != 0 && f.depth > 0:
		f.depth--
		s.blank(n, false)
		return false
	case f.flags&doubled != 0 && bytes.HasPrefix(behind, []byte(f.close)):
		s.blank(2*n, false)
		return false
	case f.flags&staying == 0:
		if f.flags&comment == 0 {
			s.last = s.i + n - 1
		}
		s.blank(n, f.flags&comment == 0)
	}
	s.pop()
	return true
}

func (s *scanner) pop() { s.stack = s.stack[:len(s.stack)-1] }

// variable skips a dollar sign in a string, and the name after it.
func (s *scanner) variable(rest []byte) {
	n := 1
	if len(rest) > 1 && rest[1] == '{' {
		n = 2
	}
	s.blank(n, false)
	s.i += WordLen(s.in[s.i:])
}

// blank turns n bytes into blanks, except line ends and, with quotes, quotes. With quotes,
// the first byte becomes a quote if there is none.
func (s *scanner) blank(n int, quotes bool) {
	end := min(s.i+n, len(s.in))
	if quotes && !bytes.ContainsAny(s.in[s.i:end], "\"'`\n") {
		s.out[s.i] = '"'
		s.i++
	}
	for ; s.i < end; s.i++ {
		switch c := s.in[s.i]; {
		case c == '\n':
			state := s.state()
			if state.Part == Code { // the end of a here-document is on its last line
				state.Part = String
			}
			s.states = append(s.states, state)
		case c == '\r', quotes && (c == '"' || c == '\'' || c == '`'):
		default:
			s.out[s.i] = ' '
		}
	}
}
