// Package readable makes the short forms of texts and numbers that people and models
// read, and knows the pictures and documents that models read. No form begins or ends with
// a part of a character.
package readable

import (
	"strconv"
	"unicode/utf8"
)

// Cut returns the first limit bytes of a text and a mark, or the text itself if it is not
// longer.
func Cut(text string, limit int, mark string) string {
	if len(text) <= limit {
		return text
	}
	return WholeRunes(text[:limit]) + mark
}

// Ends returns the first and the last bytes of a text that is longer than both together.
func Ends[T string | []byte](text T, first, last int) (head, tail T) {
	return WholeRunes(text[:first]), FromRune(text[len(text)-last:])
}

// WholeRunes returns s without a character that was cut at its end.
func WholeRunes[T string | []byte](s T) T {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if end := s[len(s)-i:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRuneInString(string(end)) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// FromRune returns s without the rest of a character that was cut at its beginning.
func FromRune[T string | []byte](s T) T {
	for i := range utf8.UTFMax {
		if i == len(s) || utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s // it is not UTF-8
}

// Grouped writes a number with a comma between thousands.
func Grouped[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
