package stream

import (
	"bytes"

	"toolpipe/stream/jsontext"
)

// A half is one of the two surrogates that \u escapes write a character beyond
// U+FFFF with. An endpoint may cut its text between them, which servers do
// that count in UTF-16, or send one without the other. Until its other half
// comes, a half stands as the three bytes that UTF-8 would have for it. These
// are not UTF-8, so arguments that keep one are refused by whoever reads them;
// with a U+FFFD in its place they would be run.

// lastHalf returns the half that b ends with, -1 if there is none.
func lastHalf(b []byte) rune { return jsontext.Half(b[max(len(b)-3, 0):]) }

// nextHalf returns where the first half in b is, -1 if there is none.
func nextHalf(b []byte) int {
	for i := 0; ; i++ {
		n := bytes.IndexByte(b[i:], 0xed)
		if n < 0 {
			return -1
		}
		if i += n; jsontext.Half(b[i:]) >= 0 {
			return i
		}
	}
}

// appendPiece appends the next piece of a text that was cut anywhere.
func appendPiece(dst, piece []byte) []byte {
	if r := jsontext.Half(piece); r >= 0 {
		dst, piece = jsontext.AppendUnit(dst, r), piece[3:]
	}
	return append(dst, piece...)
}

// joiner makes text for people of a text that comes in pieces: it holds a half
// back until its other half may have come, and what stays alone is U+FFFD.
type joiner struct {
	high    rune // held back, 0 for none
	scratch []byte
}

// next returns what can be shown once the piece has come. It is valid until
// the next call.
func (j *joiner) next(piece []byte) []byte {
	if j.high == 0 && bytes.IndexByte(piece, 0xed) < 0 { // no half begins otherwise
		return piece
	}
	return j.join(piece)
}

func (j *joiner) join(piece []byte) []byte {
	if j.high == 0 && nextHalf(piece) < 0 {
		return piece
	}
	text := j.scratch[:0]
	if j.high != 0 {
		text = jsontext.AppendUnit(text, j.high)
		j.high = 0
	}
	text = appendPiece(text, piece)
	if r := lastHalf(text); 0xd800 <= r && r < 0xdc00 {
		j.high, text = r, text[:len(text)-3]
	}
	j.scratch = text
	for rest := text; ; {
		i := nextHalf(rest)
		if i < 0 {
			return text
		}
		rest = rest[i+copy(rest[i:], "\ufffd"):] // as long as a half
	}
}

// end returns what stands for a half that is still held back.
func (j *joiner) end() []byte {
	if j.high == 0 {
		return nil
	}
	j.high = 0
	return []byte("\ufffd")
}
