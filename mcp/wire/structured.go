package wire

import (
	"bytes"
	"slices"

	"toolpipe/stream/text/jsontext"
)

const (
	fewBytes     = 4        // a string of at most so many bytes may appear by chance
	manyBytes    = 200      // a string of more bytes is not shown twice
	searchBudget = 16 << 20 // bytes of the text that are searched for strings
)

// above replaces a string in structuredContent that the model already has.
const above = `"[above]"`

// structured is the part of structuredContent that a model needs in addition to the text of
// the blocks. It is nil if the text shows it already: the same value, or every string in it
// that is longer than fewBytes. Servers repeat their text in it, as the specification
// recommends, or an image, which is never text. A long string that the model already has is
// replaced.
func (r *Result) structured(parts [][]byte) []byte {
	if r.repeatsContent() {
		return nil
	}
	shown := shownText{media: map[string]bool{}}
	for _, b := range r.Content {
		for _, data := range [][]byte{jsontext.Member(b.Raw, "data"), jsontext.Member(b.Raw, "resource", "blob")} {
			if text := jsontext.Text(data); text != "" {
				shown.media[text] = true
			}
		}
		for _, label := range [][]byte{jsontext.Member(b.Raw, "mimeType"), jsontext.Member(b.Raw, "resource", "mimeType")} {
			shown.text = append(append(shown.text, jsontext.Text(label)...), '\n') // the model gets the real type
		}
	}
	for _, p := range parts {
		shown.text = append(append(shown.text, jsontext.Unescape(p[1:len(p)-1])...), '\n')
	}
	value := jsontext.AppendCompact(nil, r.Structured)
	out := make([]byte, 0, len(value))
	strings, missing := 0, 0
	from := 0
	for i := 0; i < len(value); i++ {
		if value[i] != '"' {
			continue
		}
		literal := value[i:jsontext.LiteralEnd(value, i)]
		end := i + len(literal)
		if len(literal) > fewBytes+2 && (end == len(value) || value[end] != ':') { // not a member's name
			text := jsontext.Unescape(literal[1 : len(literal)-1])
			strings++
			switch media := shown.media[string(text)]; {
			case !media && !shown.has(text):
				missing++
			case media || len(text) > manyBytes:
				out = append(append(out, value[from:i]...), above...)
				from = end
			}
		}
		i = end - 1
	}
	if strings > 0 && missing == 0 {
		return nil
	}
	return append(out, value[from:]...)
}

func (r *Result) repeatsContent() bool {
	object := slices.Concat([]byte(`{"content":`), r.Raw, []byte("}"))
	return r.Raw != nil && (jsontext.Same(r.Structured, r.Raw) || jsontext.Same(r.Structured, object))
}

// shownText is what the model gets from the blocks.
type shownText struct {
	text     []byte
	media    map[string]bool // base64 of media blocks
	at       int             // position of the last string found: the next often follows it
	searched int
}

// has reports whether the text contains s. It is false when the search budget is used up.
func (t *shownText) has(s []byte) bool {
	for _, from := range []int{t.at, 0} {
		if t.searched > searchBudget {
			return false
		}
		before, _, found := bytes.Cut(t.text[from:], s)
		t.searched += len(before)
		if found {
			t.at = from + len(before)
			return true
		}
	}
	return false
}
