package stream

import (
	"bytes"
	"fmt"
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
	ID    string        // the last id the stream named, in this event or before it
	Data  []byte        // the data lines joined by LF; valid until the next iteration
	Retry time.Duration // what this event's retry field asks for; 0 when it has none

	// Unfinished marks an event without the blank line that ends it: the body
	// ended before. The last line of its data may be incomplete.
	Unfinished bool
}

// Events reads server-sent events from r until its end. A line, or the data of
// an event, of more than limit bytes ends the sequence with an *Error of kind
// TooLarge. An error of r ends it with that error, and an event that was not
// complete by then is not delivered.
//
// An event without data is delivered only if it has an id or a retry field: MCP
// servers send one so that a stream can be resumed. Events reads from r only
// when its buffer holds no whole line.
func Events(r io.Reader, limit int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := eventScanner{lines: lineScanner{r: r, limit: limit, buf: make([]byte, firstBuffer)}}
		for {
			ev, ok, err := s.next()
			if err != nil {
				yield(Event{}, err)
				return
			}
			if !ok || !yield(ev, nil) {
				return
			}
		}
	}
}

// eventScanner puts lines together to events.
type eventScanner struct {
	lines lineScanner
	name  string
	id    string
	known string // the last name, so that equal names need one allocation

	count  int    // data lines so far: a first line stays in the buffer,
	joined []byte // and joined holds all lines from the second one on
	retry  time.Duration
	hasID  bool
}

// next returns the next event; ok is false at the end of the stream.
func (s *eventScanner) next() (ev Event, ok bool, err error) {
	s.reset()
	for {
		line, err := s.lines.next()
		if err == io.EOF {
			ev = s.event()
			ev.Unfinished = true
			return ev, len(ev.Data) > 0, nil
		}
		if err != nil {
			return Event{}, false, err
		}
		if len(line) > 0 {
			if err := s.field(line); err != nil {
				return Event{}, false, err
			}
			continue
		}
		if ev = s.event(); len(ev.Data) > 0 || s.hasID || s.retry > 0 {
			return ev, true, nil
		}
		s.reset()
	}
}

func (s *eventScanner) reset() {
	s.name, s.count, s.retry, s.hasID = "", 0, 0, false
	s.lines.keepSize = 0
}

func (s *eventScanner) event() Event {
	ev := Event{Name: s.name, ID: s.id, Retry: s.retry}
	switch s.count {
	case 0:
	case 1:
		ev.Data = s.lines.buf[s.lines.keep:][:s.lines.keepSize]
	default:
		ev.Data = s.joined
	}
	return ev
}

// field takes a line that is not blank. A comment is a field without a name.
func (s *eventScanner) field(line []byte) error {
	if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		return s.data(value)
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = cutSpace(value)
	switch string(name) {
	case "data":
		return s.data(value)
	case "event":
		if string(value) != s.known {
			s.known = string(value)
		}
		s.name = s.known
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			s.id, s.hasID = string(value), true
		}
	case "retry":
		if n, err := strconv.ParseUint(string(value), 10, 40); err == nil {
			s.retry = time.Duration(n) * time.Millisecond
		}
	}
	return nil
}

func (s *eventScanner) data(value []byte) error {
	value = cutSpace(value)
	s.count++
	if s.count == 1 {
		s.lines.keep, s.lines.keepSize = s.lines.pos-s.lines.behind-len(value), len(value)
		return nil
	}
	if s.count == 2 {
		s.joined = append(s.joined[:0], s.lines.buf[s.lines.keep:][:s.lines.keepSize]...)
		s.lines.keepSize = 0
	}
	if len(s.joined)+1+len(value) > s.lines.limit {
		return tooLong(s.lines.limit)
	}
	s.joined = append(s.joined, '\n')
	s.joined = append(s.joined, value...)
	return nil
}

func cutSpace(value []byte) []byte {
	if len(value) > 0 && value[0] == ' ' {
		return value[1:]
	}
	return value
}

func tooLong(limit int) error {
	return &Error{Kind: TooLarge, Message: fmt.Sprintf("a line of the event stream is longer than %d bytes", limit)}
}

// The buffer grows to its usual size when a read has filled it, and beyond that
// only for a longer line.
const (
	firstBuffer = 8 << 10
	usualBuffer = 128 << 10
)

