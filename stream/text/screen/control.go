package screen

import (
	"fmt"
	"unicode/utf8"
)

// What the parser is in the middle of (VT500: "A parser for DEC's ANSI-compatible video
// terminals", vt100.net).
type state byte

const (
	ground  state = iota
	escape        // behind ESC
	charset       // behind ESC and an intermediate byte
	control       // in a control sequence, behind ESC [
	text          // in a string of OSC, DCS, APC, PM or SOS, whose bytes are dropped
	textEnd       // behind ESC in such a string
)

// parser reads control functions. It keeps what of one the writes before have brought.
type parser struct {
	state   state
	isOSC   bool     // BEL ends the string
	seen    [64]byte // the first bytes of the control function, for Options.Control
	length  int
	private byte // one of <=>? behind ESC [, and ! for an intermediate byte; 0 for none
	numbers [16]int
	count   int // of numbers that are begun
	rune    [utf8.UTFMax]byte
	partial int  // bytes in rune
	last    rune // that was printed last; REP repeats it
}

// maxNumber bounds a parameter.
const maxNumber = 1 << 16

// parse takes at least one byte of p and returns how many it took.
func (s *Screen) parse(p []byte) int {
	a, b := &s.parser, p[0]
	switch {
	case a.state == text || a.state == textEnd:
		s.skipText(b)
	case b == 0x1b:
		a.begin(escape, b)
	case b == 0x18 || b == 0x1a: // CAN, SUB
		a.state, a.partial = ground, 0
		s.tell(p[:1])
	case b < ' ' || b == 0x7f:
		a.partial = 0
		s.tell(p[:1])
		s.execute(b)
	case a.state == ground:
		return s.decode(p)
	case a.state == escape:
		a.note(b)
		s.afterEscape(b)
	case a.state == charset:
		a.note(b)
		if b >= 0x30 {
			s.tell(a.seen[:a.length])
			s.afterIntermediate(a.seen[1], b)
			a.state = ground
		}
	default:
		a.note(b)
		s.inSequence(b)
	}
	return 1
}

func (a *parser) begin(next state, b byte) {
	*a = parser{state: next, last: a.last}
	a.note(b)
}

// note keeps a byte of the control function.
func (a *parser) note(b byte) {
	if a.length < len(a.seen) {
		a.seen[a.length] = b
		a.length++
	}
}

func (s *Screen) tell(function []byte) {
	if s.Control != nil {
		s.Control(function)
	}
}

// skipText drops a byte of a string.
func (s *Screen) skipText(b byte) {
	a := &s.parser
	switch {
	case b == '\a' && a.isOSC, a.state == textEnd && b == '\\', b == 0x18, b == 0x1a:
		s.tell(a.seen[:a.length])
		a.state = ground
	case b == 0x1b:
		a.state = textEnd
	case a.state == textEnd: // ESC ends the string, and begins another function
		s.tell(a.seen[:a.length])
		a.begin(escape, 0x1b)
		s.parse([]byte{b})
	default:
		a.note(b)
	}
}

// decode takes a character, or what has come of it.
func (s *Screen) decode(p []byte) int {
	a := &s.parser
	for n, b := range p {
		if b < utf8.RuneSelf && a.partial > 0 {
			a.partial = 0
			s.print(utf8.RuneError)
			return n
		}
		a.rune[a.partial] = b
		a.partial++
		if !utf8.FullRune(a.rune[:a.partial]) {
			continue
		}
		r, size := utf8.DecodeRune(a.rune[:a.partial])
		again := a.partial - size // bytes behind a broken character
		a.partial = 0
		if r >= 0x80 && r < 0xa0 { // C1: no terminal with UTF-8 needs them
			s.tell([]byte(string(r)))
		} else {
			s.print(r)
		}
		return max(n+1-again, 1)
	}
	return len(p)
}

// execute has a control character take effect.
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

// lineFeed moves the cursor down, at the end of the scrolling region by scrolling.
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

// afterEscape takes the byte behind ESC.
func (s *Screen) afterEscape(b byte) {
	a := &s.parser
	switch {
	case b == '[':
		a.state = control
		return
	case b >= ' ' && b < 0x30:
		a.state = charset
		return
	case b == ']' || b == 'P' || b == '_' || b == '^' || b == 'X' || b == 'k':
		a.state, a.isOSC = text, b == ']'
		return
	}
	a.state = ground
	s.tell(a.seen[:a.length])
	switch b {
	case '7':
		s.saved = s.cursor
	case '8':
		s.restore(s.saved)
	case 'D':
		s.lineFeed()
	case 'E':
		s.lineFeed()
		s.cursor.column = 0
	case 'H':
		s.modes.tabs[min(s.cursor.column, s.columns-1)] = true
	case 'M':
		s.reverseLineFeed()
	case 'c':
		s.reset()
	}
}

