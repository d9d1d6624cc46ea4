package files

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/text/readable"
)

// matcher finds the lines that match a regular expression. A match never crosses the end of
// its line.
type matcher struct {
	literals []literal      // every matching line has one of them; nil if none are known
	line     *regexp.Regexp // matches one line at a time
	longest  int            // bytes of a line that are matched together
}

const (
	maxSteps = 64 << 20 // instructions times bytes that are matched together: about a second
	maxLine  = 1 << 20  // upper limit for longest
)

func newMatcher(expression string, ignoreCase bool) (*matcher, error) {
	re, tree, err := toolserver.CompilePattern(expression, ignoreCase)
	if err != nil {
		return nil, err
	}
	m := &matcher{line: re, literals: required(tree.Simplify())}
	if len(m.literals) > maxLiterals {
		m.literals = nil
	}
	m.longest = min(maxLine, max(toolserver.ReadChunk, maxSteps/toolserver.PatternSteps(tree)))
	return m, nil
}

type literal struct {
	text string
	fold bool // letters match in either case; text is in lower case
	rare int  // with fold, the offset of the byte of text that is the rarest in other texts
	wide bool // with fold, it has a k or s: the Kelvin sign and the long s match them too
}

// index is the first offset of the literal in a text, or an offset before it; -1 for none.
func (n *literal) index(text []byte) int {
	switch {
	case !n.fold:
		return bytes.Index(text, []byte(n.text))
	case n.wide && (bytes.Contains(text, []byte("\u212a")) || bytes.Contains(text, []byte("\u017f"))):
		return 0
	}
	lower, upper := n.text[n.rare], upperByte(n.text[n.rare])
	nextLower, nextUpper := n.next(text, 0, lower), len(text)
	if upper != lower {
		nextUpper = n.next(text, 0, upper)
	}
	for {
		at := min(nextLower, nextUpper)
		begin := at - n.rare
		if begin+len(n.text) > len(text) {
			return -1
		}
		if begin >= 0 && bytes.EqualFold(text[begin:begin+len(n.text)], []byte(n.text)) {
			return begin
		}
		if at == nextLower {
			nextLower = n.next(text, at+1, lower)
		} else {
			nextUpper = n.next(text, at+1, upper)
		}
	}
}

// next is the first offset of a byte in a text from an offset on; the text's length for none.
func (n *literal) next(text []byte, from int, c byte) int {
	if i := bytes.IndexByte(text[from:], c); i >= 0 {
		return from + i
	}
	return len(text)
}

func upperByte(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// commonBytes are the bytes that are frequent in source text, the most frequent first.
const commonBytes = " etnrioasl\tdcupfmg.,()h_by=v01\"x-/:;k2w{}"

// rarest is the offset of the byte of a text that is the least frequent in source text.
func rarest(text string) (at int) {
	rank := func(c byte) uint { return uint(strings.IndexByte(commonBytes, c)) } // the largest for a byte that is not in it
	for i := range len(text) {
		if rank(text[i]) > rank(text[at]) {
			at = i
		}
	}
	return at
}

const maxLiterals = 8

// required returns literals, each as long as possible; every match has at least one of them.
// It is nil if none are known.
func required(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		if n := literalOf(re); n.text != "" && !strings.Contains(n.text, "\n") {
			return []literal{n}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if n := required(sub); shortest(n) > shortest(best) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			n := required(sub)
			if n == nil {
				return nil
			}
			all = append(all, n...)
		}
		return all
	}
	return nil
}

// literalOf returns the literal of an expression. If case does not matter, it is the longest
// part without non-ASCII characters.
func literalOf(re *syntax.Regexp) literal {
	if re.Flags&syntax.FoldCase == 0 {
		return literal{text: string(re.Rune)}
	}
	longest := ""
	for part := range strings.FieldsFuncSeq(string(re.Rune), func(r rune) bool { return r >= 0x80 }) {
		if len(part) > len(longest) {
			longest = strings.ToLower(part)
		}
	}
	return literal{longest, true, rarest(longest), strings.ContainsAny(longest, "ks")}
}

// shortest is the length of the shortest literal, 0 if there are none.
func shortest(all []literal) int {
	if len(all) == 0 {
		return 0
	}
	return len(slices.MinFunc(all, func(a, b literal) int { return len(a.text) - len(b.text) }).text)
}

// matches reports whether a line matches. crlf means that lines end in CR LF. A carriage
// return at the end belongs to the line's end; in a file without CR LF it may also belong to
// the line.
func (m *matcher) matches(line []byte, crlf bool) bool {
	if m.first(line) < 0 {
		return false
	}
	inner, cut := bytes.CutSuffix(line, []byte("\r"))
	return m.line.Match(inner) || cut && !crlf && m.line.Match(line)
}

// first is the offset of the first literal in a text; -1 if no line of the text matches.
func (m *matcher) first(text []byte) int {
	if m.literals == nil {
		return 0
	}
	first := -1
	for i := range m.literals {
		if at := m.literals[i].index(text); at >= 0 {
			first, text = at, text[:at]
		}
	}
	return first
}

const maxShownLine = 500 // bytes of a line in an answer

type findings struct {
	text       []byte
	matches    int
	unreadable int  // files that could not be opened
	full       bool // the search ended early; there may be more matches
	binary     bool // the file is binary, and was not searched
}

