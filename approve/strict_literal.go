package approve

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// str passes a string literal; plain says that it is ASCII without escapes.
func (s *scanner) str() (plain bool, err *SyntaxError) {
	data, i := s.data, s.i+1
	plain = true
	for i < len(data) {
		c := data[i]
		switch {
		case c == '"':
			s.i = i + 1
			return plain, nil
		case c == '\\':
			plain = false
			n, err := s.escape(i)
			if err != nil {
				return false, err
			}
			i += n
		case c < ' ':
			return false, s.errorAt(i, "a control character (0x%02x) inside a string, not escaped", c)
		case c < utf8.RuneSelf:
			i++
		default:
			plain = false
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				return false, s.errorAt(i, "invalid UTF-8 (byte 0x%02x)", c)
			}
			i += n
		}
	}
	return false, s.errorAt(s.i, "a string without end")
}

// escape checks the escape sequence at data[i] and returns its length.
func (s *scanner) escape(i int) (int, *SyntaxError) {
	if i+1 >= len(s.data) {
		return 0, s.errorAt(s.i, "a string without end")
	}
	if c := s.data[i+1]; c != 'u' {
		if bytes.IndexByte([]byte(`"\/bfnrt`), c) < 0 {
			return 0, s.errorAt(i, "an unknown escape")
		}
		return 2, nil
	}
	r := hex4(s.data[i+2:])
	switch {
	case r < 0:
		return 0, s.errorAt(i, `\u without four hexadecimal digits`)
	case !utf16.IsSurrogate(r):
		return 6, nil
	}
	if rest := s.data[i+6:]; len(rest) > 6 && rest[0] == '\\' && rest[1] == 'u' {
		if utf16.DecodeRune(r, hex4(rest[2:])) != utf8.RuneError {
			return 12, nil
		}
	}
	return 0, s.errorAt(i, "a lone surrogate")
}

// hex4 returns the value of four hexadecimal digits, -1 if there are none.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
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
		s.i++
		if !s.digits() {
			return s.errorAt(start, "a number without digits after its point")
		}
	}
	if s.i < len(s.data) && (s.data[s.i] == 'e' || s.data[s.i] == 'E') {
		s.i++
		if s.i < len(s.data) && (s.data[s.i] == '+' || s.data[s.i] == '-') {
			s.i++
		}
		if !s.digits() {
			return s.errorAt(start, "a number without digits in its exponent")
		}
	}
	return nil
}

// digits passes decimal digits and reports whether there were any.
func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.data) && s.data[s.i] >= '0' && s.data[s.i] <= '9' {
		s.i++
	}
	return s.i > start
}

// unescape returns the text of a valid string literal without its quotes; it
// returns literal itself when nothing is escaped. A broken escape at the end
// is left as it is.
func unescape(literal []byte) []byte {
	i := bytes.IndexByte(literal, '\\')
	if i < 0 {
		return literal
	}
	out := append(make([]byte, 0, len(literal)), literal[:i]...)
	for i < len(literal) {
		if literal[i] != '\\' || i+1 == len(literal) {
			out = append(out, literal[i])
			i++
			continue
		}
		c := literal[i+1]
		if c != 'u' {
			if j := bytes.IndexByte([]byte("bfnrt"), c); j >= 0 {
				c = "\b\f\n\r\t"[j]
			}
			out = append(out, c)
			i += 2
			continue
		}
		r := hex4(literal[i+2:])
		if r < 0 {
			return append(out, literal[i:]...)
		}
		i += 6
		if utf16.IsSurrogate(r) && len(literal)-i >= 6 {
			r = utf16.DecodeRune(r, hex4(literal[i+2:]))
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}
