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

	// With compact, the text is copied without white space, from the first white
	// space inside the value on.
	compact bool
	out     []byte
	kept    int // start of the text that is not in out yet
	end     int // end of the value

	// names[:named] are names of the objects that are being read, one object after
	// the other. An array needs no allocation.
	names [24]name
	named int
}

func (s *scanner) document() *SyntaxError {
	if bytes.HasPrefix(s.data, []byte("\xef\xbb\xbf")) {
		return s.errorAt(0, "a byte order mark")
	}
	s.i = Space(s.data, 0)
	s.kept = s.i
	if s.i == len(s.data) {
		return s.errorAt(s.i, "no JSON value, the text is empty")
	}
	if c := s.data[s.i]; s.options.Object && c != '{' {
		return s.errorAt(s.i, "found %s, not an object", kindName(c))
	}
	if err := s.value(); err != nil {
		return err
	}
	s.end = s.i
	if s.i = Space(s.data, s.i); s.i < len(s.data) {
		return s.errorAt(s.i, "%s after the end of the value", s.found())
	}
	return nil
}

// Space passes insignificant white space and leaves it out of the copy.
func (s *scanner) space() {
	if s.i >= len(s.data) || s.data[s.i] > ' ' {
		return
	}
	start := s.i
	s.i = Space(s.data, s.i)
	if s.compact {
		if s.out == nil {
			s.out = make([]byte, 0, len(s.data)-(s.i-start))
		}
		s.out = append(s.out, s.data[s.kept:start]...)
		s.kept = s.i
	}
}

func (s *scanner) value() *SyntaxError {
	if s.i >= len(s.data) {
		return s.errorAt(s.i, "a value is missing at the end")
	}
	switch c := s.data[s.i]; {
	case c == '"':
		_, err := s.literal()
		return err
	case c == '{' || c == '[':
		return s.nested(c == '{')
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return s.errorAt(s.i, "%s where a value should begin", s.found())
}

func (s *scanner) nested(object bool) (err *SyntaxError) {
	most := cmp.Or(s.options.Depth, DefaultDepth)
	if s.depth++; s.depth > most {
		return s.errorAt(s.i, "nested more than %d deep", most)
	}
	s.i++
	s.space()
	if object {
		err = s.members()
	} else {
		err = s.elements()
	}
	s.depth--
	return err
}

func (s *scanner) word(w string) *SyntaxError {
	if !bytes.HasPrefix(s.data[s.i:], []byte(w)) {
		return s.errorAt(s.i, "an unknown word")
	}
	s.i += len(w)
	return nil
}

func (s *scanner) elements() *SyntaxError {
	if s.i < len(s.data) && s.data[s.i] == ']' {
		s.i++
		return nil
	}
	for {
		if err := s.value(); err != nil {
			return err
		}
		if last, err := s.next(']', "an array"); last || err != nil {
			return err
		}
	}
}

func (s *scanner) members() *SyntaxError {
	if s.i < len(s.data) && s.data[s.i] == '}' {
		s.i++
		return nil
	}
	own := nameSet{first: s.named}
	for {
		if err := s.member(&own); err != nil {
			return err
		}
		if last, err := s.next('}', "an object"); last || err != nil {
			s.named = own.first
			return err
		}
	}
}

// next skips what follows a member or an element: a comma, or the end.
func (s *scanner) next(end byte, in string) (last bool, err *SyntaxError) {
	s.space()
	switch {
	case s.i < len(s.data) && s.data[s.i] == ',':
		s.i++
		s.space()
		return false, nil
	case s.i < len(s.data) && s.data[s.i] == end:
		s.i++
		return true, nil
	}
	return false, s.errorAt(s.i, "%s in %s where ',' or '%c' should be", s.found(), in, end)
}

func (s *scanner) member(own *nameSet) *SyntaxError {
	start := s.i
	if s.i >= len(s.data) || s.data[s.i] != '"' {
		return s.errorAt(s.i, "%s where a key should begin", s.found())
	}
	plain, err := s.literal()
	if err != nil {
		return err
	}
	end := s.i
	if !s.options.DuplicateNames {
		if err := s.addName(own, name{start + 1, end - 1, plain}); err != nil {
			return err
		}
	}
	s.space()
	if s.i >= len(s.data) || s.data[s.i] != ':' {
		return s.errorAt(s.i, "%s after a key where ':' should be", s.found())
	}
	s.i++
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

// literal skips a string; plain says that it is without escapes.
func (s *scanner) literal() (plain bool, err *SyntaxError) {
	start, ascii := s.i, true
	plain = true
	for i := s.i + 1; ; {
		n, high := plainRun(s.data[i:])
		i += n
		ascii = ascii && !high
		switch {
		case i == len(s.data):
			if err := s.checkUTF8(start, i, ascii); err != nil {
				return plain, err
			}
			return plain, s.errorAt(start, "a string without end")
		case s.data[i] == '"':
			s.i = i + 1
			return plain, s.checkUTF8(start, i, ascii)
		case s.data[i] == '\\':
			plain = false
			n, err := s.escape(start, i)
			if err != nil {
				return plain, err
			}
			i += n
		default:
			if err := s.checkUTF8(start, i, ascii); err != nil {
				return plain, err
			}
			return plain, s.errorAt(i, "a control character (0x%02x) inside a string, not escaped", s.data[i])
		}
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
	if s.data[s.i] == '-' {
		s.i++
	}
	switch {
	case s.i < len(s.data) && s.data[s.i] == '0':
		s.i++
	case !s.digits():
		return s.errorAt(start, "a number without digits")
	}
	if s.i < len(s.data) && s.data[s.i] == '.' {
		if s.i++; !s.digits() {
			return s.errorAt(start, "a number without digits after its point")
		}
	}
	if s.i < len(s.data) && s.data[s.i]|0x20 == 'e' {
		if s.i++; s.i < len(s.data) && (s.data[s.i] == '+' || s.data[s.i] == '-') {
			s.i++
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

// PlainLen returns how many bytes at the start of s stand for themselves
// inside a literal: those before the first quote, backslash or control
// character.
func PlainLen(s []byte) int {
	n, _ := plainRun(s)
	return n
}

// plainRun is PlainLen, and reports whether one of the bytes is beyond ASCII. It
// looks at sixteen bytes at a time, since most of a long text is inside literals.
func plainRun(s []byte) (n int, high bool) {
	const tops = 0x8080808080808080
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

// notPlain takes eight bytes and sets the top bit of each that is a quote, a
// backslash or a control character. A top bit that is set wrongly can only be above
// one that is set rightly; the other bits mean nothing.
func notPlain(x uint64) uint64 {
	const ones = 0x0101010101010101
	// With the bits of 0x02 turned, a quote is 0x20, a space is 0x22 and the control
	// characters stay below 0x20: all that is below 0x21 is not plain.
	return (((x ^ ones*0x02) - ones*0x21) | ((x ^ ones*'\\') - ones)) &^ x
}
