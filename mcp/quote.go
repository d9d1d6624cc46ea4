package mcp

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

func unquote(literal []byte) string {
	inner := literal[1 : len(literal)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	return string(appendUnquoted(make([]byte, 0, len(inner)), literal))
}

// appendUnquoted appends what a string literal means. Lone surrogates become
// U+FFFD.
func appendUnquoted(dst, literal []byte) []byte {
	s := literal[1 : len(literal)-1]
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		c := s[i+1]
		s = s[i+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			var r rune
			r, s = escapedRune(s)
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
}

// escapedRune reads the digits after a \u and, where they are the first of a
// pair, the second escape.
func escapedRune(s []byte) (rune, []byte) {
	r := hex4(s)
	s = s[4:]
	if !utf16.IsSurrogate(r) {
		return r, s
	}
	if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(s[2:])); pair != utf8.RuneError {
			return pair, s[6:]
		}
	}
	return utf8.RuneError, s
}

// loneSurrogate says whether a literal holds an escape that is half a pair.
func loneSurrogate(literal []byte) bool {
	s := literal
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return false
		}
		if s[i+1] != 'u' {
			s = s[i+2:]
			continue
		}
		var r rune
		if r, s = escapedRune(s[i+2:]); r == utf8.RuneError {
			return true
		}
	}
}

// appendQuoted appends s as a string literal. Invalid UTF-8 becomes U+FFFD.
func appendQuoted[T string | []byte](dst []byte, s T) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if r != utf8.RuneError || n != 1 {
				i += n
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		switch {
		case c >= utf8.RuneSelf:
			dst = append(dst, "\uFFFD"...)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, '\\', c)
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// quoted is s as a string literal.
func quoted(s string) []byte { return appendQuoted(make([]byte, 0, len(s)+2), s) }

// appendCompact appends v without insignificant white space.
func appendCompact(dst, v []byte) []byte {
	for i := 0; i < len(v); {
		switch v[i] {
		case ' ', '\n', '\r', '\t':
			i++
		case '"':
			end := stringEnd(v, i)
			dst = append(dst, v[i:end]...)
			i = end
		default:
			dst = append(dst, v[i])
			i++
		}
	}
	return dst
}
