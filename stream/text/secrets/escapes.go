package secrets

import (
	"bytes"
	"iter"
	"strconv"

	"toolpipe/stream/text/jsontext"
)

const maxLayers = 3 // of escapes that are themselves escaped, as JSON in JSON

// findEscaped returns the ranges of text that hold a secret with an escaped byte. It searches
// only the regions of the text that hold escapes. The regions overlap, so that each secret is
// complete in one of them.
func (f *Finder) findEscaped(text []byte) (found []span) {
	longest := f.longestEscaped()
	for from := 0; from < len(text); from += 3 * longest {
		region := text[from:min(from+4*longest, len(text))]
		if !hasEscape(region) {
			continue
		}
		for plain, at := range layers(region, false) {
			for _, s := range f.findPlain(plain) {
				found = append(found, span{from + at[s.from], from + at[s.to]})
			}
		}
	}
	return found
}

// longestEscaped is the greatest length of a spelling with escaped bytes: a byte may be the six
// of \u0041, and these may be escaped in turn.
func (f *Finder) longestEscaped() int { return min(24*f.longest, 64<<10) }

// hasEscape reports whether text holds an escape that may be a byte of a secret. An escaped
// quote is left out: the JSON form of a secret with quotes is a separate spelling.
func hasEscape(text []byte) bool {
	for i, c := range text {
		if c == '%' || c == '\\' {
			if _, size := readEscape(text[i:]); size > 1 && text[i+1] != '"' {
				return true
			}
		}
	}
	return false
}

// readEscape returns the byte of the escape at the beginning of b, and the size of the escape;
// the size is 1 for no escape.
func readEscape(b []byte) (c byte, size int) {
	digits, isHex := bytes.CutPrefix(b, []byte("%"))
	if !isHex {
		digits, isHex = bytes.CutPrefix(b, []byte(`\x`))
	}
	var r rune
	if isHex && len(digits) >= 2 {
		n, _ := strconv.ParseUint(string(digits[:2]), 16, 8)
		r, size = rune(n), len(b)-len(digits)+2
	} else if !isHex {
		r, size = jsontext.ReadEscape(b)
	}
	if r <= ' ' || r > '~' {
		return b[0], 1
	}
	return byte(r), size
}

// layers yields text with its escapes resolved, layer by layer, each with the offset in text of
// every byte and of the end. If the text goes on, an incomplete escape at the end is left out.
func layers(text []byte, goesOn bool) iter.Seq2[[]byte, []int] {
	return func(yield func([]byte, []int) bool) {
		at := make([]int, len(text)+1)
		for i := range at {
			at[i] = i
		}
		for range maxLayers {
			plain, from, i := text[:0:0], at[:0:0], 0
			for i < len(text) {
				c, size := text[i], 1
				if c == '%' || c == '\\' {
					if c, size = readEscape(text[i:]); size == 1 && goesOn && isCut(text[i:]) {
						break
					}
				}
				plain, from = append(plain, c), append(from, at[i])
				i += size
			}
			if len(plain) == len(text) {
				return
			}
			text, at = plain, append(from, at[i])
			if !yield(text, at) {
				return
			}
		}
	}
}

// isCut reports whether b, which is no escape, may be the beginning of an escape.
func isCut(b []byte) bool {
	for _, escape := range []string{"%21", `\x21`, `\u0021`} {
		if len(b) < len(escape) {
			if _, size := readEscape(append(bytes.Clone(b), escape[len(b):]...)); size > 1 {
				return true
			}
		}
	}
	return false
}
