package stream

import (
	"bytes"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// chunkShape is the fast path through a stream of small deltas. Most events of a stream are
// equal byte for byte, except for the text of the delta: a piece of the answer, or of the
// arguments of a call. The full decoder reads an event that adds only such a text to the reply.
// The bytes around the text are the shape. An event with the same bytes around its text adds
// nothing else either, so its text is taken from the buffer before the event is split into
// lines.
type chunkShape struct {
	off        bool   // for tests: the full decoder reads all events
	head, tail []byte // around the text in the lines of an event, with its quotes
	lines      *lineSplitter
	draft      *draft
	add        func(text []byte)
	join       bool // add may take several texts as one

	searched        int // bytes after the head of an unfinished event that hold no line feed
	joined, scratch []byte
}

// learn takes the shape of an event with the delta r. add then gets the texts of the next
// events, as long as they match the shape. It gets several texts as one if join allows it and
// nobody sees where a delta ends.
func (s *chunkShape) learn(ev Event, r gjson.Result, d *draft, join bool, add func([]byte)) {
	from, to := r.Index, r.Index+len(r.Raw)
	if s.off || from <= 0 || to >= len(ev.Data) || string(ev.Data[from:to]) != r.Raw || ev.Unfinished {
		return
	}
	s.head = s.head[:0]
	if ev.Name != "" {
		s.head = append(append(append(s.head, "event: "...), ev.Name...), '\n')
	}
	s.head = append(append(s.head, "data: "...), ev.Data[:from+1]...)
	s.tail = append(append(s.tail[:0], ev.Data[to-1:]...), "\n\n"...)
	s.lines, s.draft, s.add, s.join, s.searched = ev.lines, d, add, join && d.sink.Join, 0
	s.lines.take = s.take
}

// forget sends all events to the full decoder, until it learns a shape again.
func (s *chunkShape) forget() {
	if s.lines != nil {
		s.lines.take = nil
	}
}

// longDelta is the size from which a text is not worth joining.
const longDelta = 4 << 10

// take takes the complete events of the shape at the beginning of data, and returns their size.
// begun says that the rest may be the beginning of another one.
func (s *chunkShape) take(data []byte, again bool) (size int, begun bool, err error) {
	if !again {
		s.searched = 0
	}
	joined := s.joined[:0]
	for s.draft.err == nil {
		var text []byte
		var n int
		if text, n, begun = s.first(data[size:]); n == 0 {
			break
		}
		s.draft.followed++
		size += n
		if s.join && len(text) < longDelta {
			joined = appendPiece(joined, text)
			continue
		}
		if len(joined) > 0 {
			s.add(joined)
			joined = joined[:0]
		}
		s.add(text)
	}
	s.add(joined)
	s.joined = joined
	return size, begun, s.draft.err
}

// first returns the text of the event at the beginning of data, and the size of the event. The
// size is 0 if the event does not match the shape, or is incomplete; then begun says that it
// may match when the rest has come. The text is in WTF-8 and valid until the next call.
func (s *chunkShape) first(data []byte) (text []byte, size int, begun bool) {
	rest, ok := bytes.CutPrefix(data, s.head)
	if !ok {
		return nil, 0, bytes.HasPrefix(s.head, data)
	}
	if s.searched == 0 { // most events are complete and without escapes
		if n := jsontext.PlainLen(rest); bytes.HasPrefix(rest[n:], s.tail) {
			return rest[:n], len(s.head) + n + len(s.tail), false
		}
	}
	end := indexFrom(rest, s.searched, '\n')
	if bytes.IndexByte(rest[s.searched:end], '\r') >= 0 { // it ends the line too
		return nil, 0, false
	}
	if s.searched = end; len(rest)-end < len("\n\n") {
		return nil, 0, true
	}
	s.searched = 0
	rest = rest[:end+len("\n\n")]
	inner, ok := bytes.CutSuffix(rest, s.tail)
	if !ok {
		return nil, 0, false
	}
	meaning, ok := jsontext.AppendMeaning(s.scratch[:0], inner)
	if !ok { // the full decoder reports the error, or joins the surrogate with the next
		return nil, 0, false
	}
	s.scratch = meaning
	return meaning, len(s.head) + len(rest), false
}
