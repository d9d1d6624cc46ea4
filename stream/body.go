package stream

import (
	"bytes"
	"io"
	"iter"
	"unsafe"

	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// piece is a part of a request. A text that needs quoting is quoted while it is sent, so that
// it is in memory only once.
type piece struct {
	text   string
	quoted bool // the inside of the text's literal is sent
}

func (p *piece) size() int {
	if p.quoted {
		return jsontext.InnerLen(p.text)
	}
	return len(p.text)
}

// stringOf returns data as a string, without a copy: data must not change any more.
func stringOf(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

// maxChunk is how many bytes of a long text are quoted or sent at a time.
const maxChunk = 32 << 10

// inChunks yields a text in chunks that never end inside a character.
func inChunks(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			n := len(text)
			if n > maxChunk {
				n = len(readable.WholeRunes(text[:maxChunk]))
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

type bodyReader struct {
	parts []piece // not begun
	now   piece   // begun; its text is not read yet
	out   []byte  // quoted, and not read yet
	buf   []byte
}

func (r *bodyReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		switch done := 0; {
		case len(r.out) > 0:
			done = copy(p[n:], r.out)
			r.out = r.out[done:]
			n += done
		case r.now.text == "" && len(r.parts) == 0:
			if n == 0 {
				err = io.EOF
			}
			return n, err
		case r.now.text == "":
			r.now, r.parts = r.parts[0], r.parts[1:]
		case r.now.quoted:
			for chunk := range inChunks(r.now.text) {
				r.buf = jsontext.AppendInner(r.buf[:0], chunk)
				r.out, r.now.text = r.buf, r.now.text[len(chunk):]
				break
			}
		default:
			done = copy(p[n:], r.now.text)
			r.now.text = r.now.text[done:]
			n += done
		}
	}
	return n, nil
}

// body is a request body: parts that are sent one after another.
type body struct {
	parts  []piece
	size   int64
	openAI bool // the form of the request is that for OpenAI
}

// joinBody makes a body of texts. It does not copy them, and does not change when they grow.
func joinBody(list ...*segments) *body {
	n := 0
	for _, s := range list {
		n += len(s.done) + 1
	}
	b := &body{parts: make([]piece, 0, n)}
	for _, s := range list {
		b.parts = append(b.parts, s.done...)
		if len(s.cur) > 0 {
			b.parts = append(b.parts, piece{text: stringOf(s.cur)})
		}
		b.size += int64(s.len())
	}
	return b
}

func (b *body) writeTo(w io.Writer) { io.Copy(w, &bodyReader{parts: b.parts}) }

// bytes joins the parts, for a recording.
func (b *body) bytes() []byte {
	all := make([]byte, b.size)
	io.ReadFull(&bodyReader{parts: b.parts}, all)
	return all
}

// smallBody is the size up to which a body is sent in one piece.
const smallBody = 128 << 10

// reader reads the body from its beginning. Each Read of a large body calls progress. net/http
// writes a bytes.Reader together with the header, in one system call. It writes any other
// reader after the header.
func (b *body) reader(progress func()) io.ReadCloser {
	if b.size <= smallBody {
		return io.NopCloser(bytes.NewReader(b.bytes()))
	}
	return io.NopCloser(io.TeeReader(&bodyReader{parts: b.parts}, progressWriter(progress)))
}

type progressWriter func()

func (w progressWriter) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}
