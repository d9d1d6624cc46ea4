package screen

import "slices"

type row struct {
	cells   []cell
	wrapped bool // its text goes on in the next row
}

// A cell of the grid. The zero value is blank, and nothing was written there.
type cell struct {
	r     rune
	marks string // combining characters over r, at most maxMarks bytes
	wide  bool   // the next cell is its second half
	half  bool   // it is the second half of a wide character
}

const maxMarks = 16

func blankRows(n, columns int) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i].cells = make([]cell, columns)
	}
	return rows
}

// text returns the row up to the last cell that was written to.
func (r *row) text() string {
	b := make([]byte, 0, len(r.cells))
	for _, c := range r.cells[:r.used()] {
		switch {
		case c.half:
		case c.r == 0:
			b = append(b, ' ')
		default:
			b = append(append(b, string(c.r)...), c.marks...)
		}
	}
	return string(b)
}

// used returns the number of cells up to the last one that was written to.
func (r *row) used() int {
	n := len(r.cells)
	for n > 0 && r.cells[n-1] == (cell{}) {
		n--
	}
	return n
}

// put writes a character into a cell, and the next one if it is wide. If it replaces half of a
// wide character, the other half becomes blank.
func (s *Screen) put(row, column int, c cell) {
	cells := s.rows[row].cells
	if old := &cells[column]; *old == c && !c.wide && !c.half { // programs often write the same text again
		return
	}
	s.split(row, column)
	cells[column] = c
	if c.wide {
		s.split(row, column+1)
		cells[column+1] = cell{half: true}
	}
	s.revision.changed = true
}

// split blanks the rest of a wide character before the half in that cell is replaced.
func (s *Screen) split(row, column int) {
	cells := s.rows[row].cells
	if cells[column].half && column > 0 {
		cells[column-1] = cell{r: ' '}
	}
	if cells[column].wide && column+1 < s.columns {
		cells[column+1] = cell{r: ' '}
	}
}

// clear blanks the cells of a row from one column to before another.
func (s *Screen) clear(row, from, to int) {
	from, to = clamp(from, 0, s.columns), clamp(to, 0, s.columns)
	if from >= to {
		return
	}
	s.split(row, from)
	s.split(row, to-1)
	cells := s.rows[row].cells[from:to]
	for i := range cells {
		if cells[i] != (cell{}) {
			cells[i], s.revision.changed = cell{}, true
		}
	}
	if to == s.columns {
		s.rows[row].wrapped = false
	}
}

// insertCells puts n blank cells before a column, and drops as many at the end of the row.
func (s *Screen) insertCells(row, column, n int) {
	if n = min(n, s.columns-column); n <= 0 {
		return
	}
	cells := s.rows[row].cells
	if cells[column].half {
		s.split(row, column)
		cells[column] = cell{r: ' '}
	}
	copy(cells[column+n:], cells[column:])
	clear(cells[column : column+n])
	if cells[s.columns-1].wide {
		cells[s.columns-1] = cell{r: ' '}
	}
	s.revision.changed = true
}

// deleteCells takes n cells out of a row, and adds blank ones at its end.
func (s *Screen) deleteCells(row, column, n int) {
	if n = min(n, s.columns-column); n <= 0 {
		return
	}
	s.split(row, column)
	cells := s.rows[row].cells
	if end := column + n; end < s.columns && cells[end].half {
		cells[end] = cell{r: ' '}
	}
	copy(cells[column:], cells[column+n:])
	clear(cells[s.columns-n:])
	s.rows[row].wrapped = false
	s.revision.changed = true
}

