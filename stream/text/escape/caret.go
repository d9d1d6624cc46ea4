package escape

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxContext is how many bytes of a long line are shown before the offset of an
// error, and after it.
const maxContext = 60

// Caret returns the column of the byte at offset, from 1, and two more lines for an error about it:
// its line, and a caret below the byte. The line is not escaped yet: the caret is below the byte
// when unsafe characters are escaped and backslashes stay single, as errors are printed.
func Caret(text []byte, offset int) (column int, shown string) {
	start := bytes.LastIndexByte(text[:offset], '\n') + 1
	end := len(text)
	if i := bytes.IndexByte(text[offset:], '\n'); i >= 0 {
		end = offset + i
	}
	from, to := max(start, offset-maxContext), min(end, offset+maxContext)
	before := bytes.TrimLeft(text[from:offset], " \t")
	after := bytes.TrimRight(text[offset:to], " \t\r")
	shift := utf8.RuneCountInString(Escape(string(before))) - bytes.Count(before, []byte{'\\'})
	return utf8.RuneCount(text[start:offset]) + 1, "\n    " + string(before) + string(after) + "\n    " + strings.Repeat(" ", shift) + "^"
}
