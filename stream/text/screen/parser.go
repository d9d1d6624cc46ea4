package screen

import "unicode/utf8"

// The states of the parser (VT500: "A parser for DEC's ANSI-compatible video terminals",
// vt100.net).
type state byte

const (
	ground  state = iota
	escape        // after ESC
	charset       // after ESC and an intermediate byte
	control       // in a control sequence, after ESC [
	text          // in a string of OSC, DCS, APC, PM or SOS; its bytes are dropped
	textEnd       // after ESC in such a string
)

// parser reads control functions. It keeps the beginning of one from earlier writes.
type parser struct {
	state   state
	isOSC   bool     // BEL ends the string
	seen    [64]byte // the first bytes of the control function, for Options.Control
	length  int
	private byte // one of <=>? after ESC [, and ! for an intermediate byte; 0 for none
	numbers [16]int
	count   int // of numbers that are begun
	rune    [utf8.UTFMax]byte
	partial int  // bytes in rune
	last    rune // the last printed character; REP repeats it
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

// decode takes a character, or its first bytes.
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
		again := a.partial - size // bytes after a broken character
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
			if b == 'p' {
				s.softReset()
			}
		}
	}
}

// number returns a parameter of the sequence, or otherwise if it is not given, or 0.
func (a *parser) number(i, otherwise int) int {
	if i < min(a.count, len(a.numbers)) && a.numbers[i] > 0 {
		return a.numbers[i]
	}
	return otherwise
}
