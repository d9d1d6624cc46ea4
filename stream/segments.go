package stream

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"toolpipe/stream/text/jsontext"
)

// segments is a growing text that is never moved. Long parts are kept by reference, and must
// not change; the others are in blocks.
type segments struct {
	done []piece // the text before cur
	size int     // the length of done
	cur  []byte  // the text that is being written

	full func([]byte) // takes the written part of a long text; nil: the text is kept
	sent byte         // the last byte that full got
}

const (
	longPart  = 512      // bytes from which a part is kept by reference
	longText  = 16 << 10 // the same for a text, which is quoted again each time that it is sent
	blockSize = 4 << 10  // about how many bytes are together in memory
	leastRoom = 128      // bytes at the end of a block that are worth writing to
)

func (s *segments) str(text string)    { s.cur = append(s.cur, text...) }
func (s *segments) quoted(text string) { s.cur = jsontext.AppendQuoted(s.cur, text) }

// inner writes the inside of the literal of a text. A long one is quoted while it is sent.
func (s *segments) inner(text string) { s.write(piece{text: text, quoted: true}, longText) }

// plain writes a text that needs no quotation, such as base64.
func (s *segments) plain(text string) { s.write(piece{text: text}, longText) }

func (s *segments) raw(b []byte) { s.write(piece{text: stringOf(b)}, longPart) }

// write adds a part. From the length long it is kept by reference, unless full takes it.
func (s *segments) write(p piece, long int) {
	if s.full == nil && len(p.text) >= long {
		s.add(p)
		return
	}
	for chunk := range inChunks(p.text) {
		if p.quoted {
			s.cur = jsontext.AppendInner(s.cur, chunk)
		} else {
			s.str(chunk)
		}
		s.hand()
	}
}

// hand passes the written text to full, if it is long, or ends a block.
func (s *segments) hand() {
	switch n := len(s.cur); {
	case s.full == nil && n >= blockSize:
		s.cut()
	case s.full != nil && n > longText:
		s.sent = s.cur[n-1]
		s.full(s.cur)
		s.cur = s.cur[:0]
	}
}

// cut makes a piece of the written text. Later text goes into the room after it.
func (s *segments) cut() {
	if len(s.cur) > 0 {
		s.done = append(s.done, piece{text: stringOf(s.cur)})
		s.size += len(s.cur)
	}
	if s.cur = s.cur[len(s.cur):]; cap(s.cur) < leastRoom {
		s.cur = make([]byte, 0, blockSize)
	}
}

// lines is text that put writes with line breaks between its parts.
type lines []Part

// put writes a form with values in place of its question marks: texts and an image's URL as
// literals, bytes as they are. A question mark after another one is for a member that may be
// missing.
func (s *segments) put(form string, values ...any) {
	for _, value := range values {
		before, rest, _ := strings.Cut(form, "?")
		s.str(before)
		form = rest
		switch v := value.(type) {
		case string:
			s.quoted(v)
		case []Part:
			joinedText(s, v, "")
		case lines:
			joinedText(s, v, "\n")
		case *Image:
			imageURL(s, v)
		case int:
			s.cur = strconv.AppendInt(s.cur, int64(v), 10)
		case json.RawMessage:
			s.raw(v)
		default:
			s.raw(value.([]byte))
		}
	}
	s.str(form)
}

// formed returns the output of put.
func formed(form string, values ...any) []byte {
	s := &segments{}
	s.put(form, values...)
	return s.flat()
}

// item writes the separator between an item or a member and the one before it.
func (s *segments) item() {
	if last := s.last(); last != 0 && last != '[' && last != '{' {
		s.str(",")
	}
}

// last returns the last byte of the text, 0 for none. With full it is the last byte of all
// pieces.
func (s *segments) last() byte {
	switch {
	case s.len() == 0:
		return s.sent
	case len(s.cur) > 0:
		return s.cur[len(s.cur)-1]
	}
	last := s.done[len(s.done)-1].text
	return last[len(last)-1]
}

func (s *segments) add(p piece) {
	s.cut()
	s.done = append(s.done, p)
	s.size += p.size()
}

// reserve makes room for n pieces. A list that grows by itself is in memory several times.
func (s *segments) reserve(n int) {
	if n > cap(s.done)-len(s.done) && n > len(s.done)/4 {
		s.done = slices.Grow(s.done, n)
	}
}

func (s *segments) flat() []byte {
	if len(s.done) == 0 {
		return s.cur
	}
	return joinBody(s).bytes()
}

func (s *segments) len() int { return s.size + len(s.cur) }
