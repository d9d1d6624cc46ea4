package screen

import "fmt"

func (s *Screen) execute(b byte) {
	c := &s.cursor
	switch b {
	case '\b':
		c.column = max(c.column-1, 0)
	case '\t':
		s.tab(1)
	case '\n', '\v', '\f':
		s.lineFeed()
	case '\r':
		c.column = 0
	case 0x0e:
		c.shift = 1
	case 0x0f:
		c.shift = 0
	}
}

// tab moves the cursor by n tab stops, back if n is negative.
func (s *Screen) tab(n int) {
	c := &s.cursor
	for ; n > 0 && c.column < s.columns-1; n-- {
		for c.column++; c.column < s.columns-1 && !s.modes.tabs[c.column]; c.column++ {
		}
	}
	for ; n < 0 && c.column > 0; n++ {
		for c.column--; c.column > 0 && !s.modes.tabs[min(c.column, s.columns-1)]; c.column-- {
		}
	}
}

// lineFeed moves the cursor down. At the end of the scrolling region it scrolls.
func (s *Screen) lineFeed() {
	if c := &s.cursor; c.row == s.modes.bottom {
		s.scroll(s.modes.top, s.modes.bottom, 1)
	} else if c.row < len(s.rows)-1 {
		c.row++
	}
}

func (s *Screen) reverseLineFeed() {
	if c := &s.cursor; c.row == s.modes.top {
		s.scroll(s.modes.top, s.modes.bottom, -1)
	} else if c.row > 0 {
		c.row--
	}
}

func (s *Screen) restore(c cursor) {
	c.within(s.columns, len(s.rows))
	s.cursor = c
}

// afterIntermediate takes the last byte of a sequence, after ESC and an intermediate byte.
func (s *Screen) afterIntermediate(intermediate, b byte) {
	switch {
	case intermediate == '(':
		s.cursor.graphics[0] = b == '0'
	case intermediate == ')':
		s.cursor.graphics[1] = b == '0'
	}
}

// softReset resets the modes and keeps the visible text (DECSTR).
func (s *Screen) softReset() {
	s.modes.top, s.modes.bottom = 0, len(s.rows)-1
	s.modes.insert, s.modes.hidden, s.modes.application, s.modes.noWrap = false, false, false, false
	s.cursor.graphics, s.cursor.shift = [2]bool{}, 0
	s.saved = cursor{}
}

// function applies a control sequence without a private byte.
func (s *Screen) function(final byte) {
	c, n := &s.cursor, s.parser.number(0, 1)
	switch final {
	case 'A', 'B', 'e', 'C', 'a', 'D', 'E', 'F', 'G', '`', 'd', 'H', 'f', 'I', 'Z':
		s.move(final, n)
	case 'J', 'K', 'X':
		s.erase(final, n)
	case '@':
		s.insertCells(c.row, c.column, n)
	case 'P':
		s.deleteCells(c.row, c.column, n)
	case 'L':
		if c.row >= s.modes.top && c.row <= s.modes.bottom {
			s.scroll(c.row, s.modes.bottom, -n)
		}
	case 'M':
		if c.row >= s.modes.top && c.row <= s.modes.bottom {
			s.scroll(c.row, s.modes.bottom, n)
		}
	case 'S':
		s.scroll(s.modes.top, s.modes.bottom, n)
	case 'T':
		s.scroll(s.modes.top, s.modes.bottom, -n)
	case 'b':
		for range min(n, s.columns*len(s.rows)) {
			if s.parser.last != 0 {
				s.print(s.parser.last)
			}
		}
	case 'c':
		s.answer("\x1b[?1;2c")
	case 'g':
		s.clearTabs()
	case 'h', 'l':
		if s.parser.number(0, 0) == 4 {
			s.modes.insert = final == 'h'
		}
	case 'n':
		s.report(s.parser.number(0, 0))
	case 'r':
		s.setRegion()
	case 's':
		s.saved = s.cursor
	case 'u':
		s.restore(s.saved)
	}
}