// scroll moves the rows from top to bottom up by n, down if n is negative; n is not 0. Blank rows
// fill the gap.
func (s *Screen) scroll(top, bottom, n int) {
	rows := s.rows[top : bottom+1]
	up := n > 0
	n = min(max(n, -n), len(rows))
	gone := make([]row, n)
	if up {
		copy(gone, rows)
		copy(rows, rows[n:])
		copy(rows[len(rows)-n:], gone)
		rows = rows[len(rows)-n:]
	} else {
		copy(gone, rows[len(rows)-n:])
		copy(rows[n:], rows)
		copy(rows, gone)
		rows = rows[:n]
	}
	for i := range rows {
		clear(rows[i].cells)
		rows[i].wrapped = false
	}
	s.revision.changed = true
}

// Resize changes the size of the screen. On the main screen wrapped lines are wrapped anew, and
// rows leave at the top if the cursor would be below the screen.
func (s *Screen) Resize(columns, rows int) {
	columns, rows = clamp(columns, 1, MaxColumns), clamp(rows, 1, MaxRows)
	if columns == s.columns && rows == len(s.rows) {
		return
	}
	if s.main != nil {
		s.main, s.left.row, s.left.column = wrapAnew(s.main, s.left.row, s.left.column, columns, rows)
		s.rows = cropped(s.rows, columns, rows)
	} else {
		s.rows, s.cursor.row, s.cursor.column = wrapAnew(s.rows, s.cursor.row, s.cursor.column, columns, rows)
	}
	s.columns = columns
	s.cursor.within(columns, rows)
	s.saved.within(columns, rows)
	s.modes.top, s.modes.bottom, s.modes.tabs = 0, rows-1, tabStops(columns)
	s.revision = revision{count: s.revision.count + 1}
}

func (c *cursor) within(columns, rows int) {
	c.row, c.column = clamp(c.row, 0, rows-1), clamp(c.column, 0, columns)
}

// cropped returns rows cut, or filled up, to a size.
func cropped(old []row, columns, rows int) []row {
	fresh := blankRows(rows, columns)
	for i := range old[:min(len(old), rows)] {
		copy(fresh[i].cells, old[i].cells)
		if fresh[i].cells[columns-1].wide {
			fresh[i].cells[columns-1] = cell{r: ' '}
		}
	}
	return fresh
}

// wrapAnew wraps lines for another size. It returns the new position of the cursor.
func wrapAnew(old []row, atRow, atColumn, columns, rows int) (fresh []row, cursorRow, cursorColumn int) {
	last := len(old) - 1
	for last > atRow && old[last].used() == 0 {
		last--
	}
	for i := 0; i <= last; {
		var line []cell
		at := -1 // the position of the cursor in the line
		for {
			part := old[i].cells
			if !old[i].wrapped || i == last {
				part = part[:old[i].used()]
			}
			if i == atRow {
				at = len(line) + atColumn
			}
			line = append(line, part...)
			i++
			if !old[i-1].wrapped || i > last {
				break
			}
		}
		first := len(fresh)
		fresh = append(fresh, wrap(line, columns)...)
		if at >= 0 {
			cursorRow, cursorColumn = first, at
			for cursorColumn > columns || cursorColumn == columns && cursorRow+1 < len(fresh) {
				cursorRow, cursorColumn = cursorRow+1, cursorColumn-columns
			}
		}
	}
	for len(fresh) <= cursorRow {
		fresh = append(fresh, blankRows(1, columns)...)
	}
	if over := len(fresh) - rows; over > 0 { // rows below the cursor go last
		gone := min(over, cursorRow)
		fresh, cursorRow = fresh[gone:], cursorRow-gone
		fresh = fresh[:min(len(fresh), rows)]
	}
	return append(slices.Clip(fresh), blankRows(rows-len(fresh), columns)...), cursorRow, cursorColumn
}

func wrap(line []cell, columns int) (rows []row) {
	for {
		r := blankRows(1, columns)[0]
		n := min(len(line), columns)
		if n < len(line) && line[n].half {
			n--
		}
		copy(r.cells, line[:n])
		line = line[n:]
		r.wrapped = len(line) > 0 && n > 0
		rows = append(rows, r)
		if !r.wrapped {
			return rows
		}
	}
}