// add appends the findings of further files, after a line -- if separate is set.
func (f *findings) add(more findings, separate bool) {
	if separate && f.matches > 0 && more.matches > 0 {
		f.text = append(f.text, "--\n"...)
	}
	f.text = append(f.text, more.text...)
	f.matches += more.matches
	f.unreadable += more.unreadable
	f.full = more.full || f.matches >= maxMatches || len(f.text) >= toolserver.MaxText
}

// scanner searches one file after the other, line by line. If a line does not fit into its
// buffer, each part counts as a line with the same number.
type scanner struct {
	m      *matcher
	around int
	most   limits
	in     *bufio.Reader

	out    findings
	at     int // offset of the current line, or of its part
	path   string
	before [][]byte // formatted lines to show if the next line matches
	gap    bool     // lines were skipped since the last one in the answer
	after  int      // lines still to show
}

// limits of one answer.
type limits struct {
	matches, bytes int
	result         bool // it is about a result: never binary, and long lines are shown around their match, with its offset
}

func newScanner(m *matcher, around int) *scanner {
	return &scanner{m: m, around: around, most: limits{matches: maxMatches, bytes: toolserver.MaxText}, in: bufio.NewReaderSize(nil, m.longest)}
}

// file searches r. The answer names it by path.
func (s *scanner) file(ctx context.Context, r io.Reader, path string) findings {
	s.in.Reset(r)
	s.out, s.at, s.path, s.before, s.gap, s.after = findings{}, 0, path, s.before[:0], false, 0
	head, _ := s.in.Peek(toolserver.ReadChunk)
	if toolserver.LooksBinary(head) && !s.most.result {
		return findings{binary: true}
	}
	crlf := bytes.Contains(head, []byte("\r\n"))
	for number := 1 + s.skip(); ; {
		had := s.in.Buffered()
		line, err := s.in.ReadSlice('\n')
		text, whole := bytes.CutSuffix(line, []byte("\n"))
		if len(line) > 0 && !s.line(text, number, crlf) {
			return s.out
		}
		s.at += len(line)
		switch {
		case whole:
			number++
		case err != bufio.ErrBufferFull:
			return s.out
		}
		read := s.in.Buffered() > had // the buffer was refilled
		number += s.skip()
		if (read || !whole) && ctx.Err() != nil {
			return s.out
		}
	}
}

// skipAtOnce is how many bytes skip looks at together. With several literals, it may look at
// them again after each line.
const skipAtOnce = 8 << 10

// skip skips the complete lines in the buffer that neither match nor must be shown, up to the
// first that may match, and returns their number.
func (s *scanner) skip() (lines int) {
	if s.around > 0 || s.m.literals == nil {
		return 0
	}
	for {
		b, _ := s.in.Peek(s.in.Buffered())
		end := bytes.LastIndexByte(b[:min(len(b), skipAtOnce)], '\n') + 1
		if end == 0 {
			end = bytes.IndexByte(b, '\n') + 1
		}
		at := s.m.first(b[:end])
		if at >= 0 {
			end = bytes.LastIndexByte(b[:at], '\n') + 1
		}
		s.in.Discard(end)
		s.at += end
		lines += bytes.Count(b[:end], []byte("\n"))
		if at >= 0 || end == 0 {
			return lines
		}
	}
}

// line handles the next line, and reports whether more are wanted.
func (s *scanner) line(text []byte, number int, crlf bool) bool {
	matches := s.m.matches(text, crlf)
	switch {
	case s.out.full && (matches || s.after == 0):
		return false
	case matches:
		if s.gap && s.around > 0 && s.out.matches > 0 {
			s.out.text = append(s.out.text, "--\n"...)
		}
		for _, shown := range s.before {
			s.out.text = append(s.out.text, shown...)
		}
		s.out.text = s.show(s.out.text, text, number, ':')
		s.out.matches++
		s.out.full = s.out.matches >= s.most.matches || len(s.out.text) >= s.most.bytes
		s.before, s.gap, s.after = s.before[:0], false, s.around
	case s.after > 0:
		s.out.text = s.show(s.out.text, text, number, '-')
		s.after--
	case s.around > 0:
		var room []byte // reuses the memory of a line that is no longer needed
		if len(s.before) == s.around {
			room, s.gap = s.before[0][:0], true
			s.before = append(s.before[:0], s.before[1:]...)
		}
		s.before = append(s.before, s.show(room, text, number, '-'))
	}
	return true
}

// show appends a line with its path and number, like grep -n. The mark is : for a match and -
// for context.
func (s *scanner) show(b, line []byte, number int, mark byte) []byte {
	b = append(append(b, confine.ShownName(s.path)...), mark)
	b = append(strconv.AppendInt(b, int64(number), 10), mark)
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > maxShownLine && s.most.result {
		from := 0
		if found := s.m.line.FindIndex(line); mark == ':' && found != nil {
			from = max(0, found[0]-maxShownLine/2)
		}
		part := readable.FromRune(line[from:])
		from = len(line) - len(part)
		b = append(b, readable.WholeRunes(part[:min(len(part), maxShownLine)])...)
		b = fmt.Appendf(b, "[toolpipe: from offset %d of a long line]", s.at+from)
	} else if len(line) > maxShownLine {
		b = append(b, readable.WholeRunes(line[:maxShownLine])...)
		b = fmt.Appendf(b, "[toolpipe: %d bytes in this line]", len(line))
	} else {
		b = append(b, line...)
	}
	return append(b, '\n')
}
