package approve

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// someKeys is how many keys of open objects fit without allocating.
const someKeys = 24

func (s *scanner) key(i int) key {
	if i < someKeys {
		return s.first[i]
	}
	return s.rest[i-someKeys]
}

func (s *scanner) pushKey(k key) {
	if s.keys < someKeys {
		s.first[s.keys] = k
	} else {
		s.rest = append(s.rest, k)
	}
	s.keys++
}

// popKeys forgets all keys from the nth on.
func (s *scanner) popKeys(n int) {
	s.keys = n
	s.rest = s.rest[:max(0, n-someKeys)]
}

// key is a member name of an open object: its literal without the quotes.
type key struct {
	start, end int
	plain      bool // ASCII without escapes
}

// keySet is the names of one object: a run of the scanner's keys while they are
// few, a map when they are many.
type keySet struct {
	first int
	many  map[string]struct{}
}

const fewKeys = 16

func (s *scanner) addKey(own *keySet, k key) *SyntaxError {
	name := s.data[k.start:k.end]
	if !k.plain && s.arguments && bytes.Contains(name, []byte(`\u0000`)) && bytes.IndexByte(unescape(name), 0) >= 0 {
		return s.errorAt(k.start-1, "a key that contains NUL")
	}
	if own.many == nil && s.keys-own.first >= fewKeys {
		own.many = make(map[string]struct{}, 4*fewKeys)
		for i := own.first; i < s.keys; i++ {
			own.many[s.normal(s.key(i))] = struct{}{}
		}
	}
	if own.many != nil {
		n := s.normal(k)
		if _, ok := own.many[n]; ok {
			return s.duplicate(k)
		}
		own.many[n] = struct{}{}
		return nil
	}
	for i := own.first; i < s.keys; i++ {
		if s.same(s.key(i), k) {
			return s.duplicate(k)
		}
	}
	s.pushKey(k)
	return nil
}

func (s *scanner) duplicate(k key) *SyntaxError {
	what := "duplicate key"
	if s.arguments {
		what = "duplicate key (upper and lower case count as the same)"
	}
	name := s.data[k.start:k.end]
	if len(name) > 100 {
		name = name[:100]
	}
	return s.errorAt(k.start-1, "%s %s", what, strconv.QuoteToASCII(string(unescape(name))))
}

// same reports whether two keys are equal for this document.
func (s *scanner) same(a, b key) bool {
	if !a.plain || !b.plain {
		return s.normal(a) == s.normal(b)
	}
	x, y := s.data[a.start:a.end], s.data[b.start:b.end]
	if len(x) != len(y) {
		return false
	}
	if !s.arguments {
		return bytes.Equal(x, y)
	}
	for i := range x {
		if c, d := x[i], y[i]; c != d && lower(c) != lower(d) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// normal returns the form of a key in which equal keys are the same string:
// unescaped, and for arguments each character replaced by the smallest of its
// folding orbit.
func (s *scanner) normal(k key) string {
	name := s.data[k.start:k.end]
	if !k.plain {
		name = unescape(name)
	}
	if !s.arguments {
		return string(name)
	}
	return string(bytes.Map(foldRune, name))
}

// foldRune returns the smallest character that r is equal to under simple
// case folding; K, k and the Kelvin sign are one.
func foldRune(r rune) rune {
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
