package imports

import (
	"bytes"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

// A source is a text with its lines, which count from 0 here.
type source struct {
	language   *lexis.Language
	text, mask []byte
	states     []lexis.State
	starts     []int // of the lines, and the text's length
	depths     []int // how many brackets are open where a line begins
	ending     string
}

func newSource(l *lexis.Language, text []byte) *source {
	s := &source{language: l, text: text, starts: []int{0}, ending: "\n"}
	s.mask, s.states = l.Scan(text)
	depth := 0
	for line := range bytes.Lines(text) {
		s.depths = append(s.depths, depth)
		from := s.starts[len(s.starts)-1]
		s.starts = append(s.starts, from+len(line))
		for _, c := range s.mask[from : from+len(line)] {
			switch {
			case strings.IndexByte("([{", c) >= 0:
				depth++
			case strings.IndexByte(")]}", c) >= 0:
				depth = max(0, depth-1)
			}
		}
	}
	if end := bytes.IndexByte(text, '\n'); end > 0 && text[end-1] == '\r' {
		s.ending = "\r\n"
	}
	return s
}

func (s *source) lines() int { return len(s.starts) - 1 }

// line is a line of the text or of its mask, without its end.
func (s *source) line(of []byte, n int) string {
	return strings.TrimRight(string(of[s.starts[n]:s.starts[n+1]]), "\r\n")
}

func (s *source) lineOf(at int) int {
	n, found := slices.BinarySearch(s.starts, at)
	if !found {
		n--
	}
	return min(n, max(0, s.lines()-1))
}

func (s *source) isBlank(n int) bool { return strings.TrimSpace(s.line(s.text, n)) == "" }

// isComment reports whether a line holds a comment alone, or a part of one.
func (s *source) isComment(n int) bool {
	if n == 0 && bytes.HasPrefix(s.text, []byte("#!")) && !s.language.Is("Rust") {
		return true
	}
	return !s.isBlank(n) && strings.TrimSpace(s.line(s.mask, n)) == "" && s.states[n].Part != lexis.String
}

// isOuter reports whether a line begins in code outside of all brackets.
func (s *source) isOuter(n int) bool {
	return s.states[n].Part == lexis.Code && s.states[n].Open == 0 && s.depths[n] == 0
}

// lineEnd is the offset of the end of a line.
func (s *source) lineEnd(n int) int {
	return s.starts[n] + len(s.line(s.text, n))
}

// joined is the last line of a statement that begins in a line: lines that end with a
// backslash and open brackets join the next one.
func (s *source) joined(n int) int {
	for n+1 < s.lines() && (s.depths[n+1] > s.depths[n] || strings.HasSuffix(strings.TrimRight(s.line(s.mask, n), " \t"), `\`) || s.depths[n+1] > 0) {
		n++
	}
	return n
}

// anchors are the statements beside which another one may stand: those before the first
// other code, or all if none stands there.
func (s *source) anchors(top []Statement) (anchors []Statement) {
	last := -1
	for _, st := range top {
		if st.form == odd {
			continue
		}
		from := s.lineOf(st.From)
		if last >= 0 && s.hasCode(last+1, from) {
			break
		}
		last = s.lineOf(max(st.From, st.To-1))
		anchors = append(anchors, st)
	}
	return anchors
}

// hasCode reports whether a line among some has other code than directives of C.
func (s *source) hasCode(from, to int) bool {
	for n := from; n < to; n++ {
		code := strings.TrimSpace(s.line(s.mask, n))
		switch {
		case code == "", code == ")", strings.HasPrefix(code, "#"), strings.HasPrefix(code, "import ("):
		default:
			return true
		}
	}
	return false
}

// A place is where a new statement goes: before a line, with empty lines around it.
type place struct {
	line         int
	above, below int  // empty lines
	block        bool // in the brackets of an import of Go
}

// inserted is the text with a statement in a place, and the line in which it stands.
func (s *source) inserted(p place, statement string) (edited []byte, at int) {
	statement = strings.ReplaceAll(strings.ReplaceAll(statement, "\r\n", "\n"), "\n", s.ending)
	var b []byte
	offset := s.starts[min(p.line, s.lines())]
	if mark := []byte("\xef\xbb\xbf"); offset == 0 && bytes.HasPrefix(s.text, mark) {
		offset = len(mark)
	}
	b = append(b, s.text[:offset]...)
	if offset > 0 && s.text[offset-1] != '\n' && offset > len("\xef\xbb\xbf") {
		b = append(b, s.ending...)
	}
	b = append(b, strings.Repeat(s.ending, p.above)...)
	b = append(b, statement+s.ending...)
	b = append(b, strings.Repeat(s.ending, p.below)...)
	return append(b, s.text[offset:]...), p.line + p.above
}

// first is the place of an import in a text that has none, before a line.
func (s *source) first(n int) (p place) {
	p.line = n
	if n > 0 && !s.isBlank(n-1) {
		p.above = 1
	}
	if n < s.lines() && !s.isBlank(n) {
		p.below = 1
		for n+1 < s.lines() && s.isComment(n) {
			n++
		}
		if code := s.line(s.mask, n); s.language.Is("Python") && (strings.HasPrefix(code, "def ") || strings.HasPrefix(code, "class ") || strings.HasPrefix(code, "@") || strings.HasPrefix(code, "async ")) {
			p.below = 2
		}
	}
	return p
}
