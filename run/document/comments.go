package document

import (
	"bytes"
	"regexp"
	"slices"
	"toolpipe/stream/text/jsontext"
)

// WithoutComments returns a JSON text with blanks instead of its byte order
// mark, its comments and the commas before a closing bracket, so that all else
// keeps its place.
func WithoutComments(data []byte) []byte {
	if jsontext.Check(data, jsontext.Options{DuplicateNames: true}) == nil {
		return data // as most are; the expression below would cost a millisecond
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
	comma := -1 // the last comma, as long as nothing but blanks and comments follows it
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

// CommentHint is for a text that would be JSON without comments, trailing
// commas and byte order mark; nil where it would not.
func CommentHint(data []byte) []string {
	if jsontext.Check(WithoutComments(data), jsontext.Options{}) != nil {
		return nil
	}
	return []string{"comments, trailing commas and a byte order mark are accepted only in the files of --mcp-config"}
}
