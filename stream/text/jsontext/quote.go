package jsontext

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendQuoted appends s as a literal. Bytes that are not UTF-8 become U+FFFD.
func AppendQuoted[S string | []byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	dst = AppendInner(dst, s)
	return append(dst, '"')
}

// AppendInner is AppendQuoted without the quotes.
func AppendInner[S string | []byte](dst []byte, s S) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			_, n := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
			if n == 1 { // an invalid byte
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		if short := strings.IndexByte("\"\\\n\r\t", c); short >= 0 {
			dst = append(dst, '\\', `"\nrt`[short])
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(dst, s[from:]...)
}

// InnerLen is the number of bytes that AppendInner appends.
func InnerLen[S string | []byte](s S) int {
	n := len(s)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			_, size := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
			if i += size - 1; size == 1 { // an invalid byte
				n += len("\ufffd") - 1
			}
		case c >= ' ' && c != '"' && c != '\\':
		case c >= ' ' || c == '\n' || c == '\r' || c == '\t':
			n++
		default:
			n += len(`\u0000`) - 1
		}
	}
	return n
}

// Quoted returns s as a literal.
func Quoted(s string) []byte { return AppendQuoted(make([]byte, 0, len(s)+2), s) }

// AppendMember appends a member to an object that has no end yet.
func AppendMember(dst []byte, name string, value []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(AppendQuoted(dst, name), ':'), value...)
}

// Unquote returns the text of a literal. A lone surrogate becomes U+FFFD.
func Unquote(literal []byte) string { return string(Unescape(literal[1 : len(literal)-1])) }

// AppendWTF8 appends the text of a literal, given without its quotes. It keeps a lone surrogate
// as AppendCodeUnit does, so that it can be joined with a later surrogate.
func AppendWTF8(dst, inner []byte) []byte { return appendUnescaped(dst, inner, AppendCodeUnit) }

// Unescape returns the text of a literal, given without its quotes; inner itself if nothing is
// escaped.
func Unescape(inner []byte) []byte {
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return appendUnescaped(nil, inner, utf8.AppendRune)
}

// WriteText writes the text of a literal, given without its quotes.
func WriteText(w *bufio.Writer, inner []byte) {
	for {
		i := bytes.IndexByte(inner, '\\')
		r, n := rune(0), 0
		if i >= 0 {
			r, n = ReadEscape(inner[i:])
		}
		if n == 0 {
			w.Write(inner)
			return
		}
		w.Write(inner[:i])
		w.WriteRune(r)
		inner = inner[i+n:]
	}
}

// appendUnescaped appends s with its escapes resolved: appendRune appends the character of an
// escape.
func appendUnescaped(dst, s []byte, appendRune func([]byte, rune) []byte) []byte {
	dst = slices.Grow(dst, len(s))
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		r, n := ReadEscape(s[i:])
		if n == 0 {
			return append(dst, s[i:]...)
		}
		dst, s = appendRune(dst, r), s[i+n:]
	}
}

// AppendMeaning is AppendWTF8 for unchecked text. It reports false if inner is not valid
// between quotes, or holds a lone surrogate. It does not check UTF-8.
func AppendMeaning(dst, inner []byte) ([]byte, bool) {
	to := len(dst)
	dst = slices.Grow(dst, len(inner)+16)
	dst = dst[:cap(dst)]
	for i := 0; i < len(inner); {
		// Sixteen bytes are copied before the number of plain bytes among them is known. The
		// others are overwritten.
		if len(inner)-i >= 16 {
			from, into := inner[i:i+16], dst[to:to+16]
			x, y := binary.LittleEndian.Uint64(from), binary.LittleEndian.Uint64(from[8:])
			binary.LittleEndian.PutUint64(into, x)
			binary.LittleEndian.PutUint64(into[8:], y)
			hitX, hitY := notPlain(x)&tops, notPlain(y)&tops
			if hitX|hitY == 0 {
				i, to = i+16, to+16
				continue
			}
			n := bits.TrailingZeros64(hitX) / 8
			if hitX == 0 {
				n += bits.TrailingZeros64(hitY) / 8
			}
			i, to = i+n, to+n
		} else if PlainLen(inner[i:i+1]) == 1 {
			dst[to] = inner[i]
			i, to = i+1, to+1
			continue
		}
		if inner[i] == '\\' && i+1 < len(inner) && escapes[inner[i+1]] != 0 { // most escapes are short
			dst[to] = escapes[inner[i+1]]
			i, to = i+2, to+1
			continue
		}
		r, size := ReadEscape(inner[i:])
		if inner[i] != '\\' || size == 0 || utf16.IsSurrogate(r) {
			return nil, false
		}
		to += utf8.EncodeRune(dst[to:], r)
		i += size
	}
	return dst[:to], true
}

// escapes maps the character after a backslash to its meaning.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// ReadEscape returns the character of the escape at the beginning of s, and its length, 0 for
// no escape. A surrogate pair counts as one escape; a lone surrogate is returned as it is.
func ReadEscape(s []byte) (r rune, n int) {
	if len(s) < 2 {
		return 0, 0
	}
	if c := escapes[s[1]]; c != 0 {
		return rune(c), 2
	}
	if s[1] != 'u' {
		return 0, 0
	}
	if r = hex4(s[2:]); r < 0 {
		return 0, 0
	}
	if utf16.IsSurrogate(r) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if whole := utf16.DecodeRune(r, hex4(s[8:])); whole != utf8.RuneError {
			return whole, 12
		}
	}
	return r, 6
}

// Surrogate returns the surrogate at the beginning of b in the form of AppendCodeUnit, -1 for
// none.
func Surrogate(b []byte) rune {
	if len(b) < 3 || b[0] != 0xed || b[1] < 0xa0 || b[1] > 0xbf || b[2]&0xc0 != 0x80 {
		return -1
	}
	return 0xd000 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f)
}

// AppendCodeUnit appends a code unit of UTF-16 in WTF-8: a low surrogate is joined with a high
// one at the end of dst. A lone surrogate is appended as the three bytes that UTF-8 would have
// for it, which are not valid UTF-8.
func AppendCodeUnit(dst []byte, r rune) []byte {
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(dst, r)
	}
	if whole := utf16.DecodeRune(Surrogate(dst[max(len(dst)-3, 0):]), r); whole != utf8.RuneError {
		return utf8.AppendRune(dst[:len(dst)-3], whole)
	}
	return append(dst, 0xed, 0x80|byte(r>>6&0x3f), 0x80|byte(r&0x3f))
}

// hex4 returns the value of the four hexadecimal digits at the beginning of b, -1 if there are
// none.
func hex4(b []byte) rune {
	var unit [2]byte
	if len(b) < 4 {
		return -1
	} else if _, err := hex.Decode(unit[:], b[:4]); err != nil {
		return -1
	}
	return rune(binary.BigEndian.Uint16(unit[:]))
}

// AppendCompact appends a value, which Check accepted with the options Peer,
// without insignificant white space.
func AppendCompact(dst, value []byte) []byte {
	compact, _ := Compact(value, Peer)
	return append(dst, compact...)
}