// lineScanner splits a text into lines that end in LF, CRLF or CR. It does not
// wait for the byte after a CR: a CR ends its line at once, and an LF that
// follows is dropped when it comes.
type lineScanner struct {
	r     io.Reader
	limit int
	buf   []byte
	pos   int // of the next line
	end   int // of what was read
	lf    int // buf[pos:lf] holds no LF
	cr    int // buf[pos:cr] holds no CR

	keep     int // buf[keep:keep+keepSize] is kept by later reads
	keepSize int

	behind  int   // bytes of the line end between the last line and pos
	skipLF  bool  // the last line ended in a CR, which was the last byte read
	started bool  // a byte order mark was dropped, or there is none
	filled  bool  // the last read filled the buffer
	err     error // of the last read
}

// next returns the next line without its end. It is valid until the next call,
// or longer if it is kept. At the end of r, text without a line end is a line
// too; then comes io.EOF.
func (s *lineScanner) next() ([]byte, error) {
	for {
		i := s.lineEnd()
		if i-s.pos > s.limit {
			return nil, tooLong(s.limit)
		}
		if i < s.end {
			return s.take(i), nil
		}
		switch {
		case s.err == nil:
			s.fill()
		case s.err == io.EOF && s.pos < s.end:
			line := s.buf[s.pos:s.end]
			s.pos, s.behind = s.end, 0
			return line, nil
		default:
			return nil, s.err
		}
	}
}

// take returns the line that ends at offset i, and goes on behind its end.
func (s *lineScanner) take(i int) []byte {
	line := s.buf[s.pos:i]
	s.behind = 1
	if s.buf[i] == '\r' {
		switch {
		case i+1 == s.end:
			s.skipLF = true
		case s.buf[i+1] == '\n':
			s.behind = 2
		}
	}
	s.pos = i + s.behind
	return line
}

// lineEnd returns the offset of the first line end at or after pos, or end.
func (s *lineScanner) lineEnd() int {
	s.lf = indexFrom(s.buf[:s.end], max(s.lf, s.pos), '\n')
	s.cr = indexFrom(s.buf[:s.lf], max(s.cr, s.pos), '\r')
	return min(s.lf, s.cr)
}

// indexFrom returns the offset of the first c in b at or after from, len(b) for
// none.
func indexFrom(b []byte, from int, c byte) int {
	if from >= len(b) {
		return len(b)
	}
	if i := bytes.IndexByte(b[from:], c); i >= 0 {
		return from + i
	}
	return len(b)
}

// fill makes room and reads once. To make room it moves what is kept to the
// front, and what is not returned behind it; while half of buf is free, both stay
// in their place.
func (s *lineScanner) fill() {
	if s.pos > s.keepSize && (s.pos == s.end || len(s.buf)-s.end < len(s.buf)/2) {
		copy(s.buf, s.buf[s.keep:][:s.keepSize])
		copy(s.buf[s.keepSize:], s.buf[s.pos:s.end])
		shift := s.pos - s.keepSize
		s.keep, s.pos, s.end = 0, s.keepSize, s.end-shift
		s.lf, s.cr = s.lf-shift, s.cr-shift
	}
	if s.end == len(s.buf) || (s.filled && len(s.buf) < usualBuffer) {
		s.grow()
	}
	n := 0
	for tries := 0; n == 0 && s.err == nil; tries++ {
		if n, s.err = s.r.Read(s.buf[s.end:]); tries == 100 && n == 0 && s.err == nil {
			s.err = io.ErrNoProgress
		}
	}
	s.end += n
	s.filled = s.end == len(s.buf)
	s.trim()
}

// grow doubles the buffer, up to the room for the longest line: without this cap,
// refusing a line would need twice the limit.
func (s *lineScanner) grow() {
	most := max(s.keepSize+s.limit, len(s.buf)) + usualBuffer
	grown := make([]byte, min(max(2*len(s.buf), usualBuffer), most))
	copy(grown, s.buf[:s.end])
	s.buf = grown
}

// trim drops a byte order mark at the beginning, and the LF of a CRLF that two
// reads split.
func (s *lineScanner) trim() {
	if s.skipLF && s.pos < s.end {
		if s.buf[s.pos] == '\n' {
			s.pos++
		}
		s.skipLF = false
	}
	if s.started {
		return
	}
	const bom = "\xef\xbb\xbf"
	switch head := string(s.buf[:min(s.end, len(bom))]); {
	case head == bom:
		s.pos, s.started = len(bom), true
	case !strings.HasPrefix(bom, head):
		s.started = true
	}
}
