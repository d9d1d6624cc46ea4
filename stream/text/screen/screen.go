// Package screen is a terminal without a display: it takes the bytes that a program writes to
// its terminal, and returns the text that a person would see.
//
// A screen is a grid of cells. Each cell shows a character, or is the second half of a wide
// one. A control function is a control character or an escape sequence (ECMA-48; the private
// ones are xterm's, "XTerm Control Sequences"). The screen understands the functions that move
// the cursor, erase, insert, delete, scroll or switch to the alternate screen, as in terminfo's
// entry xterm-256color. It reads and drops colours, titles and unknown functions, and passes on
// nothing that a program writes. Where terminals differ, it does what tmux does; the tests
// compare it with tmux.
//
// No bytes make it fail, and it takes no more memory than its size needs.
package screen

import (
	"strings"
	"unicode/utf8"
)

// The largest size of a screen. A larger size, or one below 1, is corrected.
const (
	MaxColumns = 500
	MaxRows    = 200
)

// A Screen is what a terminal shows. Its methods are not for concurrent use.
type Screen struct {
	Options
	columns  int
	rows     []row // the visible rows, from above
	main     []row // the rows of the main screen while the alternate one is shown; nil otherwise
	cursor   cursor
	saved    cursor  // by DECSC
	left     *cursor // the cursor when the main screen was last left; nil before that
	modes    modes
	parser   parser
	revision revision
}

// Options are set before the first Write.
type Options struct {
	// Columns returns how many columns a rune takes, 0 to 2; nil is Width.
	Columns func(r rune) int
	// Control gets each control function before its effect: a control character, or an escape
	// sequence, only the first bytes if it is long. It may be nil.
	Control func(function []byte)
	// Answer gets a terminal's answer to a query that programs wait for: its type (DA1),
	// whether it works (DSR 5), and the cursor's position (CPR). nil: there are no answers.
	Answer func(answer []byte)
}

// A cursor is the position and the form of the next character. After a character in the last
// column, its column is the width of the screen: the next character wraps.
type cursor struct {
	row, column int
	graphics    [2]bool // G0 and G1 are line drawing characters
	shift       int     // which of them counts
}

type modes struct {
	top, bottom int    // the first and the last row of the scrolling region
	tabs        []bool // the columns that are tab stops
	noWrap      bool   // a character after the last column replaces the one in it (DECAWM)
	insert      bool   // a character moves the ones after it (IRM)
	hidden      bool   // the cursor is not shown (DECTCEM)
	application bool   // cursor keys send ESC O (DECCKM)
}

// A revision counts the changes that a person could have seen.
type revision struct {
	count   int64
	changed bool // since the count
}

// New makes an empty screen.
func New(columns, rows int, o Options) *Screen {
	s := &Screen{Options: o}
	s.columns, rows = clamp(columns, 1, MaxColumns), clamp(rows, 1, MaxRows)
	s.rows = blankRows(rows, s.columns)
	s.reset()
	return s
}

// A View is a screen at a moment.
type View struct {
	Version       int64    // grows with each Write that changes one of the fields below, and with each Resize
	Rows          []string // from above, without the blanks at their ends
	Columns       int
	Row, Column   int  // of the cursor, from 1
	CursorHidden  bool // the program shows no cursor
	CursorKeysApp bool // the program wants ESC O in place of ESC [ from cursor keys
}

// View returns the present state of the screen.
func (s *Screen) View() View {
	v := View{
		Version: s.revision.count, Columns: s.columns, Row: s.cursor.row + 1, Column: min(s.cursor.column, s.columns-1) + 1,
		CursorHidden: s.modes.hidden, CursorKeysApp: s.modes.application,
	}
	for i := range s.rows {
		v.Rows = append(v.Rows, strings.TrimRight(s.rows[i].text(), " "))
	}
	return v
}

// Version returns the Version of View.
func (s *Screen) Version() int64 { return s.revision.count }

// Write takes the output of a program. It never fails.
func (s *Screen) Write(p []byte) (int, error) {
	before, hidden := s.cursor, s.modes.hidden
	for i := 0; i < len(p); {
		if s.parser.state == ground && p[i] >= ' ' && p[i] < 0x7f && s.parser.partial == 0 {
			s.print(rune(p[i]))
			i++
			continue
		}
		i += s.parse(p[i:])
	}
	moved := before.row != s.cursor.row || before.column != s.cursor.column
	if s.revision.changed || moved || hidden != s.modes.hidden {
		s.revision = revision{count: s.revision.count + 1}
	}
	return len(p), nil
}

// reset brings the screen to the state after power-on (RIS).
func (s *Screen) reset() {
	s.main = nil
	for i := range s.rows {
		s.clear(i, 0, s.columns)
	}
	s.cursor, s.saved, s.left, s.parser = cursor{}, cursor{}, nil, parser{}
	s.modes = modes{bottom: len(s.rows) - 1, tabs: tabStops(s.columns)}
}

func tabStops(columns int) []bool {
	tabs := make([]bool, columns)
	for i := 8; i < columns; i += 8 {
		tabs[i] = true
	}
	return tabs
}

func (s *Screen) print(r rune) {
	if s.cursor.graphics[s.cursor.shift] && r >= 0x5f && r < 0x7f {
		r = drawing[r-0x5f]
	}
	width := 1
	switch {
	case s.Columns != nil:
		width = clamp(s.Columns(r), 0, 2)
	case r >= 0x7f:
		width = Width(r)
	}
	c := &s.cursor
	switch {
	case width == 0:
		s.combine(r)
		return
	case width > s.columns:
		return
	case c.column+width <= s.columns:
	case !s.modes.noWrap:
		s.rows[c.row].wrapped = true
		s.lineFeed()
		c.column = 0
	case width == 2:
		return
	default:
		c.column = s.columns - 1
	}
	if s.modes.insert {
		s.insertCells(c.row, c.column, width)
	}
	s.put(c.row, c.column, cell{r: r, wide: width == 2})
	s.parser.last = r
	if c.column += width; s.modes.noWrap {
		c.column = min(c.column, s.columns-1)
	}
}

// drawing are the line drawing characters of the VT100 from 0x5f on.
var drawing = [...]rune{
	' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

func (s *Screen) combine(r rune) {
	row := s.rows[s.cursor.row].cells
	i := min(s.cursor.column, s.columns) - 1
	if i > 0 && row[i].half {
		i--
	}
	if i < 0 || row[i].r == 0 || len(row[i].marks)+utf8.RuneLen(r) > maxMarks {
		return
	}
	row[i].marks += string(r)
	s.revision.changed = true
}

func clamp(n, low, high int) int { return max(low, min(n, high)) }
