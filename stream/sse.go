package stream

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
)

// MaxEvent is the cap on a line or an event of a model or a tool server, in bytes.
const MaxEvent = 64 << 20

// Event is one server-sent event (WHATWG HTML Living Standard, section 9.2).
type Event struct {
	Name  string        // of the event field; "" when there was none
	ID    string        // the last id in the stream, in this event or before it
	Data  []byte        // the data lines joined by LF; valid until the next iteration
	Retry time.Duration // the value of this event's retry field; 0 for none

	// Unfinished marks an event without the blank line that ends it: the body
	// ended before. The last line of its data may be incomplete.
	Unfinished bool

	lines *lineSplitter // the splitter of the stream that the event is from
}

// Events reads server-sent events from r until its end. A line, or the data of an event, of
// more than limit bytes ends the sequence with an *Error of kind TooLarge. An error of r ends
// it with that error, and an event that is then incomplete is not delivered.
//
// An event without data is delivered only if it has an id or a retry field: MCP servers send
// one so that a stream can be resumed. Events reads from r only when its buffer holds no
// complete line.
func Events(r io.Reader, limit int) iter.Seq2[Event, error] {
	return eventsThrough(make([]byte, firstBuffer), r, limit)
}

// firstBuffer is the size of the buffer of Events until a line is longer.
const firstBuffer = 32 << 10

// eventsThrough is Events with a buffer of the caller. Nobody else may use it until the
// sequence has ended. Each read may fill the buffer.
func eventsThrough(buffer []byte, r io.Reader, limit int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		split := lineSplitter{limit: limit}
		lines := bufio.NewScanner(r)
		lines.Buffer(buffer, limit+lineEndSize)
		lines.Split(split.next)
		e := eventReader{limit: limit, Event: Event{lines: &split}}
		for lines.Scan() {
			if line := lines.Bytes(); len(line) > 0 {
				if err := e.field(line); err != nil {
					yield(Event{}, err)
					return
				}
				continue
			}
			if (len(e.Data) > 0 || e.hasID || e.Retry > 0) && !yield(e.Event, nil) {
				return
			}
			e.Name, e.Data, e.Retry, e.hasData, e.hasID = "", e.Data[:0], 0, false, false // the last id stays
		}
		if err := lines.Err(); err != nil {
			yield(Event{}, err)
		} else if e.Unfinished = true; len(e.Data) > 0 {
			yield(e.Event, nil)
		}
	}
}

// eventReader puts the lines of one event together.
type eventReader struct {
	Event
	limit   int
	known   string // the last name, so that equal names need one allocation
	hasData bool   // a data line came, which may be empty
	hasID   bool
}

// field takes a line that is not blank. A comment is a field without a name.
func (e *eventReader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if e.hasData {
			e.Data = append(e.Data, '\n')
		}
		if len(e.Data)+len(value) > e.limit {
			return tooLong(e.limit)
		}
		e.Data, e.hasData = append(e.Data, value...), true
	case "event":
		if string(value) != e.known {
			e.known = string(value)
		}
		e.Name = e.known
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.ID, e.hasID = string(value), true
		}
	case "retry":
		if n, err := strconv.ParseUint(string(value), 10, 40); err == nil {
			e.Retry = time.Duration(n) * time.Millisecond
		}
	}
	return nil
}

func tooLong(limit int) error {
	return tooMuch("a line of the event stream is longer than %d bytes", limit)
}

// lineSplitter splits a text into lines that end in LF, CRLF or CR, for a bufio.Scanner. It does
// not wait for the byte after a CR: a CR ends its line at once, and an LF that follows is
// dropped when it comes. A byte order mark at the beginning is dropped.
type lineSplitter struct {
	limit  int
	begun  bool // a line was returned
	skipLF bool // the last line ended in a CR, which was the last byte read
	within bool // the last line was not blank

	// take, if it is set, gets data that begins with an event before it is split into lines. It
	// returns the size of the complete events that it took. begun says that the rest may be the
	// beginning of another event. again says that the data begins with the rest of the last
	// call.
	take   func(data []byte, again bool) (size int, begun bool, err error)
	again  bool
	lf, cr int // data[:lf] holds no LF, and data[:cr] no CR: no byte is searched twice
}

const (
	byteOrderMark = "\xef\xbb\xbf"
	lineEndSize   = len(byteOrderMark) + len("\n\r\n") // the most bytes around a line
)

func (s *lineSplitter) next(data []byte, atEOF bool) (advance int, line []byte, err error) {
	taken := 0
	if s.take != nil && !s.within {
		var begun bool
		taken, begun, err = s.take(data, s.again)
		s.again = true
		s.lf, s.cr = s.lf-taken, s.cr-taken
		if err != nil || begun && !atEOF && len(data)-taken <= s.limit {
			return taken, nil, err
		}
	}
	advance, line, err = s.line(data[taken:], atEOF)
	return taken + advance, line, err
}

func (s *lineSplitter) line(data []byte, atEOF bool) (advance int, line []byte, err error) {
	from := 0
	if !s.begun {
		if len(data) < len(byteOrderMark) && !atEOF && strings.HasPrefix(byteOrderMark, string(data)) {
			return 0, nil, nil
		}
		if bytes.HasPrefix(data, []byte(byteOrderMark)) {
			from = len(byteOrderMark)
		}
	}
	if s.skipLF && len(data) > 0 && data[0] == '\n' {
		from = 1
	}
	s.lf = indexFrom(data, max(s.lf, from), '\n')
	s.cr = indexFrom(data[:s.lf], max(s.cr, from), '\r')
	end := s.cr
	switch {
	case end-from > s.limit:
		return 0, nil, tooLong(s.limit)
	case end == len(data) && (!atEOF || from == end):
		return 0, nil, nil
	}
	s.begun, s.within, s.again = true, end > from, false
	s.skipLF = end+1 == len(data) && data[end] == '\r'
	advance = min(end+1, len(data))
	if advance < len(data) && data[end] == '\r' && data[advance] == '\n' {
		advance++
	}
	s.lf, s.cr = s.lf-advance, s.cr-advance
	return advance, data[from:end], nil
}

// indexFrom returns the offset of the first c in b at or after from, len(b) for none.
func indexFrom(b []byte, from int, c byte) int {
	if from >= len(b) {
		return len(b)
	}
	if i := bytes.IndexByte(b[from:], c); i >= 0 {
		return from + i
	}
	return len(b)
}
