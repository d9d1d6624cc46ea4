package event

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"toolpipe/stream/escape"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string that a terminal or a reader of lines
// can take as it is: control characters (C0 and C1), bidirectional marks and line
// separators are escaped. Bytes that are not UTF-8 become U+FFFD.
func AppendString[T []byte | string](dst []byte, s T) []byte {
	dst = append(dst, '"')
	dst = appendSafe(dst, s, true)
	return append(dst, '"')
}

// AppendJSON appends a JSON value as it came, with the same characters escaped:
// in valid JSON they stand only inside strings. White space between its tokens
// is dropped if it holds a tab or the end of a line. Text that is not JSON, such
// as the beginning of a value, is only escaped.
func AppendJSON(dst, raw []byte) []byte {
	if bytes.ContainsAny(raw, "\n\r\t") {
		var b bytes.Buffer
		if json.Compact(&b, raw) == nil {
			raw = b.Bytes()
		}
	}
	return appendSafe(dst, raw, false)
}

// appendSafe appends s with the unsafe characters escaped, with quote also those
// that JSON gives a meaning.
func appendSafe[T []byte | string](dst []byte, s T, quote bool) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && (c != '"' && c != '\\' || !quote) {
			i++
			continue
		}
		size := 1
		r := rune(c)
		if c >= utf8.RuneSelf {
			// utf8.DecodeRune wants one type; at most four bytes are converted.
			var b [utf8.UTFMax]byte
			n := copy(b[:], s[i:min(i+utf8.UTFMax, len(s))])
			if r, size = utf8.DecodeRune(b[:n]); (r != utf8.RuneError || size > 1) && !escape.Unsafe(r) {
				i += size
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscaped(dst, r)
		i += size
		start = i
	}
	return append(dst, s[start:]...)
}

func appendEscaped(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r == '\n':
		return append(dst, '\\', 'n')
	case r == '\t':
		return append(dst, '\\', 't')
	case r == '\r':
		return append(dst, '\\', 'r')
	case r >= 0x10000:
		r -= 0x10000
		return appendEscaped(appendEscaped(dst, 0xd800+(r>>10)), 0xdc00+(r&0x3ff))
	}
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
