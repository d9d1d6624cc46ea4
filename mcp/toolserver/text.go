package toolserver

import (
	"bytes"
	"unicode/utf8"
)

var ByteOrderMark = []byte("\xEF\xBB\xBF")

const (
	// MaxText is the longest text that a tool answers: a little less than
	// what a model is shown without a cut.
	MaxText   = 240 << 10
	MaxListed = 5000 // entries that a listing shows
)

// LooksBinary reports whether a file that begins so is not text.
func LooksBinary(b []byte) bool { return bytes.IndexByte(b[:min(len(b), 32<<10)], 0) >= 0 }

// WholeRunes is b without a character that was cut at its end.
func WholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// Cut is a text of at most limit bytes. A mark behind it says that it was longer.
func Cut(text string, limit int, mark string) string {
	if len(text) <= limit {
		return text
	}
	return string(WholeRunes([]byte(text[:limit]))) + mark
}

const (
	ReadChunk  = 64 << 10  // bytes that a tool reads from a file at once
	MaxCounted = 256 << 20 // bytes in which lines are counted, so that a huge file does not hold up a call
)
