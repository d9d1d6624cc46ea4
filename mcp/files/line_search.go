package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
)

// matcher finds lines. A line never matches over its end.
type matcher struct {
	needs   []need         // every line that matches has one of them; nil when nothing is known
	literal bool           // and a line that has it matches
	line    *regexp.Regexp // against one line
	block   *regexp.Regexp // against many lines; nil when that would find other lines
	dollar  bool           // the end of a line matters
	longest int            // bytes of a line that are matched together
}

const (
	maxPattern      = 4096     // bytes of a regular expression or glob
	maxInstructions = 2048     // of a compiled regular expression
	maxSteps        = 64 << 20 // instructions times bytes that are matched together: about a second
	maxLine         = 1 << 20  // bytes of a line that are matched together, at most
)

// newMatcher compiles a pattern. The time of a match is the product of the
// text's length and the compiled pattern's, which a repetition makes a thousand
// times as long as it is written: both have a limit.
func newMatcher(pattern string, ignoreCase bool) (*matcher, error) {
	switch {
	case pattern == "":
		return nil, errors.New("the pattern is empty; it would match every line")
	case len(pattern) > maxPattern:
		return nil, fmt.Errorf("the pattern has %d bytes, at most %d are allowed", len(pattern), maxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl) // alone, that an error shows nothing of ours
	if err == nil && instructions(tree) > maxInstructions {
		return nil, fmt.Errorf("pattern %q is too large: its repetitions make more than %d steps", pattern, maxInstructions)
	}
	flags := "(?m)"
	if ignoreCase {
		flags = "(?mi)"
	}
	var re *regexp.Regexp
	if err == nil {
		re, err = regexp.Compile(flags + pattern)
	}
	if err != nil {
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			return nil, fmt.Errorf("pattern %q is not an RE2 regular expression: %s: %q", pattern, e.Code, e.Expr)
		}
		return nil, fmt.Errorf("pattern %q is not an RE2 regular expression", pattern)
	}
	m := &matcher{line: re, block: re, dollar: strings.ContainsAny(pattern, "$")}
	m.longest = min(maxLine, max(toolserver.ReadChunk, maxSteps/instructions(tree)))
	if tree, err = syntax.Parse(flags+pattern, syntax.Perl); err != nil {
		return m, nil
	}
	tree = tree.Simplify()
	if anchored(tree) || crosses(tree) {
		m.block = nil
	}
	if m.needs = required(tree); len(m.needs) > maxNeeds {
		m.needs = nil
	}
	m.literal = tree.Op == syntax.OpLiteral && len(m.needs) == 1 && !m.needs[0].fold
	return m, nil
}

// anchored says whether an expression looks at the ends of the whole text.
func anchored(re *syntax.Regexp) bool {
	if re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText {
		return true
	}
	return slices.ContainsFunc(re.Sub, anchored)
}

// crosses says whether an expression may match over the end of a line. Against
// many lines, each of its matches could begin in one line and end in the last.
func crosses(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar:
		return true
	case syntax.OpLiteral:
		return slices.Contains(re.Rune, '\n')
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return true
			}
		}
	}
	return slices.ContainsFunc(re.Sub, crosses)
}

// instructions is about how many an expression is compiled to.
func instructions(re *syntax.Regexp) int {
	n := max(1, len(re.Sub))
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return n
}

// need is a text that a line has to have; fold: in upper or lower case, the
// text being in lower case.
type need struct {
	text string
	fold bool
}

const maxNeeds = 8