// restore brings the cursor back to where it was saved.
func (s *Screen) restore(c cursor) {
	c.within(s.columns, len(s.rows))
	s.cursor = c
}

// afterIntermediate takes the last byte of a sequence of ESC, an intermediate byte and that.
func (s *Screen) afterIntermediate(intermediate, b byte) {
	switch {
	case intermediate == '(':
		s.cursor.graphics[0] = b == '0'
	case intermediate == ')':
		s.cursor.graphics[1] = b == '0'
	case intermediate == '#' && b == '8': // DECALN
		s.modes.top, s.modes.bottom = 0, len(s.rows)-1
		s.cursor.row, s.cursor.column = 0, 0
		for row := range s.rows {
			for column := range s.columns {
				s.put(row, column, cell{r: 'E'})
			}
		}
	}
}

// inSequence takes a byte of a control sequence.
func (s *Screen) inSequence(b byte) {
	a := &s.parser
	switch {
	case b >= '0' && b <= '9':
		if a.count == 0 {
			a.count = 1
		}
		if i := a.count - 1; i < len(a.numbers) {
			a.numbers[i] = min(a.numbers[i]*10+int(b-'0'), maxNumber)
		}
	case b == ';' || b == ':':
		a.count = min(max(a.count, 1)+1, len(a.numbers)+1)
	case b >= '<' && b <= '?' || b >= ' ' && b < '0':
		a.private = b
	case b >= '@':
		a.state = ground
		s.tell(a.seen[:a.length])
		switch a.private {
		case 0:
			s.function(b)
		case '?':
			s.privateFunction(b)
		case '!':
			if b == 'p' { // DECSTR
				s.modes.top, s.modes.bottom = 0, len(s.rows)-1
				s.modes.insert, s.modes.hidden, s.modes.application, s.modes.noWrap = false, false, false, false
				s.cursor.origin, s.cursor.graphics, s.cursor.shift = false, [2]bool{}, 0
				s.saved = cursor{}
			}
		}
	}
}

// number is a parameter of the sequence; otherwise if it is not given, or 0.
func (a *parser) number(i, otherwise int) int {
	if i < min(a.count, len(a.numbers)) && a.numbers[i] > 0 {
		return a.numbers[i]
	}
	return otherwise
}

// function has a control sequence without a private byte take effect.
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

// move moves the cursor.
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
		s.goTo(n-1, c.column)
	case 'H', 'f':
		s.goTo(n-1, min(s.parser.number(1, 1)-1, last))
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

// goTo puts the cursor into a row, which counts from the scrolling region if the origin does.
func (s *Screen) goTo(row, column int) {
	if s.cursor.origin {
		row = min(row+s.modes.top, s.modes.bottom)
	}
	s.cursor.row, s.cursor.column = clamp(row, 0, len(s.rows)-1), column
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
		s.goTo(0, 0)
	}
}

// report answers a query for the state of the terminal (DSR).
func (s *Screen) report(what int) {
	switch what {
	case 5:
		s.answer("\x1b[0n")
	case 6:
		row := s.cursor.row + 1
		if s.cursor.origin {
			row -= s.modes.top
		}
		s.answer(fmt.Sprintf("\x1b[%d;%dR", row, min(s.cursor.column+1, s.columns)))
	}
}

func (s *Screen) answer(text string) {
	if s.Answer != nil {
		s.Answer([]byte(text))
	}
}

// privateFunction has a control sequence with ? take effect.
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
		case 6:
			s.cursor.origin = on
			s.goTo(0, 0)
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

// alternate shows the alternate screen, which begins empty, or the main one again.
func (s *Screen) alternate(on, cursorToo bool) {
	switch {
	case on && s.main == nil:
		s.main, s.rows = s.rows, blankRows(len(s.rows), s.columns)
		s.left = s.cursor
	case !on && s.main != nil:
		s.rows, s.main = s.main, nil
		if cursorToo {
			s.restore(s.left)
		}
	default:
		return
	}
	s.revision.changed = true
}
