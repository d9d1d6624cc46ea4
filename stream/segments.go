package stream

import (
	"encoding/json"
	"strconv"
	"strings"

	"toolpipe/stream/text/jsontext"
)

// segments is a growing text that does not copy long parts: it keeps them by
// reference, and they must not change.
type segments struct {
	done []piece // what precedes cur
	size int     // the length of done
	cur  []byte  // what is being written

	full func([]byte) // takes what has been written of a long text; nil: it is kept
	sent byte         // the last byte that full got
}

// longText is the size from which a part is kept by reference.
const longText = 16 << 10

func (s *segments) str(text string)    { s.cur = append(s.cur, text...) }
func (s *segments) quoted(text string) { s.cur = jsontext.AppendQuoted(s.cur, text) }

// inner writes the inside of the literal of a text. A long one is quoted while it is sent.
func (s *segments) inner(text string) {
	switch {
	case len(text) < longText:
		s.cur = jsontext.AppendInner(s.cur, text)
		s.hand()
	case s.full == nil:
		s.add(piece{text: text, quoted: true})
	default:
		for chunk := range inChunks(text) {
			s.cur = jsontext.AppendInner(s.cur, chunk)
			s.hand()
		}
	}
}

// plain writes a text that needs no quotation, such as base64.
func (s *segments) plain(text string) {
	switch {
	case len(text) < longText:
		s.str(text)
		s.hand()
	case s.full == nil:
		s.add(piece{text: text})
	default:
		for chunk := range inChunks(text) {
			s.str(chunk)
			s.hand()
		}
	}
}

// hand gives full what has been written, if that is long.
func (s *segments) hand() {
	if s.full != nil && len(s.cur) > longText {
		s.sent = s.cur[len(s.cur)-1]
		s.full(s.cur)
		s.cur = s.cur[:0]
	}
}

// lines is text that put writes with line breaks between its parts.
type lines []Part

// put writes a form with values in place of its question marks: texts and an image's
// URL as literals, bytes as they are. A question mark behind another one is for a
// member that may be missing.
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

// formed returns what put writes.
func formed(form string, values ...any) []byte {
	s := &segments{}
	s.put(form, values...)
	return s.flat()
}

// item writes what separates an item or a member from the one before it.
func (s *segments) item() {
	if last := s.last(); last != 0 && last != '[' && last != '{' {
		s.str(",")
	}
}

// last returns the last byte of the text, 0 for none. Behind full it is the last of all.
func (s *segments) last() byte {
	switch {
	case s.len() == 0:
		return s.sent
	case len(s.cur) > 0:
		return s.cur[len(s.cur)-1]
	}
	return s.done[len(s.done)-1].last()
}

// raw adds b as it is.
func (s *segments) raw(b []byte) {
	if len(b) < longText {
		s.cur = append(s.cur, b...)
		s.hand()
		return
	}
	if s.full == nil {
		s.add(piece{bytes: b})
		return
	}
	for chunk := range inChunks(b) {
		s.cur = append(s.cur, chunk...)
		s.hand()
	}
}

// add adds a part by reference.
func (s *segments) add(p piece) {
	if len(s.cur) > 0 {
		s.done = append(s.done, piece{bytes: s.cur})
		s.size += len(s.cur)
		s.cur = nil
	}
	s.done = append(s.done, p)
	s.size += p.size()
}

// flat returns the whole text as one slice.
func (s *segments) flat() []byte {
	if len(s.done) == 0 {
		return s.cur
	}
	return joinBody(s).bytes()
}

func (s *segments) len() int { return s.size + len(s.cur) }
