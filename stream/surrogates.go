package stream

import (
	"bytes"
	"unicode/utf16"

	"toolpipe/stream/text/jsontext"
)

// JSON writes a character beyond U+FFFF as two \u escapes, a high and a low surrogate. Servers
// that count in UTF-16 may cut a text between them, and models send one without the other. Until
// the low surrogate comes, the high one is kept as in WTF-8: as the three bytes that UTF-8 would
// have for it. These bytes are not valid UTF-8, so that arguments with a lone surrogate are
// refused by their reader; with U+FFFD in its place the call would run.

// appendPiece appends the next piece of a text in WTF-8 that was cut anywhere.
func appendPiece(dst, piece []byte) []byte {
	if r := jsontext.Surrogate(piece); r >= 0 {
		dst, piece = jsontext.AppendCodeUnit(dst, r), piece[3:]
	}
	return append(dst, piece...)
}

// joiner makes UTF-8 of a text in WTF-8 that comes in pieces. It holds a high
// surrogate back until the next piece comes; a lone surrogate becomes U+FFFD.
type joiner struct {
	high    rune // held back, 0 for none
	scratch []byte
}

// next returns the text that can be shown after the piece. It is valid until the next call.
func (j *joiner) next(piece []byte) []byte {
	if j.high == 0 && (bytes.IndexByte(piece, 0xed) < 0 || indexSurrogate(piece) < 0) { // 0xed is their first byte
		return piece
	}
	text := j.scratch[:0]
	if j.high != 0 {
		text = jsontext.AppendCodeUnit(text, j.high)
		j.high = 0
	}
	text = appendPiece(text, piece)
	if r := jsontext.Surrogate(text[max(len(text)-3, 0):]); utf16.IsSurrogate(r) && r < 0xdc00 {
		j.high, text = r, text[:len(text)-3]
	}
	j.scratch = text
	for rest := text; ; {
		i := indexSurrogate(rest)
		if i < 0 {
			return text
		}
		rest = rest[i+copy(rest[i:], "\ufffd"):] // of the same length
	}
}

// end returns the replacement of a surrogate that is held back.
func (j *joiner) end() []byte {
	if j.high == 0 {
		return nil
	}
	j.high = 0
	return []byte("\ufffd")
}

// indexSurrogate returns the index of the first surrogate in b, -1 for none.
func indexSurrogate(b []byte) int {
	for i := 0; ; i++ {
		n := bytes.IndexByte(b[i:], 0xed)
		if n < 0 {
			return -1
		}
		if i += n; jsontext.Surrogate(b[i:]) >= 0 {
			return i
		}
	}
}
