package stream

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"toolpipe/stream/text/jsontext"
)

// segments is a growing text that does not copy long parts: it keeps them by
// reference, and they must not change.
type segments struct {
	done [][]byte // what precedes cur
	size int      // the length of done
	cur  []byte   // what is being written

	full func([]byte) // takes what has been written of a long text; nil: it is kept
	sent byte         // the last byte that full got
}

// longText is the size from which a part is kept by reference.
const longText = 16 << 10

func (s *segments) str(text string)    { s.cur = append(s.cur, text...) }
func (s *segments) quoted(text string) { s.cur = jsontext.AppendQuoted(s.cur, text) }
func (s *segments) inner(text string)  { s.cur = jsontext.AppendInner(s.cur, text) }

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
	part := s.done[len(s.done)-1]
	return part[len(part)-1]
}

// raw adds b as it is.
func (s *segments) raw(b []byte) {
	if len(b) < longText || s.full != nil {
		s.cur = append(s.cur, b...)
		s.hand()
		return
	}
	if len(s.cur) > 0 {
		s.add(s.cur)
		s.cur = nil
	}
	s.add(b)
}

func (s *segments) add(b []byte) {
	s.done = append(s.done, b)
	s.size += len(b)
}

// flat returns the whole text as one slice.
func (s *segments) flat() []byte {
	if len(s.done) == 0 {
		return s.cur
	}
	return joinBody(s).bytes()
}

func (s *segments) len() int { return s.size + len(s.cur) }

// body is a request body: parts that are sent one after another.
type body struct {
	parts [][]byte
	size  int64
}

// joinBody makes a body of texts. It does not copy them, and stays as it is
// when they grow.
func joinBody(list ...*segments) *body {
	b := &body{}
	for _, s := range list {
		b.parts = append(b.parts, s.done...)
		if len(s.cur) > 0 {
			b.parts = append(b.parts, s.cur)
		}
		b.size += int64(s.len())
	}
	return b
}

// bytes joins the parts, for a recording.
func (b *body) bytes() []byte { return bytes.Join(b.parts, nil) }

// smallBody is the size up to which a body is sent in one piece.
const smallBody = 128 << 10

// reader reads the body from its beginning. Each Read of a large body calls
// progress. net/http writes a bytes.Reader together with the header, in one system
// call, and any other reader apart from it and part by part.
func (b *body) reader(progress func()) io.ReadCloser {
	if b.size <= smallBody {
		return io.NopCloser(bytes.NewReader(b.bytes()))
	}
	readers := make([]io.Reader, len(b.parts))
	for i, part := range b.parts {
		readers[i] = bytes.NewReader(part)
	}
	return io.NopCloser(io.TeeReader(io.MultiReader(readers...), progressWriter(progress)))
}

// progressWriter is called when something was read.
type progressWriter func()

func (w progressWriter) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}
