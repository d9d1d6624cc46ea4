package event

import (
	"strings"

	"toolpipe/stream/escape"
)

// table is a list for a terminal: a header, and columns that are aligned and as
// wide as their widest field.
type table struct {
	header []string
	rows   [][]string // each as long as the header, and escaped
	whole  bool       // the last column is not cut, for it says what is wrong
}

// maxField is the width of a column, if others follow it. The first two may be
// wider: they hold the names that a user copies.
const maxField = 40

// appendTo appends the table in lines of at most so many columns, if it is not to
// be whole. Columns that hold nothing are left out.
func (t *table) appendTo(b []byte, columns int) []byte {
	widths := make([]int, len(t.header))
	for _, row := range t.rows {
		for i, field := range row {
			widths[i] = max(widths[i], escape.Columns(field))
		}
	}
	last := 0 // the last column that holds anything
	for i, w := range widths {
		if w > 0 {
			widths[i], last = max(w, escape.Columns(t.header[i])), i
		}
		if i > 1 {
			widths[i] = min(widths[i], maxField)
		}
	}
	for _, row := range append([][]string{t.header}, t.rows...) {
		var line strings.Builder
		for i, field := range row {
			if widths[i] == 0 {
				continue
			}
			if i < last { // the last one may reach to the end of the line
				field = escape.Cut(field, widths[i])
				field += strings.Repeat(" ", widths[i]-escape.Columns(field)+2)
			}
			line.WriteString(field)
		}
		shown := strings.TrimRight(line.String(), " ")
		if !t.whole {
			shown = escape.Cut(shown, columns)
		}
		b = append(append(b, shown...), '\n')
	}
	return b
}
