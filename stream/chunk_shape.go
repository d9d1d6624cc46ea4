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

	lines      *lineSplitter // whose events follow takes
	head, tail []byte        // around the text in the lines of an event
	plain      int           // bytes of the text of an unfinished event that stand for themselves
	draft      *draft
	add        func([]byte) error
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

func (s *chunkShape) forget() {
	s.before, s.head = s.before[:0], s.head[:0]
	if s.lines != nil {
		s.lines.follow = nil
	}
}

// follow gives add the texts of the events behind ev, which has the shape, as long
// as their lines have it too: equal lines are an equal event, so that nothing but
// their text is looked at.
func (s *chunkShape) follow(ev Event, d *draft, add func([]byte) error) {
	if ev.lines == nil {
		return
	}
	if ev.Name != "" {
		s.head = append(append(append(s.head, "event: "...), ev.Name...), '\n')
	}
	s.head = append(append(s.head, "data: "...), s.before...)
	s.tail = append(append(s.tail[:0], s.after...), "\n\n"...)
	s.lines, s.draft, s.add, s.plain = ev.lines, d, add, 0
	s.lines.follow = s
}

func (s *chunkShape) follows() bool { return len(s.head) > 0 }

// longDelta is the size from which a text is not worth joining.
const longDelta = 4 << 10

// take takes the whole events of the shape that data begins with, and returns their
// size.
func (s *chunkShape) take(data []byte) (size int, err error) {
	joined := s.scratch[:0]
	for err == nil {
		rest, ok := bytes.CutPrefix(data[size:], s.head)
		if !ok {
			s.plain = 0
			break
		}
		n := s.plain + jsontext.PlainLen(rest[s.plain:])
		if s.plain = n; !bytes.HasPrefix(rest[n:], s.tail) {
			break
		}
		s.plain = 0
		s.draft.followed++
		size += len(s.head) + n + len(s.tail)
		if s.draft.sink.Join && n < longDelta {
			joined = append(joined, rest[:n]...)
			continue
		}
		if len(joined) > 0 {
			err = s.add(joined)
			joined = joined[:0]
		}
		if err == nil {
			err = s.add(rest[:n])
		}
	}
	if s.scratch = joined; err == nil && len(joined) > 0 {
		err = s.add(joined)
	}
	return size, err
}

// match returns the text of the delta if the event has the shape. It is valid
// until the next call. A literal with a lone surrogate does not match: the
// decoder has to join it.
func (s *chunkShape) match(ev Event) (text []byte, ok bool) {
	if s.off || len(s.before) == 0 || ev.Name != s.name || len(ev.Data) < len(s.before)+len(s.after) ||
		!bytes.HasPrefix(ev.Data, s.before) || !bytes.HasSuffix(ev.Data, s.after) {
		return nil, false
	}
	inner := ev.Data[len(s.before) : len(ev.Data)-len(s.after)]
	n := jsontext.PlainLen(inner)
	if n == len(inner) {
		return inner, true
	}
	text = append(s.scratch[:0], inner[:n]...)
	for inner = inner[n:]; len(inner) > 0; inner = inner[n:] {
		r, size := jsontext.ReadEscape(inner)
		if inner[0] != '\\' || size == 0 || utf16.IsSurrogate(r) {
			return nil, false
		}
		inner = inner[size:]
		n = jsontext.PlainLen(inner)
		text = append(utf8.AppendRune(text, r), inner[:n]...)
	}
	s.scratch = text
	return text, true
}
