package jsontext

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// addName adds the name in data[start:end] to the names of its object, with its offset. Equal
// names have the same key.
func (s *scanner) addName(names map[string]int, start, end int) *SyntaxError {
	key, what := Unescape(s.data[start:end]), "duplicate key"
	text := key
	if s.options.FoldNames {
		if bytes.IndexByte(text, 0) >= 0 {
			return s.errorAt(start-1, "a key that contains NUL")
		}
		key, what = bytes.Map(FoldRune, text), "duplicate key (upper and lower case count as the same)"
	}
	if first, ok := names[string(key)]; ok {
		e := s.errorAt(start-1, "%s %s", what, strconv.QuoteToASCII(string(text[:min(len(text), 100)])))
		e.First = s.errorAt(first-1, "the first")
		return e
	}
	names[string(key)] = start
	return nil
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
