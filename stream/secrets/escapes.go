package secrets

import (
	"bytes"
	"strconv"

	"toolpipe/stream/jsontext"
)

const maxLayers = 3 // of escapes that are escaped themselves, as JSON in JSON

// findEscaped returns where text holds a secret of which a byte is escaped. It
// looks only at the regions of the text that hold escapes. They overlap, so that
// each secret is whole in one of them.
func (f *Finder) findEscaped(text []byte) (found []span) {
	longest := min(24*f.longest, 64<<10) // a byte may be the six of \u0041, and these may be escaped in turn
	for from := 0; from < len(text); from += 3 * longest {
		region := text[from:min(from+4*longest, len(text))]
		if hasEscape(region) {
			for _, s := range f.searchLayers(region) {
				found = append(found, span{from + s.from, from + s.to})
			}
		}
	}
	return found
}

// hasEscape reports whether text holds an escape that may stand for a byte of a
// secret. An escaped quote is left out: the JSON form of a secret with quotes is
// a spelling of its own.
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

// readEscape returns what the escape that b begins with stands for, and its
// size; the size is 1 for no escape.
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

// searchLayers searches text with its escapes resolved, layer by layer.
func (f *Finder) searchLayers(text []byte) (found []span) {
	at := make([]int32, len(text)+1) // the place of each byte in the original text
	for i := range at {
		at[i] = int32(i)
	}
	for range maxLayers {
		plain, from := text[:0:0], at[:0:0]
		for i := 0; i < len(text); {
			c, size := text[i], 1
			if c == '%' || c == '\\' {
				c, size = readEscape(text[i:])
			}
			plain, from = append(plain, c), append(from, at[i])
			i += size
		}
		if len(plain) == len(text) {
			break
		}
		text, at = plain, append(from, at[len(text)])
		for _, s := range f.search(text) {
			found = append(found, span{int(at[s.from]), int(at[s.to])})
		}
	}
	return found
}
