package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/jsontext"
)

// AppendString appends s as a JSON string that is safe for a terminal and for a reader of lines:
// control characters (C0 and C1), bidirectional marks and line separators are escaped. Bytes that
// are not UTF-8 become U+FFFD.
func AppendString[T []byte | string](dst []byte, s T) []byte {
	i := 0
	for i < len(s) && s[i] >= ' ' && s[i] < 0x7f && s[i] != '"' && s[i] != '\\' {
		i++
	}
	if i == len(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	return escapeFrom(jsontext.AppendQuoted(dst, s), len(dst))
}

func appendInner(dst []byte, s string) []byte {
	return escapeFrom(jsontext.AppendInner(dst, s), len(dst))
}

// AppendJSON appends a JSON value with the same characters escaped: in valid JSON they occur only
// inside strings. White space between tokens is dropped if it contains a tab or a line end. Text
// that is not JSON, such as the beginning of a value, is only escaped.
func AppendJSON(dst, raw []byte) []byte {
	if bytes.ContainsAny(raw, "\n\r\t") {
		var b bytes.Buffer
		if json.Compact(&b, raw) == nil {
			raw = b.Bytes()
		}
	}
	return escapeFrom(append(dst, raw...), len(dst))
}

// appendPiece is AppendJSON for a piece of a JSON value; no piece ends inside a character. In JSON
// a tab or a line end occurs only between tokens.
func appendPiece(dst, piece []byte) []byte {
	from := len(dst)
	for len(piece) > 0 {
		n := bytes.IndexAny(piece, "\n\r\t")
		if n < 0 {
			n = len(piece)
		}
		dst = append(dst, piece[:n]...)
		piece = piece[min(n+1, len(piece)):]
	}
	return escapeFrom(dst, from)
}

// escapeFrom escapes the unsafe characters in dst after an offset.
func escapeFrom(dst []byte, from int) []byte {
	for from < len(dst) {
		_, size, safe := firstRune(dst[from:])
		if !safe {
			break
		}
		from += size
	}
	rest := bytes.Clone(dst[from:])
	dst = dst[:from]
	for len(rest) > 0 {
		r, size, safe := firstRune(rest)
		switch {
		case safe:
			dst = append(dst, rest[:size]...)
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				dst = fmt.Appendf(dst, `\u%04x`, unit)
			}
		}
		rest = rest[size:]
	}
	return dst
}

// firstRune is the first character of b; safe is true if it needs no escape.
func firstRune(b []byte) (r rune, size int, safe bool) {
	if c := b[0]; c >= ' ' && c < 0x7f {
		return rune(c), 1, true
	}
	r, size = utf8.DecodeRune(b)
	return r, size, (r != utf8.RuneError || size > 1) && !escape.Unsafe(r)
}
