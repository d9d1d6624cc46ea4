package jsontext

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner checks one text in one pass.
type scanner struct {
	data    []byte
	options Options
	visit   func(name, value []byte) // called with each member of the outermost object
	i       int                      // the next byte
	depth   int
	spaced  bool // there is white space inside the value
}

func (s *scanner) document() error {
	if bytes.HasPrefix(s.data, []byte("\xef\xbb\xbf")) {
		return s.errorAt(0, "a byte order mark")
	}
	s.i = Space(s.data, 0)
	if s.i == len(s.data) {
		return s.errorAt(s.i, "no JSON value, the text is empty")
	}
	if c := s.data[s.i]; s.options.Object && c != '{' {
		return s.errorAt(s.i, "found %s, not an object", s.kind())
	}
	if err := s.value(); err != nil {
		return err
	}
	if s.i = Space(s.data, s.i); s.i < len(s.data) {
		return s.errorAt(s.i, "%s after the end of the value", s.found())
	}
	return nil
}

func (s *scanner) space() {
	if s.i < len(s.data) && s.data[s.i] <= ' ' {
		s.i, s.spaced = Space(s.data, s.i), true
	}
}

// skip skips c, and reports whether it is the next byte.
func (s *scanner) skip(c byte) bool {
	if s.i >= len(s.data) || s.data[s.i] != c {
		return false
	}
	s.i++
	return true
}

func (s *scanner) value() *SyntaxError {
	if s.i >= len(s.data) {
		return s.errorAt(s.i, "a value is missing at the end")
	}
	switch c := s.data[s.i]; {
	case c == '"':
		return s.literal()
	case c == '{' || c == '[':
		return s.nested(c + 2) // the bracket that ends it
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(s.data[s.i:], []byte(word)) {
			s.i += len(word)
			return nil
		}
	}
	return s.errorAt(s.i, "%s where a value should begin", s.found())
}

func (s *scanner) nested(end byte) *SyntaxError {
	most := cmp.Or(s.options.Depth, DefaultDepth)
	if s.depth++; s.depth > most {
		return s.errorAt(s.i, "nested more than %d deep", most)
	}
	s.i++
	s.space()
	var names map[string]int // of an object: the offset of each; nil if duplicates are allowed
	if end == '}' && !s.options.DuplicateNames {
		names = map[string]int{}
	}
	for more := !s.skip(end); more; {
		var err *SyntaxError
		if end == '}' {
			err = s.member(names)
		} else {
			err = s.value()
		}
		if err != nil {
			return err
		}
		s.space()
		if more = s.skip(','); more {
			s.space()
		} else if !s.skip(end) {
			return s.errorAt(s.i, "%s where ',' or '%c' should be", s.found(), end)
		}
	}
	s.depth--
	return nil
}

func (s *scanner) member(names map[string]int) *SyntaxError {
	start := s.i
	if s.i >= len(s.data) || s.data[s.i] != '"' {
		return s.errorAt(s.i, "%s where a key should begin", s.found())
	}
	if err := s.literal(); err != nil {
		return err
	}
	end := s.i
	if names != nil {
		if err := s.addName(names, start+1, end-1); err != nil {
			return err
		}
	}
	s.space()
	if !s.skip(':') {
		return s.errorAt(s.i, "%s after a key where ':' should be", s.found())
	}
	s.space()
	from := s.i
	if err := s.value(); err != nil {
		return err
	}
	if s.visit != nil && s.depth == 1 {
		s.visit(s.data[start:end:end], s.data[from:s.i:s.i])
	}
	return nil
}

func (s *scanner) literal() *SyntaxError {
	start, ascii := s.i, true
	for i := s.i + 1; ; {
		n, high := plainRun(s.data[i:])
		i += n
		ascii = ascii && !high
		if i < len(s.data) && s.data[i] == '\\' {
			n, err := s.escape(start, i)
			if err != nil {
				return err
			}
			i += n
			continue
		}
		s.i = i + 1
		err := s.checkUTF8(start, i, ascii)
		switch {
		case err != nil:
		case i == len(s.data):
			err = s.errorAt(start, "a string without end")
		case s.data[i] != '"':
			err = s.errorAt(i, "a control character (0x%02x) inside a string, not escaped", s.data[i])
		}
		return err
	}
}

