package code

import "strings"

// A statement is a definition whose end is searched for.
type statement struct {
	*layout
	kind  string // of the definition
	body  bool   // it ends with a body
	angle int    // how many < are open, as in Map<string, number>
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
			if c == '{' && s.body && !s.opensType(i, s.kind) && !s.goesOn(other+1) {
				return other, true
			}
			i, last = other, other
		case c == ';', c == ',' && !s.body && s.angle == 0:
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

// goesOn says whether a statement goes on behind a closed bracket, in its line.
func (s *statement) goesOn(i int) bool {
	return strings.IndexByte("{>&|=.?[(", s.behind(i, " \t\r")) >= 0
}

// lineEnds says whether a statement ends with its line, of which last is the last
// byte; next is where the next line begins.
func (s *statement) lineEnds(last, next int) bool {
	if last >= 0 && strings.IndexByte(`=+-*/%&|^?:<,.\(`, s.mask[last]) >= 0 || last > 0 && string(s.mask[last-1:last+1]) == "=>" {
		return false
	}
	first := s.behind(next, whiteSpace)
	return strings.IndexByte(".?:&|=", first) < 0 && !(s.body && first == '{')
}
