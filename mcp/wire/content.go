package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// Rendered is a result in the form for a model.
type Rendered struct {
	JSON  json.RawMessage // the text as a JSON string literal: valid UTF-8, no lone surrogate
	Media []Media         // in order; the text describes each
	Bytes int             // of the text, decoded
}

const noOutput = "(no output)"

// ReadResult reads the result of tools/call. Some servers send no content, null or a bare
// string; those are accepted.
func ReadResult(raw []byte) (*Result, error) {
	if jsontext.Kind(raw) != '{' {
		return nil, fmt.Errorf("the result is not an object: %s", Snippet(raw))
	}
	r := &Result{}
	for name, value := range jsontext.Members(raw) {
		switch {
		case jsontext.Is(name, "content"):
			r.Raw = value
		case jsontext.Is(name, "isError"):
			r.IsError = jsontext.IsTrue(value)
		case jsontext.Is(name, "structuredContent") && string(value) != "null":
			r.Structured = value
		case jsontext.Is(name, "_meta"):
			r.Meta = value
		}
	}
	r.Content = ReadBlocks(r.Raw)
	return r, nil
}

// ReadBlocks reads an array of content blocks, one block, or a string.
func ReadBlocks(v []byte) []Block {
	if kind := jsontext.Kind(v); kind == '"' || kind == '{' {
		return []Block{readBlock(v)}
	}
	var blocks []Block
	for b := range jsontext.Elements(v) {
		blocks = append(blocks, readBlock(b))
	}
	return blocks
}

func readBlock(v []byte) Block {
	if jsontext.Kind(v) == '"' {
		return Block{Type: "text", Text: v, Raw: v}
	}
	b := Block{Raw: v}
	var inner []byte
	for name, value := range jsontext.Members(v) {
		switch {
		case jsontext.Is(name, "type"):
			b.Type = jsontext.Text(value)
		case jsontext.Is(name, "text") && jsontext.Kind(value) == '"':
			inner = value
		}
	}
	if b.Type == "text" {
		b.Text = inner
	}
	return b
}

// Render returns the result as text: text blocks, and a line for each block of another type,
// joined with a newline; then structuredContent, unless the blocks show it already. A single
// text block is returned as received.
func (r *Result) Render() Rendered {
	var out Rendered
	parts, media := r.parts()
	out.Media = media
	text, lone := join(parts), false
	if out.Bytes, lone = literalLength(text); lone {
		text = jsontext.Quoted(jsontext.Unquote(text))
	}
	if out.Bytes == 0 {
		text = jsontext.Quoted(noOutput)
		out.Bytes = len(noOutput)
	}
	out.JSON = text
	return out
}

// Separate makes Render return only the text of the blocks or, if they have none, only the
// structured content, for a reader that would take both for one text.
func (r *Result) Separate() {
	r.TextComplete = slices.ContainsFunc(r.Content, func(b Block) bool {
		s := b.Show()
		return s.IsText && len(s.Text) > 2
	})
	if !r.TextComplete && r.Structured != nil {
		r.Content = nil
	}
}

// blocksForModel leaves out the blocks that are only for the user, if others remain.
func (r *Result) blocksForModel() []Block {
	blocks := slices.DeleteFunc(slices.Clone(r.Content), func(b Block) bool {
		audience := jsontext.Strings(jsontext.Member(b.Raw, "annotations", "audience"))
		return len(audience) == 1 && audience[0] == "user"
	})
	if len(blocks) == 0 {
		return r.Content
	}
	return blocks
}

// parts are the parts of the text as string literals, without empty ones at the end, and the media.
func (r *Result) parts() (parts [][]byte, media []Media) {
	repeated := false
	for _, b := range r.blocksForModel() {
		s := b.Show()
		parts = append(parts, s.Text)
		if s.Media != nil {
			media = append(media, *s.Media)
		}
		repeated = repeated || r.Structured != nil && s.IsText && len(s.Text) > 2 && jsontext.SameAsText(r.Structured, s.Text)
	}
	for len(parts) > 0 && len(parts[len(parts)-1]) == 2 {
		parts = parts[:len(parts)-1]
	}
	if r.Structured != nil && !repeated && !r.TextComplete {
		if structured := r.structured(parts); structured != nil {
			parts = append(parts, jsontext.AppendQuoted(nil, structured))
		}
	}
	return parts, media
}

// literalLength is the length in bytes of the decoded literal. lone reports whether it has a
// lone surrogate.
func literalLength(literal []byte) (n int, lone bool) {
	s := literal[1 : len(literal)-1]
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return n + len(s), lone
		}
		r, length := jsontext.ReadEscape(s[i:])
		if utf16.IsSurrogate(r) {
			r, lone = utf8.RuneError, true
		}
		n += i + utf8.RuneLen(r)
		s = s[i+length:]
	}
}

// join joins the literals to one, with newlines between them. A single one is not changed.
func join(literals [][]byte) []byte {
	if len(literals) == 1 {
		return literals[0]
	}
	n := 2
	for _, l := range literals {
		n += len(l)
	}
	out := append(make([]byte, 0, n), '"')
	for i, l := range literals {
		if i > 0 {
			out = append(out, '\\', 'n')
		}
		out = append(out, l[1:len(l)-1]...)
	}
	return append(out, '"')
}

// Cut keeps at most max bytes of the text of a literal, which has size bytes: half of them at its head
// and half at its tail, between runes. A line between them says how many bytes are left out. name is
// the name by which a model can read them; "" for none.
func Cut(literal []byte, size, max int, name string) []byte {
	inner := literal[1 : len(literal)-1]
	head := jsontext.Unescape(inner[:len(inner)-len(skip(inner, max-max/2))])
	head = readable.WholeRunes(head[:min(len(head), max-max/2)])
	tail := readable.FromRune(jsontext.Unescape(skip(inner, size-max/2)))
	left := size - len(head) - len(tail)
	mark := fmt.Sprintf("[... %d bytes omitted ...]", left)
	if name != "" {
		mark = "[toolpipe] " + readable.Grouped(left) + " bytes left out here: result " + name
	}
	return jsontext.Quoted(fmt.Sprintf("%s\n%s\n%s", head, mark, tail))
}

// skip leaves out n bytes of the text of a literal, or some more if they end in an escape.
func skip(inner []byte, n int) []byte {
	for n > 0 {
		i := bytes.IndexByte(inner, '\\')
		if i < 0 || i >= n {
			return inner[n:]
		}
		r, length := jsontext.ReadEscape(inner[i:])
		n -= i + utf8.RuneLen(r)
		inner = inner[i+length:]
	}
	return inner
}
