package jsontext

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// A name is a member name of an object that is being read: the place of its
// literal, without the quotes.
type name struct {
	start, end int
	plain      bool // without escapes
}

// A nameSet is the names of one object: those in scanner.names from first on
// while they are few and find room there, else a map.
type nameSet struct {
	first int
	many  map[string]int // the offset of each
}

const fewNames = 16

func (s *scanner) addName(own *nameSet, n name) *SyntaxError {
	text := s.data[n.start:n.end]
	if !n.plain && s.options.FoldNames && bytes.IndexByte(Unescape(text), 0) >= 0 {
		return s.errorAt(n.start-1, "a key that contains NUL")
	}
	if own.many == nil && (s.named-own.first >= fewNames || s.named == len(s.names)) {
		own.many = make(map[string]int, 4*fewNames)
		for _, other := range s.names[own.first:s.named] {
			own.many[s.normal(other)] = other.start
		}
	}
	if own.many != nil {
		key := s.normal(n)
		if first, ok := own.many[key]; ok {
			return s.duplicate(first, n)
		}
		own.many[key] = n.start
		return nil
	}
	for _, other := range s.names[own.first:s.named] {
		if s.same(other, n) {
			return s.duplicate(other.start, n)
		}
	}
	s.names[s.named] = n
	s.named++
	return nil
}

// duplicate is the error for the name n, which stood at first before.
func (s *scanner) duplicate(first int, n name) *SyntaxError {
	what := "duplicate key"
	if s.options.FoldNames {
		what = "duplicate key (upper and lower case count as the same)"
	}
	text := Unescape(s.data[n.start:n.end])
	e := s.errorAt(n.start-1, "%s %s", what, strconv.QuoteToASCII(string(text[:min(len(text), 100)])))
	e.First = s.errorAt(first-1, "the first")
	return e
}

// same reports whether two names are equal under the options.
func (s *scanner) same(a, b name) bool {
	if !a.plain || !b.plain {
		return s.normal(a) == s.normal(b)
	}
	x, y := s.data[a.start:a.end], s.data[b.start:b.end]
	return bytes.Equal(x, y) || s.options.FoldNames && bytes.EqualFold(x, y)
}

// normal returns a string that is the same for equal names.
func (s *scanner) normal(n name) string {
	text := s.data[n.start:n.end]
	if !n.plain {
		text = Unescape(text)
	}
	if !s.options.FoldNames {
		return string(text)
	}
	return string(bytes.Map(FoldRune, text))
}

// FoldRune returns the smallest character that equals r under simple case
// folding: the same for K, k and the Kelvin sign.
func FoldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if r >= 'a' && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
