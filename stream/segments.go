package stream

import (
	"io"
	"strconv"

	"toolpipe/stream/jsontext"
)

// segments is a growing text whose long parts are not copied: they are kept
// by reference and must not change.
type segments struct {
	done [][]byte
	cur  []byte
	size int // of done
}

// longText is the size from which a part is kept by reference.
const longText = 16 << 10

func (s *segments) str(text string)    { s.cur = append(s.cur, text...) }
func (s *segments) int(n int)          { s.cur = strconv.AppendInt(s.cur, int64(n), 10) }
func (s *segments) quoted(text string) { s.cur = jsontext.AppendQuoted(s.cur, text) }
func (s *segments) inner(text string)  { s.cur = jsontext.AppendInner(s.cur, text) }

func (s *segments) quotedBytes(text []byte) { s.cur = jsontext.AppendQuoted(s.cur, text) }

// listItem begins the item of a list.
func (s *segments) listItem(i int) {
	if i == 0 {
		s.str("[")
	} else {
		s.str(",")
	}
}

// raw adds b as it is.
func (s *segments) raw(b []byte) {
	if len(b) < longText {
		s.cur = append(s.cur, b...)
		return
	}
	s.seal()
	s.add(b)
}

func (s *segments) rawString(b string) {
	if len(b) < longText {
		s.cur = append(s.cur, b...)
		return
	}
	s.raw([]byte(b))
}

func (s *segments) seal() {
	if len(s.cur) > 0 {
		s.add(s.cur)
		s.cur = nil
	}
}

func (s *segments) add(b []byte) {
	s.done = append(s.done, b)
	s.size += len(b)
}

// flat returns all of it as one slice.
func (s *segments) flat() []byte {
	if len(s.done) == 0 {
		return s.cur
	}
	return joinBody(s).bytes()
}

func (s *segments) len() int { return s.size + len(s.cur) }

// appendTo appends what s holds to list, the parts not copied. They stay
// valid when s grows.
func (s *segments) appendTo(list [][]byte) [][]byte {
	list = append(list, s.done...)
	if len(s.cur) > 0 {
		list = append(list, s.cur)
	}
	return list
}

// body is a request body: parts that are sent one after another.
type body struct {
	parts [][]byte
	size  int64
}

func joinBody(list ...*segments) *body {
	b := &body{}
	for _, s := range list {
		b.parts = s.appendTo(b.parts)
		b.size += int64(s.len())
	}
	return b
}

// bytes joins the parts; only a recording or a wire log needs them so.
func (b *body) bytes() []byte {
	joined := make([]byte, 0, b.size)
	for _, part := range b.parts {
		joined = append(joined, part...)
	}
	return joined
}

// reader reads the body from its beginning. Each Read calls progress.
func (b *body) reader(progress func()) io.ReadCloser {
	return &bodyReader{parts: b.parts, progress: progress}
}

type bodyReader struct {
	parts    [][]byte
	offset   int // within parts[0]
	progress func()
}

func (r *bodyReader) Read(p []byte) (n int, err error) {
	r.progress()
	for n < len(p) && len(r.parts) > 0 {
		k := copy(p[n:], r.parts[0][r.offset:])
		n += k
		if r.offset += k; r.offset == len(r.parts[0]) {
			r.parts, r.offset = r.parts[1:], 0
		}
	}
	if n == 0 && len(r.parts) == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *bodyReader) Close() error { return nil }
