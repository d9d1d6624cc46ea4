package lexis

import (
	"bytes"
	"strings"
)

// opensHereDoc reports whether a here-document is announced at this position, and skips its
// name. Elsewhere << is an operator, so it counts as one only if its end is found.
func (s *scanner) opensHereDoc() bool {
	h := &s.hereDoc
	rest, found := bytes.CutPrefix(s.in[s.i:], []byte(h.open))
	if !found || s.failed == maxFailed || len(s.pending) == maxPending {
		return false
	}
	if len(rest) > 0 && strings.IndexByte(h.marks, rest[0]) >= 0 {
		rest = rest[1:]
	}
	if h.spaces {
		rest = bytes.TrimLeft(rest[:min(len(rest), maxFill)], " \t")
	}
	var quote []byte
	if len(rest) > 0 && strings.IndexByte(`'"\`, rest[0]) >= 0 {
		quote, rest = rest[:1], rest[1:]
	}
	n := 0
	for n < len(rest) && n < maxFill && (IsWord(rest[n]) || len(quote) > 0 && (rest[n] == '-' || rest[n] == '.')) {
		n++
	}
	if n == 0 || rest[0]-'0' < 10 {
		return false
	}
	name := string(rest[:n])
	at := bytes.IndexByte(s.in[s.i:], '\n')
	if at < 0 || s.hereDocEnd(s.i+at+1, name) < 0 {
		s.failed++
		return false
	}
	s.pending = append(s.pending, name)
	from := s.i + bytes.Index(s.in[s.i:], rest[:n])
	s.last, s.i = from+n-1, from+n
	if len(quote) > 0 && s.i < len(s.in) && s.in[s.i] == quote[0] {
		s.i++
	}
	return true
}

// hereDocEnd returns the end of the here-document with that name that begins at from; -1 if
// it does not end.
func (s *scanner) hereDocEnd(from int, name string) int {
	for line := range bytes.Lines(s.in[min(from, len(s.in)):]) {
		text := bytes.TrimSuffix(line, []byte("\n"))
		rest, found := bytes.CutPrefix(bytes.TrimLeft(text, " \t"), []byte(name))
		switch {
		case found && s.hereDoc.word && (len(rest) == 0 || !IsWord(rest[0])):
			return from + len(text) - len(rest)
		case found && len(bytes.TrimSpace(rest)) == 0:
			return from + len(text)
		}
		from += len(line)
	}
	return -1
}

func (s *scanner) hereDocs() {
	for _, name := range s.pending {
		if end := s.hereDocEnd(s.i+1, name); end >= 0 {
			s.blank(end-s.i, false)
		}
	}
	s.pending, s.word = s.pending[:0], s.i
}
