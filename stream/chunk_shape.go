package stream

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"toolpipe/stream/jsontext"
)

// chunkShape is the fast way through a stream of small deltas. The chunks of one
// stream are mostly equal byte for byte, except for the text of the delta. A
// shape is the bytes around the text of a chunk that the full decoder has just
// read, and that held one delta of text and nothing else. A chunk with the same
// bytes around its text holds nothing else either, so the fast way gives the
// same result.
type chunkShape struct {
	off           bool // for tests: all chunks go to the full decoder
	name          string
	before, after []byte // around the text of the delta, with its quotes
	scratch       []byte
}

// learn takes the shape of an event whose delta is r.
func (s *chunkShape) learn(ev Event, r gjson.Result) {
	from, to := r.Index, r.Index+len(r.Raw)
	if from <= 0 || to >= len(ev.Data) || string(ev.Data[from:to]) != r.Raw || ev.Unfinished {
		return
	}
	s.name = ev.Name
	s.before = append(s.before[:0], ev.Data[:from+1]...)
	s.after = append(s.after[:0], ev.Data[to-1:]...)
}

func (s *chunkShape) forget() { s.before = s.before[:0] }

// match returns the text of the delta if the event has the shape. It is valid
// until the next call.
func (s *chunkShape) match(ev Event) (text []byte, ok bool) {
	rest, ok := bytes.CutPrefix(ev.Data, s.before)
	if !ok || len(s.before) == 0 || ev.Name != s.name || s.off {
		return nil, false
	}
	text, n, ok := s.literal(rest)
	if !ok || !bytes.Equal(rest[n:], s.after) {
		return nil, false
	}
	return text, true
}

// literal returns what a literal means, and its length without the quotes; inner
// is the text behind its first quote. It is not ok when the literal is broken or
// holds a lone surrogate.
func (s *chunkShape) literal(inner []byte) (text []byte, n int, ok bool) {
	n = jsontext.PlainLen(inner)
	if n < len(inner) && inner[n] == '"' {
		return inner[:n], n, true
	}
	text = append(s.scratch[:0], inner[:n]...)
	for n < len(inner) && inner[n] == '\\' {
		r, size := jsontext.ReadEscape(inner[n:])
		if size == 0 || utf16.IsSurrogate(r) {
			return nil, 0, false
		}
		n += size
		more := jsontext.PlainLen(inner[n:])
		text = append(utf8.AppendRune(text, r), inner[n:n+more]...)
		n += more
	}
	s.scratch = text
	return text, n, n < len(inner) && inner[n] == '"'
}
