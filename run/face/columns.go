package face

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fit cuts a line to the terminal's width.
func (f *Face) fit(s string) string { return f.fitBehind("", s) }

// fitBehind cuts s so that it fits behind a prefix on the same line.
func (f *Face) fitBehind(prefix, s string) string {
	n := 0
	if f.streams.Width != nil {
		n = f.streams.Width()
	}
	if n <= 0 {
		n = 80
	}
	if n -= 1 + stringColumns(prefix); n < 1 {
		return ""
	}
	return cutColumns(s, n)
}

// cutColumns cuts s to so many columns of a terminal, with an ellipsis. s is
// escaped already.
func cutColumns(s string, columns int) string {
	used, end := 0, 0 // end: where an ellipsis still has room
	for i, r := range s {
		used += runeColumns(r)
		if used > columns {
			return s[:end] + "…"
		}
		if used < columns {
			end = i + utf8.RuneLen(r)
		}
	}
	return s
}

// stringColumns is how many columns s takes at most.
func stringColumns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// runeColumns is the most columns that a terminal gives a rune: terminals
// differ over emoji and symbols, and a line that is too long wraps, one that
// is too short only looks so. A variation selector may widen what precedes it.
func runeColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r == 0xfe0f:
		return 1
	case r == 0x200d, unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r < 0x1100, r >= 0x1e00 && r < 0x2300, r >= 0x2400 && r < 0x25a0, r >= 0xd7b0 && r < 0xf900, r >= 0xfe20 && r < 0xfe30, r >= 0xff61 && r < 0xffe0:
		return 1
	}
	return 2
}

// expandTabs writes tabs as blanks, so that a line's columns can be counted.
func expandTabs(s string) string {
	if !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	column := 0
	for _, r := range s {
		if r != '\t' {
			b.WriteRune(r)
			column += runeColumns(r)
			continue
		}
		n := 8 - column%8
		b.WriteString("        "[:n])
		column += n
	}
	return b.String()
}
