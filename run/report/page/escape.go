package page

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"toolpipe/stream/text/escape"
)

// appendText appends a text of a log as the content of an element. Nothing in it is markup. A
// character that could deceive a reader is shown as \u{202e} in a separate element, so that no text
// can imitate it. Line ends, tabs and the parts of emoji stay.
func appendText(dst []byte, s string) []byte {
	marks, before := escape.MaxMarks, rune(0)
	for i := 0; i < len(s); {
		if n := plainLen(s[i:]); n > 0 {
			dst = append(dst, html.EscapeString(s[i:i+n])...)
			i += n
			marks, before = 0, rune(s[i-1])
			continue
		}
		c := s[i]
		r, n := utf8.DecodeRuneInString(s[i:])
		joins := isJoiner(r) && before > ' ' && !isJoiner(before)
		switch {
		case r == utf8.RuneError && n == 1:
			dst = fmt.Appendf(dst, `<b class="x">\x%02x</b>`, s[i])
		case c == '\r':
			dst = append(dst, `<b class="x">\r</b>`...)
		case escape.IsMark(r) && marks >= escape.MaxMarks && !joins, escape.Unsafe(r) && !joins:
			dst = fmt.Appendf(dst, `<b class="x">\u{%x}</b>`, r)
		default:
			dst = append(dst, s[i:i+n]...)
		}
		if marks++; !escape.IsMark(r) {
			marks = 0
		}
		before = r
		i += n
	}
	return dst
}

// isJoiner reports whether r only changes how its neighbours look, as in an emoji.
func isJoiner(r rune) bool { return r == 0xfe0e || r == 0xfe0f || r == 0x200d }

func plainLen(s string) int {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c >= 0x7f) && c != '\n' && c != '\t' {
			return i
		}
	}
	return len(s)
}

// maxAttribute is the longest text of an attribute or heading, in bytes.
const maxAttribute = 200

func short(s string, n int) string {
	if len(s) > 4*n {
		s = strings.ToValidUTF8(s[:4*n], "")
	}
	return escape.Cut(escape.Escape(strings.Join(strings.Fields(s), " ")), n)
}

func attribute(s string) string { return html.EscapeString(short(s, maxAttribute)) }
