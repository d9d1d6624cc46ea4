package run

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"toolpipe/approve"
)

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string in which nothing can disturb a
// terminal or a line-based reader: control, C1, bidi and separator characters
// are escaped (security.md I7). Bytes that are not UTF-8 become U+FFFD.
func appendString[T []byte | string](dst []byte, s T) []byte {
	dst = append(dst, '"')
	dst = appendSafe(dst, s, true)
	return append(dst, '"')
}

// appendJSON appends a JSON value as it came, with the same characters
// escaped: in valid JSON they stand only inside strings. White space between
// its tokens is dropped if it could end a line. Other text is escaped alone.
func appendJSON(dst, raw []byte) []byte {
	if bytes.ContainsAny(raw, "\n\r\t") {
		var b bytes.Buffer
		if json.Compact(&b, raw) == nil {
			raw = b.Bytes()
		}
	}
	return appendSafe(dst, raw, false)
}

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
			if r, size = utf8.DecodeRune(b[:n]); (r != utf8.RuneError || size > 1) && !approve.Unsafe(r) {
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

// object appends the members of one JSON object; the zero value is empty.
// Members that are absent are not written, so that readers see only what is.
type object struct {
	b     []byte
	first bool
}

func beginObject(dst []byte) object { return object{append(dst, '{'), true} }

func (o *object) end() []byte { return append(o.b, '}') }

func (o *object) name(key string) {
	if !o.first {
		o.b = append(o.b, ',')
	}
	o.first = false
	o.b = append(append(append(o.b, '"'), key...), '"', ':')
}

func (o *object) str(key, s string) { o.name(key); o.b = appendString(o.b, s) }

func (o *object) optional(key, s string) {
	if s != "" {
		o.str(key, s)
	}
}

func (o *object) text(key string, s []byte) { o.name(key); o.b = appendString(o.b, s) }

func (o *object) int(key string, n int64) { o.name(key); o.b = strconv.AppendInt(o.b, n, 10) }

func (o *object) bool(key string, v bool) { o.name(key); o.b = strconv.AppendBool(o.b, v) }

func (o *object) raw(key string, v []byte) {
	if v != nil {
		o.name(key)
		o.b = appendJSON(o.b, v)
	}
}