// required is what every match certainly has one of, the texts as long as
// they can be; nil when there is nothing like that.
func required(re *syntax.Regexp) []need {
	switch re.Op {
	case syntax.OpLiteral:
		if n := literalNeed(re); n.text != "" && !strings.Contains(n.text, "\n") {
			return []need{n}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		var best []need
		for _, sub := range re.Sub {
			if n := required(sub); shortest(n) > shortest(best) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all []need
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

// literalNeed is a literal, or where case does not count its longest part
// that only ASCII letters are equal to: not k and s, which have others.
func literalNeed(re *syntax.Regexp) need {
	if re.Flags&syntax.FoldCase == 0 {
		return need{text: string(re.Rune)}
	}
	longest := ""
	parts := strings.FieldsFunc(strings.ToLower(string(re.Rune)), func(r rune) bool { return r >= 0x80 || r == 'k' || r == 's' })
	for _, part := range parts {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return need{longest, true}
}

func shortest(needs []need) int {
	if len(needs) == 0 {
		return 0
	}
	least := len(needs[0].text)
	for _, n := range needs {
		least = min(least, len(n.text))
	}
	return least
}

// at is where the first of the needs is in b, -1 when none is. next
// remembers for each where it was found last; len(b) is nowhere.
func (m *matcher) at(b []byte, from int, next []int) int {
	first := len(b)
	for i, n := range m.needs {
		if next[i] < from {
			next[i] = len(b)
			if at := n.index(b[from:]); at >= 0 {
				next[i] = from + at
			}
		}
		first = min(first, next[i])
	}
	if first == len(b) {
		return -1
	}
	return first
}

func (n need) index(b []byte) int {
	if !n.fold {
		return bytes.Index(b, []byte(n.text))
	}
	var lower [4096]byte
	for from := 0; from < len(b); from += len(lower) - len(n.text) + 1 {
		some := lower[:copy(lower[:], b[from:])]
		for i, c := range some {
			if c-'A' < 26 {
				some[i] = c | 0x20
			}
		}
		if at := bytes.Index(some, []byte(n.text)); at >= 0 {
			return from + at
		}
	}
	return -1
}

// next gives the first line at or after pos of b that matches. b ends with a
// line's end or the file's. crlf says that lines end in CR LF.
func (m *matcher) next(b []byte, pos int, crlf bool) (start, end int, ok bool) {
	byLine := m.block == nil || crlf && m.dollar
	var found [maxNeeds]int
	for i := range found {
		found[i] = -1
	}
	for pos < len(b) {
		at := pos
		switch {
		case m.needs != nil:
			if at = m.at(b, pos, found[:]); at < 0 {
				return 0, 0, false
			}
		case !byLine:
			loc := m.block.FindIndex(b[pos:])
			if loc == nil {
				return 0, 0, false
			}
			at += loc[0]
		}
		start = pos + bytes.LastIndexByte(b[pos:at], '\n') + 1
		end = len(b)
		if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
			end = at + i
		}
		if start < len(b) && m.matches(b[start:end], crlf) {
			return start, end, true
		}
		pos = end + 1
	}
	return 0, 0, false
}

// matches says whether a line matches, a carriage return at its end belonging
// to the line's end or, in a file without such ends, to the line.
func (m *matcher) matches(line []byte, crlf bool) bool {
	inner, cut := bytes.CutSuffix(line, []byte("\r"))
	return m.literal || m.line.Match(inner) || cut && !crlf && m.line.Match(line)
}

const maxShownLine = 500 // bytes of a line in an answer

// findings are what a search shows of some files.
type findings struct {
	text       []byte
	matches    int
	unreadable int  // files that could not be opened
	full       bool // there may be more
	binary     bool
}

// scanner searches files, one after the other, with one buffer.
type scanner struct {
	m      *matcher
	around int
	buf    []byte
	size   int64 // of the file, a guess that saves a read; 0 unknown

	out     findings
	path    string
	crlf    bool
	line    int // number of the line at counted, from 1
	counted int // offset in buf
	shown   int // offset in buf of what is not in the answer yet; below 0 when that has left it
	after   int // lines still to show
}

func newScanner(m *matcher, around int) *scanner {
	return &scanner{m: m, around: around, buf: make([]byte, toolserver.ReadChunk)}
}

// file searches r, which path names in the answer.
func (s *scanner) file(ctx context.Context, r io.Reader, path string) findings {
	s.out, s.path, s.line, s.counted, s.shown, s.after = findings{}, path, 1, 0, 0, 0
	var total int64
	end, from := 0, 0 // buf[from:end] is not searched yet
	for first := true; ; first = false {
		n, err := r.Read(s.buf[end:])
		total += int64(n)
		end += n
		if first {
			if toolserver.LooksBinary(s.buf[:end]) {
				s.size = 0
				return findings{binary: true}
			}
			s.crlf = bytes.Contains(s.buf[:end], []byte("\r\n"))
		}
		last := err != nil || s.size > 0 && total >= s.size
		cut := end
		if !last {
			cut = from + bytes.LastIndexByte(s.buf[from:end], '\n') + 1
			if cut == from && end < len(s.buf) {
				continue
			}
			if cut == from && len(s.buf) < s.m.longest {
				s.buf = append(s.buf, make([]byte, len(s.buf))...)
				continue
			}
			if cut == from {
				cut = end // a line longer than that is taken in pieces
			}
		}
		s.block(from, cut)
		if last || s.out.full || ctx.Err() != nil {
			s.size = 0
			return s.out
		}
		from, end = s.slide(cut, end)
	}
}

// block searches the whole lines of buf[from:cut].
func (s *scanner) block(from, cut int) {
	b := s.buf[:cut]
	for pos := from; ; {
		start, end, ok := s.m.next(b, pos, s.crlf)
		if !ok {
			break
		}
		s.showAfter(b, start)
		if s.out.full {
			return
		}
		before := start
		for range s.around {
			if before <= max(0, s.shown) {
				break
			}
			before = bytes.LastIndexByte(b[:before-1], '\n') + 1
		}
		if s.around > 0 && s.out.matches > 0 && before > s.shown {
			s.out.text = append(s.out.text, "--\n"...)
		}
		s.showLines(b, before, start, '-')
		s.show(b[start:end], start, ':')
		s.out.matches++
		s.shown = min(end+1, cut)
		s.after = s.around
		s.out.full = s.out.matches >= maxMatches || len(s.out.text) >= toolserver.MaxText
		pos = end + 1
	}
	s.showAfter(b, cut)
}

// showAfter shows the lines after the last match that are due, up to limit.
func (s *scanner) showAfter(b []byte, limit int) {
	for s.after > 0 && s.shown < limit {
		end := limit
		if i := bytes.IndexByte(b[s.shown:limit], '\n'); i >= 0 {
			end = s.shown + i
		}
		s.show(b[s.shown:end], s.shown, '-')
		s.shown = min(end+1, limit)
		s.after--
	}
}

func (s *scanner) showLines(b []byte, from, to int, mark byte) {
	for from < to {
		end := from + bytes.IndexByte(b[from:to], '\n')
		s.show(b[from:end], from, mark)
		from = end + 1
	}
}

// show appends a line with its path and number, as grep -n does.
func (s *scanner) show(line []byte, at int, mark byte) {
	s.line += bytes.Count(s.buf[s.counted:at], []byte("\n"))
	s.counted = at
	t := append(append(s.out.text, confine.ShownName(s.path)...), mark)
	t = append(strconv.AppendInt(t, int64(s.line), 10), mark)
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > maxShownLine {
		t = append(t, toolserver.WholeRunes(line[:maxShownLine])...)
		t = fmt.Appendf(t, "[toolpipe: %d bytes in this line]", len(line))
	} else {
		t = append(t, line...)
	}
	s.out.text = append(t, '\n')
}

// slide moves what is still needed to the front: lines that a later match
// wants before it, and what is not searched yet.
func (s *scanner) slide(cut, end int) (from, newEnd int) {
	keep := cut
	for range s.around {
		if keep <= max(0, s.shown) {
			break
		}
		keep = bytes.LastIndexByte(s.buf[:keep-1], '\n') + 1
	}
	if cut-keep > len(s.buf)/2 {
		keep = cut // long lines: the buffer is for what comes
	}
	s.line += bytes.Count(s.buf[s.counted:max(keep, s.counted)], []byte("\n"))
	s.counted = max(s.counted, keep) - keep
	newEnd = copy(s.buf, s.buf[keep:end])
	s.shown -= keep
	return cut - keep, newEnd
}
