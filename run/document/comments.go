package document

import (
	"bytes"
	"regexp"
	"slices"
	"toolpipe/stream/text/jsontext"
)

// WithoutComments returns a JSON text with blanks instead of its byte order mark, its comments and
// the commas before a closing bracket. Everything else keeps its offset.
func WithoutComments(data []byte) []byte {
	if jsontext.Check(data, jsontext.Options{DuplicateNames: true}) == nil {
		return data // the usual case; the expression below would cost a millisecond
	}
	out := slices.Clone(data)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		blank(0, 3)
	}
	tokens := regexp.MustCompile(`(?s)"(?:\\.|[^"\\])*"?|//[^\n]*|/\*.*?\*/|\S`)
	comma := -1 // the last comma, while only blanks and comments follow it
	before := byte('[')
	for _, at := range tokens.FindAllIndex(out, -1) {
		switch c := out[at[0]]; {
		case c == '/' && at[1]-at[0] > 1:
			blank(at[0], at[1])
		case c == ',' && before != '[' && before != '{' && before != ',':
			comma, before = at[0], ','
		default:
			if comma >= 0 && (c == ']' || c == '}') {
				out[comma] = ' '
			}
			comma, before = -1, c
		}
	}
	return out
}

// CommentHint is a hint for a text that is JSON except for comments, trailing commas or a byte
// order mark; nil for any other text.
func CommentHint(data []byte) []string {
	if jsontext.Check(WithoutComments(data), jsontext.Options{}) != nil {
		return nil
	}
	return []string{"comments, trailing commas and a byte order mark are accepted only in the files of --mcp-config"}
}