func (s *scanner) checkUTF8(from, to int, ascii bool) *SyntaxError {
	if ascii || s.options.AnyBytes || utf8.Valid(s.data[from:to]) {
		return nil
	}
	for {
		r, n := utf8.DecodeRune(s.data[from:to])
		if r == utf8.RuneError && n == 1 {
			return s.errorAt(from, "invalid UTF-8 (byte 0x%02x)", s.data[from])
		}
		from += n
	}
}

// escape checks the escape sequence at i of the string that begins at start,
// and returns its length.
func (s *scanner) escape(start, i int) (int, *SyntaxError) {
	r, n := ReadEscape(s.data[i:])
	switch {
	case i+1 == len(s.data):
		return 0, s.errorAt(start, "a string without end")
	case n == 0 && s.data[i+1] == 'u':
		return 0, s.errorAt(i, `\u without four hexadecimal digits`)
	case n == 0:
		return 0, s.errorAt(i, "an unknown escape")
	case utf16.IsSurrogate(r) && !s.options.LoneSurrogates:
		return 0, s.errorAt(i, "a lone surrogate")
	}
	return n, nil
}

func (s *scanner) number() *SyntaxError {
	start := s.i
	s.skip('-')
	if !s.skip('0') && !s.digits() {
		return s.errorAt(start, "a number without digits")
	}
	if s.skip('.') && !s.digits() {
		return s.errorAt(start, "a number without digits after its point")
	}
	if s.skip('e') || s.skip('E') {
		if !s.skip('-') {
			s.skip('+')
		}
		if !s.digits() {
			return s.errorAt(start, "a number without digits in its exponent")
		}
	}
	return nil
}

// digits skips decimal digits and reports whether there were any.
func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.data) && s.data[s.i] >= '0' && s.data[s.i] <= '9' {
		s.i++
	}
	return s.i > start
}

// PlainLen returns how many bytes at the start of s need no escape inside a literal: the bytes
// before the first quote, backslash or control character.
func PlainLen(s []byte) int {
	n, _ := plainRun(s)
	return n
}

// plainRun is PlainLen, and reports whether one of the bytes is beyond ASCII. It reads sixteen
// bytes at a time, because most of a long text is inside literals.
func plainRun(s []byte) (n int, high bool) {
	i, seen := 0, uint64(0)
	for ; len(s)-i >= 16; i += 16 {
		x, y := binary.LittleEndian.Uint64(s[i:]), binary.LittleEndian.Uint64(s[i+8:])
		if (notPlain(x)|notPlain(y))&tops != 0 {
			break
		}
		seen |= x | y
	}
	for ; len(s)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(s[i:])
		if hit := notPlain(x) & tops; hit != 0 {
			n := bits.TrailingZeros64(hit) / 8
			return i + n, (seen|x&(1<<(8*n)-1))&tops != 0
		}
		seen |= x
	}
	high = seen&tops != 0
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			break
		} else if c >= utf8.RuneSelf {
			high = true
		}
	}
	return i, high
}

// tops are the top bits of eight bytes.
const tops = 0x8080808080808080

// notPlain takes eight bytes and sets the top bit of each that is a quote, a backslash or a
// control character. A wrong top bit can only be above a correct one; the other bits mean
// nothing.
func notPlain(x uint64) uint64 {
	const ones = 0x0101010101010101
	// With the bits of 0x02 flipped, a quote is 0x20, a space is 0x22 and the control
	// characters stay below 0x20: all bytes below 0x21 are not plain.
	return (((x ^ ones*0x02) - ones*0x21) | ((x ^ ones*'\\') - ones)) &^ x
}
