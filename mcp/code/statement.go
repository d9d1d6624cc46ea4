package code

import (
	"bytes"
	"strings"
)

// A statement is searched for its end.
type statement struct {
	*layout
	body  bool // it ends with a body
	angle int  // of < that are open, as in Map<string, number>
}

// end gives the offset of the last byte of the statement that goes on at i. It is
// not found when a bracket stays open.
func (s *statement) end(i int) (int, bool) {
	next := s.bracketAt(i)
	last := i - 1 // the last byte that is not white space
	for looked := 0; i < len(s.mask); i, looked = i+1, looked+1 {
		if looked > maxLooked {
			return 0, false
		}
		switch c := s.mask[i]; {
		case next < len(s.brackets) && s.brackets[next].at == i:
			b := s.brackets[next]
			switch {
			case b.other < 0 && strings.IndexByte("{([", c) >= 0:
				return 0, false
			case b.other < next: // it closes what is around the statement
				return last, true
			}
			i, next = s.brackets[b.other].at, b.other+1
			if c == '{' && s.body && !s.type_(last) && !s.goesOn(i+1) {
				return i, true
			}
			last = i
		case c == ';':
			return i, true
		case c == ',' && !s.body && s.angle == 0:
			return i, true
		case c == '\n':
			if s.ending != bySemicolon && s.lineEnds(last, i+1) {
				return last, true
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
	case c == '<':
		s.angle++
	case c == '>' && before != '-' && before != '=':
		s.angle = max(s.angle-1, 0)
	}
}

// type_ says whether a bracket behind the byte at last opens a type, as in
// (): { a: number } {.
func (s *statement) type_(last int) bool {
	return last >= 0 && s.ending == byLine && strings.IndexByte(":|&<,", s.mask[last]) >= 0
}

// goesOn says whether a statement goes on behind a closed bracket, in its line.
func (s *statement) goesOn(i int) bool {
	rest := bytes.TrimLeft(s.mask[i:min(i+maxLooked, len(s.mask))], " \t\r")
	return len(rest) > 0 && strings.IndexByte("{>&|=.?[(", rest[0]) >= 0
}

// lineEnds says whether a statement ends with its line, of which last is the last
// byte; next is where the next begins.
func (s *statement) lineEnds(last, next int) bool {
	if last >= 0 && strings.IndexByte(`=+-*/%&|^?:<,.\(`, s.mask[last]) >= 0 || last > 0 && string(s.mask[last-1:last+1]) == "=>" {
		return false
	}
	rest := bytes.TrimLeft(s.mask[next:min(next+maxLooked, len(s.mask))], " \t\r\n")
	if len(rest) == 0 {
		return true
	}
	return !(strings.IndexByte(".?:&|=", rest[0]) >= 0 || s.body && rest[0] == '{')
}
