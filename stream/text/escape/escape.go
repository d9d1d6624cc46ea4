// Package escape makes text safe to show on a terminal: it escapes characters that could move
// the cursor, run a command of the terminal or deceive the reader.
package escape

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxMarks is how many combining marks one character may carry.
const MaxMarks = 2

// Unsafe reports whether r can disturb a terminal or deceive the reader: control, C1, bidi,
// zero-width and tag characters, variation selectors, fillers, separators other than the blank,
// and all that Unicode does not call printable. A newline is unsafe.
func Unsafe(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return !unicode.IsPrint(r) || isInvisible(r)
}

// isInvisible reports the printable characters that show as nothing.
func isInvisible(r rune) bool {
	switch {
	case r < 0x034f:
		return false
	case r == 0x034f, // combining grapheme joiner
		r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, // Hangul fillers
		r == 0x17b4, r == 0x17b5, // Khmer inherent vowels
		r == 0x2800,                  // blank braille pattern
		r >= 0x180b && r <= 0x180f,   // Mongolian variation selectors and separator
		r >= 0xfe00 && r <= 0xfe0f,   // variation selectors
		r >= 0xe0000 && r <= 0xe0fff: // tags, variation selectors supplement
		return true
	}
	return false
}

// IsMark reports whether r is a combining mark, which changes the character before it.
func IsMark(r rune) bool { return r >= 0x300 && unicode.Is(unicode.M, r) }

// AppendEscaped appends s as one line that is safe to show on a terminal. The form is
// injective: different strings never look the same. A backslash is doubled; \n, \r and \t are
// written so; another unsafe character is written as \u{202e}, and a byte that is not UTF-8 as
// \xff. In a run of combining marks, all but the first two are written as \u{301}.
func AppendEscaped(dst []byte, s string) []byte {
	marks := MaxMarks // a mark at the very beginning belongs to no character
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = fmt.Appendf(dst, `\x%02x`, s[i])
		case r == '\\', r == '\n', r == '\r', r == '\t':
			dst = append(dst, '\\', `\nrt`[strings.IndexRune("\\\n\r\t", r)])
		case IsMark(r) && marks >= MaxMarks, Unsafe(r):
			dst = fmt.Appendf(dst, `\u{%x}`, r) // a doubled backslash cannot imitate this form
		default:
			dst = append(dst, s[i:i+n]...)
		}
		if marks++; !IsMark(r) {
			marks = 0
		}
		i += n
	}
	return dst
}

// Escape returns s in the form of AppendEscaped; s itself if nothing is to do.
func Escape(s string) string {
	if IsPlain(s) {
		return s
	}
	return string(AppendEscaped(make([]byte, 0, len(s)+16), s))
}

// IsPlain reports whether s is printable ASCII without backslashes.
func IsPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '\\' {
			return false
		}
	}
	return true
}
