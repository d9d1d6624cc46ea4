package escape

import (
	"unicode"
	"unicode/utf8"
)

// Cut cuts s, which is escaped, to this number of columns of a terminal, with an ellipsis.
func Cut(s string, columns int) string {
	used, end := 0, 0 // end: where an ellipsis still has room
	for i, r := range s {
		used += RuneColumns(r)
		if used > columns {
			return s[:end] + "…"
		}
		if used < columns {
			end = i + utf8.RuneLen(r)
		}
	}
	return s
}

// Columns returns the largest number of columns that s may take.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += RuneColumns(r)
	}
	return n
}

// RuneColumns returns the largest number of columns that a terminal gives a rune: terminals
// differ over emoji and symbols. A line that is too long wraps, a line that is too short only
// looks so. A variation selector may widen the character before it.
func RuneColumns(r rune) int {
	switch {
	case r < 0x300, r == 0xfe0f:
		return 1
	case r == 0x200d, unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r < 0x1100, r >= 0x1e00 && r < 0x2300, r >= 0x2400 && r < 0x25a0, r >= 0xd7b0 && r < 0xf900, r >= 0xfe20 && r < 0xfe30, r >= 0xff61 && r < 0xffe0:
		return 1
	}
	return 2
}
