package stream

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// read reads the body of a successful answer into the draft. The first bytes
// decide what kind of body it is, because servers send wrong headers.
func (x *exchange) read(res *http.Response) error {
	if enc := strings.ToLower(res.Header.Get("Content-Encoding")); enc != "" && enc != "identity" && enc != "gzip" {
		return notAReply("its Content-Encoding is " + quoteShort(enc) + ", which nobody asked for")
	}
	in := &input{r: &watchedReader{r: res.Body, x: x}}
	if err := in.peek(); err != nil {
		return x.broken(err)
	}
	if in.is("\x1f\x8b") {
		z, err := gzip.NewReader(in)
		if err != nil {
			return notAReply("it is broken gzip")
		}
		in = &input{r: &cappedReader{r: z, left: maxResponse}}
		if err := in.peek(); err != nil {
			return x.broken(err)
		}
	}
	body, done := x.client.tee(res, in)
	dec := x.client.dialect.decoder(x.draft)
	var err error
	switch in.first() {
	case 0:
		err = notAReply("its body is empty")
	case '<':
		e := notAReply("it is HTML (" + contentType(res) + "): " + x.shown(in.sample()))
		e.Hint = x.hint(404, "")
		err = e
	case '{', '[':
		err = x.readJSON(body, dec)
	default:
		err = x.readEvents(body, dec, in.sample())
	}
	done(err)
	return err
}

func contentType(res *http.Response) string {
	if t := res.Header.Get("Content-Type"); t != "" {
		return clean(t, 80)
	}
	return "without a Content-Type"
}

// readEvents decodes a stream of events up to the end marker or its end.
func (x *exchange) readEvents(in io.Reader, dec decoder, sample []byte) error {
	any := false
	for ev, err := range Events(in, MaxEvent) {
		if err != nil {
			return x.broken(err)
		}
		if len(ev.Data) == 0 {
			continue
		}
		any = true
		x.idle.useful()
		if err := dec.event(ev); err == errEnd {
			break
		} else if err != nil {
			return x.complete(err)
		}
	}
	if !any {
		return notAReply("its body holds no event: " + x.shown(sample))
	}
	return x.complete(dec.finish())
}

// parseEvent returns the JSON of an event. The error is errEnd for the end marker
// that all dialects may send.
func parseEvent(ev Event) (gjson.Result, error) {
	switch {
	case string(bytes.TrimSpace(ev.Data)) == "[DONE]":
		return gjson.Result{}, errEnd
	case !valid(ev.Data):
		return gjson.Result{}, badEvent(ev)
	}
	return gjson.ParseBytes(ev.Data), nil
}

// readJSON decodes one JSON value, which some endpoints send in place of a
// stream, or before its other events.
func (x *exchange) readJSON(in io.Reader, dec decoder) error {
	whole, err := io.ReadAll(io.LimitReader(in, MaxEvent+1))
	switch {
	case err != nil:
		return x.broken(err)
	case len(whole) > MaxEvent:
		return x.broken(tooLong(MaxEvent))
	}
	n := valueLen(whole)
	value := whole[:n]
	err = dec.event(Event{Data: value, Unfinished: true})
	for ev := range Events(bytes.NewReader(whole[n:]), MaxEvent) {
		if err != nil {
			break
		}
		if len(ev.Data) > 0 {
			err = dec.event(ev)
		}
	}
	if err == nil || err == errEnd {
		err = dec.finish()
		if e, ok := errors.AsType[*Error](err); ok && e.Kind == Cut {
			err = notAReply("it is other JSON: " + x.shown(value[:min(len(value), maxShown*2)]))
		}
	}
	return x.complete(err)
}

// valueLen returns the length of the JSON value that b begins with, all of b
// if it does not end.
func valueLen(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}

// complete adds to the error of a decoder what the exchange knows of it.
func (x *exchange) complete(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	if e.Kind == Refused {
		x.retry = !x.draft.began && (e.Status < 400 || e.Status >= 500)
		e.Hint = x.hint(e.Status, e.Message)
	}
	return e
}

// input is a body whose beginning can be seen before it is read.
type input struct {
	r    io.Reader
	head []byte // the beginning, until it is read
	err  error  // of r, behind head
}

const maxHead = 4 << 10

// peek fills head until it holds a character that is not white space. Blank
// lines, which may keep a connection alive for long, are dropped.
func (in *input) peek() error {
	buf := make([]byte, maxHead)
	for c := in.content(); in.err == nil && (len(c) == 0 || (len(c) == 1 && c[0] == 0x1f)); c = in.content() {
		n, err := in.r.Read(buf)
		in.head, in.err = append(in.head, buf[:n]...), err
		if len(in.content()) == 0 && len(in.head) > maxHead {
			in.head = in.head[:0]
		}
	}
	if in.err != nil && in.err != io.EOF {
		return in.err
	}
	return nil
}

// content is the head without white space and byte order mark before it.
func (in *input) content() []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(in.head, []byte("\xef\xbb\xbf")), " \t\r\n")
}

func (in *input) is(magic string) bool { return strings.HasPrefix(string(in.content()), magic) }

// first returns the first byte that is not blank, 0 if there is none.
func (in *input) first() byte {
	if c := in.content(); len(c) > 0 {
		return c[0]
	}
	return 0
}

// sample returns a copy of some bytes from the beginning.
func (in *input) sample() []byte {
	return bytes.Clone(in.head[:min(len(in.head), 2*maxShown)])
}

func (in *input) Read(p []byte) (int, error) {
	if len(in.head) > 0 {
		n := copy(p, in.head)
		in.head = in.head[n:]
		return n, nil
	}
	if in.err != nil {
		return 0, in.err
	}
	return in.r.Read(p)
}

// watchedReader reads the body from the network: it lets the sink flush
// before a wait, bounds the wait, and caps the whole.
type watchedReader struct {
	r    io.Reader
	x    *exchange
	read int
}

func (w *watchedReader) Read(p []byte) (int, error) {
	if idle := w.x.sink.Idle; idle != nil {
		if err := idle(); err != nil {
			return 0, sinkError{err}
		}
	}
	w.x.idle.start()
	n, err := w.r.Read(p)
	w.x.idle.pause()
	w.read += n
	if w.read > maxResponse {
		return 0, tooLarge()
	}
	if w.read == 0 && err != nil && err != io.EOF {
		err = &noByteError{err}
	}
	return n, err
}

// noByteError is a transfer that broke before its first byte.
type noByteError struct{ error }

func (e *noByteError) Unwrap() error { return e.error }

// cappedReader caps what a compressed body inflates to.
type cappedReader struct {
	r    io.Reader
	left int
}

func (c *cappedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.left -= n; c.left < 0 {
		return 0, tooLarge()
	}
	return n, err
}

func tooLarge() *Error {
	return &Error{Kind: TooLarge, Message: "the reply is larger than 256 MiB"}
}
