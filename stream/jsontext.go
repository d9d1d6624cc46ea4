package stream

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

const hexDigits = "0123456789abcdef"

// appendQuoted appends s as a JSON string literal. Invalid UTF-8 becomes
// U+FFFD, because endpoints refuse a request that holds it.
func appendQuoted[S string | []byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	dst = appendInner(dst, s)
	return append(dst, '"')
}

// appendInner is appendQuoted without the quotes.
func appendInner[S string | []byte](dst []byte, s S) []byte {
	from := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		if b >= ' ' && b != '"' && b != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
		}
		i++
		from = i
	}
	return append(dst, s[from:]...)
}

// appendUnquoted appends the text of a JSON string literal, given without its
// quotes. A surrogate without its other half stays a half. The literal must be
// valid.
func appendUnquoted(dst, s []byte) []byte {
	for {
		n := plainLen(s)
		dst = append(dst, s[:n]...)
		if s = s[n:]; len(s) < 2 {
			return dst
		}
		if s[0] != '\\' { // a control character or a quote cannot be here
			dst, s = append(dst, s[0]), s[1:]
			continue
		}
		switch c := s[1]; c {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			dst, s = appendUnit(dst, hex4(s)), s[min(6, len(s)):]
			continue
		default:
			dst = append(dst, c)
		}
		s = s[2:]
	}
}

// readEscape returns what the \u escape at the start of s stands for, a
// surrogate pair taken as one, and how long it is; ok is false if it is broken
// or a half.
func readEscape(s []byte) (r rune, n int, ok bool) {
	if r = hex4(s); !utf16.IsSurrogate(r) {
		return r, 6, r >= 0
	}
	r = utf16.DecodeRune(r, hex4(s[6:]))
	return r, 12, r != utf8.RuneError
}

// hex4 returns the code unit of the \u escape that s begins with, or -1.
func hex4(s []byte) (r rune) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	for _, c := range s[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// plainLen returns how many bytes at the start of s stand for themselves
// within a JSON string literal: up to a quote, a backslash or a control
// character. It looks at eight bytes at a time.
func plainLen(s []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(s[i:])
		quote, slash := x^ones*'"', x^ones*'\\'
		hit := ((x-ones*' ')&^x | (quote-ones)&^quote | (slash-ones)&^slash) & tops
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(s); i++ {
		if b := s[i]; b < ' ' || b == '"' || b == '\\' {
			break
		}
	}
	return i
}

// literalLen returns the length of the JSON string literal whose text begins
// at s, without its quotes; ok is false if s has no valid one.
func literalLen(s []byte) (n int, ok bool) {
	for {
		n += plainLen(s[n:])
		if n == len(s) || s[n] < ' ' {
			return 0, false
		}
		if s[n] == '"' {
			return n, true
		}
		switch rest := s[n:]; {
		case len(rest) < 2:
			return 0, false
		case rest[1] == 'u':
			if hex4(rest) < 0 {
				return 0, false
			}
			n += 6
		default:
			switch rest[1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				n += 2
			default:
				return 0, false
			}
		}
	}
}

// unescapes are what a backslash and a letter stand for, as pairs.
const unescapes = "\"\"\\\\//b\bf\fn\nr\rt\t"

// readLiteral returns the text of the JSON string literal that begins at s,
// without its quotes, and its length in s. It is a part of s, or in scratch
// if it held escapes. It takes what literalLen takes, in one pass, but no
// literal with a half.
func readLiteral(s []byte, scratch *[]byte) (text []byte, n int, ok bool) {
	n = plainLen(s)
	if n < len(s) && s[n] == '"' {
		return s[:n], n, true
	}
	out := append((*scratch)[:0], s[:n]...)
	for n+1 < len(s) && s[n] == '\\' {
		used := 2
		if s[n+1] == 'u' {
			r, length, ok := readEscape(s[n:])
			if !ok {
				return nil, 0, false
			}
			out, used = utf8.AppendRune(out, r), length
		} else if i := strings.IndexByte(unescapes, s[n+1]); i >= 0 && i%2 == 0 {
			out = append(out, unescapes[i+1])
		} else {
			return nil, 0, false
		}
		n += used
		k := plainLen(s[n:])
		out = append(out, s[n:n+k]...)
		n += k
	}
	*scratch = out
	return out, n, n < len(s) && s[n] == '"'
}

// text returns what the string r holds, "" if it is no string. It may hold
// halves, and be a piece that must be joined with others by appendPiece.
func text(r gjson.Result) []byte {
	if r.Type != gjson.String || len(r.Raw) < 2 {
		return nil
	}
	return appendUnquoted(nil, []byte(r.Raw[1:len(r.Raw)-1]))
}

// maxDepth is how deep JSON from an endpoint may be nested; validation and
// scanning recurse.
const maxDepth = 10000

// valid reports whether data is one JSON value that is not nested too deep.
func valid(data []byte) bool {
	return (len(data) <= maxDepth || !tooDeep(data)) && gjson.ValidBytes(data)
}

func tooDeep(data []byte) bool {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			n, ok := literalLen(data[i+1:])
			if !ok {
				return false // not valid either
			}
			i += n + 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}