func (s *Screen) move(final byte, n int) {
	c, last := &s.cursor, s.columns-1
	switch final {
	case 'A', 'F':
		limit := 0
		if c.row >= s.modes.top {
			limit = s.modes.top
		}
		c.row = max(c.row-n, limit)
	case 'B', 'e', 'E':
		limit := len(s.rows) - 1
		if c.row <= s.modes.bottom {
			limit = s.modes.bottom
		}
		c.row = min(c.row+n, limit)
	case 'C', 'a':
		c.column = min(c.column+n, max(last, c.column))
	case 'D':
		c.column = max(c.column-n, 0)
	case 'G', '`':
		c.column = min(n-1, last)
	case 'd':
		c.row = min(n, len(s.rows)) - 1
	case 'H', 'f':
		c.row, c.column = min(n, len(s.rows))-1, min(s.parser.number(1, 1)-1, last)
	case 'I':
		s.tab(min(n, s.columns))
	case 'Z':
		s.tab(-min(n, s.columns))
	}
	switch final {
	case 'E', 'F':
		c.column = 0
	case 'A', 'B', 'e':
		c.column = min(c.column, last)
	}
}

// erase erases a part of the screen (J), of the row (K), or n cells (X).
func (s *Screen) erase(final byte, n int) {
	c, what := s.cursor, s.parser.number(0, 0)
	if final == 'X' {
		s.clear(c.row, c.column, c.column+n)
		return
	}
	if what == 0 {
		s.clear(c.row, c.column, s.columns)
	}
	if what == 1 {
		s.clear(c.row, 0, c.column+1)
	}
	if what == 2 {
		s.clear(c.row, 0, s.columns)
	}
	if final == 'K' {
		return
	}
	for row := range s.rows {
		if what == 2 || what == 0 && row > c.row || what == 1 && row < c.row {
			s.clear(row, 0, s.columns)
		}
	}
}

func (s *Screen) clearTabs() {
	switch s.parser.number(0, 0) {
	case 0:
		s.modes.tabs[min(s.cursor.column, s.columns-1)] = false
	case 3:
		clear(s.modes.tabs)
	}
}

// setRegion sets the scrolling region (DECSTBM).
func (s *Screen) setRegion() {
	top, bottom := s.parser.number(0, 1)-1, min(s.parser.number(1, len(s.rows)), len(s.rows))-1
	if top < bottom {
		s.modes.top, s.modes.bottom = top, bottom
		s.cursor.row, s.cursor.column = 0, 0
	}
}

// report answers a query for the state of the terminal (DSR).
func (s *Screen) report(what int) {
	switch what {
	case 5:
		s.answer("\x1b[0n")
	case 6:
		s.answer(fmt.Sprintf("\x1b[%d;%dR", s.cursor.row+1, min(s.cursor.column+1, s.columns)))
	}
}

func (s *Screen) answer(text string) {
	if s.Answer != nil {
		s.Answer([]byte(text))
	}
}

// privateFunction applies a control sequence with ?.
func (s *Screen) privateFunction(final byte) {
	on := final == 'h'
	if !on && final != 'l' {
		return
	}
	for i := range min(s.parser.count, len(s.parser.numbers)) {
		switch s.parser.numbers[i] {
		case 1:
			s.modes.application = on
		case 3: // DECCOLM: the width stays, and the screen is erased
			for row := range s.rows {
				s.clear(row, 0, s.columns)
			}
			s.cursor.row, s.cursor.column = 0, 0
		case 7:
			s.modes.noWrap = !on
		case 25:
			s.modes.hidden = !on
		case 47, 1047:
			s.alternate(on, false)
		case 1048:
			if on {
				s.saved = s.cursor
			} else {
				s.restore(s.saved)
			}
		case 1049:
			s.alternate(on, true)
		}
	}
}

// alternate shows the alternate screen, which begins empty, or the main one again. With
// cursorToo (1049) the cursor returns to its position when the main screen was last left, also
// if the main screen is visible: dialog ends so (screen_alternate_off of tmux; CursorRestore of
// xterm).
func (s *Screen) alternate(on, cursorToo bool) {
	switch {
	case on && s.main == nil:
		s.main, s.rows = s.rows, blankRows(len(s.rows), s.columns)
		left := s.cursor
		s.left = &left
		s.revision.changed = true
	case !on:
		if s.main != nil {
			s.rows, s.main = s.main, nil
			s.revision.changed = true
		}
		if cursorToo && s.left != nil {
			s.restore(*s.left)
		}
	}
}
