package event

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"toolpipe/stream/escape"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string in which nothing can disturb a
// terminal or a line-based reader: control, C1, bidi and separator characters
// are escaped (security.md I7). Bytes that are not UTF-8 become U+FFFD.
func AppendString[T []byte | string](dst []byte, s T) []byte {
	dst = append(dst, '"')
	dst = AppendSafe(dst, s, true)
	return append(dst, '"')
}

// AppendJSON appends a JSON value as it came, with the same characters
// escaped: in valid JSON they stand only inside strings. White space between
// its tokens is dropped if it could end a line. Other text is escaped alone.
func AppendJSON(dst, raw []byte) []byte {
	if bytes.ContainsAny(raw, "\n\r\t") {
		var b bytes.Buffer
		if json.Compact(&b, raw) == nil {
			raw = b.Bytes()
		}
	}
	return AppendSafe(dst, raw, false)
}

func AppendSafe[T []byte | string](dst []byte, s T, quote bool) []byte {
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

// object appends the members of one JSON object; the zero value is empty.
// Members that are absent are not written, so that readers see only what is.
type object struct {
	B     []byte
	first bool
}

func BeginObject(dst []byte) object { return object{append(dst, '{'), true} }

func (o *object) End() []byte { return append(o.B, '}') }

func (o *object) Name(key string) {
	if !o.first {
		o.B = append(o.B, ',')
	}
	o.first = false
	o.B = append(append(append(o.B, '"'), key...), '"', ':')
}

func (o *object) Str(key, s string) { o.Name(key); o.B = AppendString(o.B, s) }

func (o *object) Optional(key, s string) {
	if s != "" {
		o.Str(key, s)
	}
}

func (o *object) text(key string, s []byte) { o.Name(key); o.B = AppendString(o.B, s) }

func (o *object) int(key string, n int64) { o.Name(key); o.B = strconv.AppendInt(o.B, n, 10) }

func (o *object) Bool(key string, v bool) { o.Name(key); o.B = strconv.AppendBool(o.B, v) }

func (o *object) raw(key string, v []byte) {
	if v != nil {
		o.Name(key)
		o.B = AppendJSON(o.B, v)
	}
}
