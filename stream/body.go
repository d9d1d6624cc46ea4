package stream

import (
	"bytes"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
)

// piece is a part of a request: bytes, or a text that is written while it is sent, so that
// it is in memory once.
type piece struct {
	bytes  []byte
	text   string // in place of bytes
	quoted bool   // what is sent is the inside of the text's literal
}

// size is how many bytes are sent.
func (p *piece) size() int {
	if p.quoted {
		return jsontext.InnerLen(p.text)
	}
	return len(p.bytes) + len(p.text)
}

// last is the last byte that is sent. That of a text means nothing: a quotation mark follows it.
func (p *piece) last() byte {
	if p.bytes == nil {
		return '"'
	}
	return p.bytes[len(p.bytes)-1]
}

// maxChunk is how much of a long text is in memory in another form at once, in bytes.
const maxChunk = 32 << 10

// inChunks gives a text in chunks, none of which ends inside a character.
func inChunks[T string | []byte](text T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for len(text) > 0 {
			n := len(text)
			if n > maxChunk {
				for n = maxChunk; n > maxChunk-utf8.UTFMax && !utf8.RuneStart(text[n]); n-- {
				}
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// writeTo gives w what is sent.
func (p *piece) writeTo(w io.Writer) {
	if p.bytes != nil {
		w.Write(p.bytes)
		return
	}
	io.Copy(w, p.reader())
}

// reader reads what is sent.
func (p *piece) reader() io.Reader {
	switch {
	case p.bytes != nil:
		return bytes.NewReader(p.bytes)
	case p.quoted:
		return &quotingReader{text: p.text}
	}
	return strings.NewReader(p.text)
}

// quotingReader reads the inside of the literal of a text.
type quotingReader struct {
	text string // that is not quoted yet
	out  []byte // that is not read yet
	buf  []byte
}

func (q *quotingReader) Read(p []byte) (int, error) {
	for len(q.out) == 0 {
		if q.text == "" {
			return 0, io.EOF
		}
		for chunk := range inChunks(q.text) {
			q.buf = jsontext.AppendInner(q.buf[:0], chunk)
			q.out, q.text = q.buf, q.text[len(chunk):]
			break
		}
	}
	n := copy(p, q.out)
	q.out = q.out[n:]
	return n, nil
}

// body is a request body: parts that are sent one after another.
type body struct {
	parts []piece
	size  int64
}

// joinBody makes a body of texts. It does not copy them, and stays as it is
// when they grow.
func joinBody(list ...*segments) *body {
	b := &body{}
	for _, s := range list {
		b.parts = append(b.parts, s.done...)
		if len(s.cur) > 0 {
			b.parts = append(b.parts, piece{bytes: s.cur})
		}
		b.size += int64(s.len())
	}
	return b
}

// writeTo gives w the body.
func (b *body) writeTo(w io.Writer) {
	for i := range b.parts {
		b.parts[i].writeTo(w)
	}
}

// bytes joins the parts, for a recording.
func (b *body) bytes() []byte {
	var all bytes.Buffer
	all.Grow(int(b.size))
	b.writeTo(&all)
	return all.Bytes()
}

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
	for i := range b.parts {
		readers[i] = b.parts[i].reader()
	}
	return io.NopCloser(io.TeeReader(io.MultiReader(readers...), progressWriter(progress)))
}

// progressWriter is called when something was read.
type progressWriter func()

func (w progressWriter) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}
