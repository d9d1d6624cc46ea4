package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// maxFrame bounds one message, whatever carries it.
const maxFrame = 64 << 20

// errFrameTooLarge ends a transport: what follows cannot be told apart.
var errFrameTooLarge = fmt.Errorf("a message of more than %d MiB", maxFrame>>20)

// frameReader reads messages from a byte stream: a line each, or, when the
// peer sends them so, each after a Content-Length header (bigpowers#131).
// Lines that cannot be a message are passed to junk and skipped.
type frameReader struct {
	r          io.Reader
	junk       func(line []byte) // nil drops them
	buf        []byte
	start, end int
	begun      bool
	headed     bool // a message came after a header
}

const frameBuffer = 64 << 10

// next returns the next message. The slice belongs to the caller.
func (f *frameReader) next() ([]byte, error) {
	for {
		line, err := f.line()
		if err != nil {
			return nil, err
		}
		if !f.begun { // a byte order mark is one at the start of the stream only
			f.begun = true
			line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
		}
		if len(line) == 0 {
			continue
		}
		if n, ok := contentLength(line); ok {
			line = bytes.Clone(line) // what is read on may move it
			if msg, err := f.body(n); msg != nil || err != nil {
				return msg, err
			}
		}
		if i := space(line, 0); i < len(line) && (line[i] == '{' || line[i] == '[') {
			return f.own(line), nil
		}
		if f.junk != nil && len(bytes.TrimSpace(line)) > 0 {
			f.junk(line)
		}
	}
}

// line returns the next line without its end. It is valid until the next
// read. A last line without an end counts.
func (f *frameReader) line() ([]byte, error) {
	line, next, err := f.ahead(0)
	f.start += next
	return line, err
}

// ahead is the line that begins at bytes from here, and where the one after it
// begins; nothing is taken yet.
func (f *frameReader) ahead(at int) (line []byte, next int, err error) {
	for seen := at; ; {
		here := f.buf[f.start:f.end]
		if i := bytes.IndexByte(here[seen:], '\n'); i >= 0 {
			return bytes.TrimSuffix(here[at:seen+i], []byte("\r")), seen + i + 1, nil
		}
		seen = len(here)
		if err := f.fill(); err != nil {
			if err == io.EOF && seen > at {
				return bytes.TrimSuffix(here[at:], []byte("\r")), seen, nil
			}
			return nil, 0, err
		}
	}
}

// body returns the message of n bytes that a Content-Length line announces, or
// nil, with nothing taken, when that was a line of a log: no other header
// lines, empty line and message of that length follow it. Once a message came
// so, the peer is known to frame them, and its length is believed.
func (f *frameReader) body(n int) ([]byte, error) {
	at, err := f.headEnd()
	if at == 0 || err != nil {
		return nil, err
	}
	for looked := f.headed; ; {
		here := f.buf[f.start+at : f.end]
		if len(here) >= n {
			if !f.headed && checkJSON(here[:n]) != nil {
				return nil, nil
			}
			f.headed = true
			f.start += at + n
			return f.own(here[:n:n]), nil
		}
		if i := bytes.IndexByte(here, '\n'); i >= 0 && !looked {
			if looked = true; !unfinished(here[:i]) {
				return nil, nil // a message on a line of its own, or none
			}
		}
		if n > maxFrame && looked {
			return nil, errFrameTooLarge
		}
		switch err := f.fill(); {
		case err == io.EOF && !looked && !unfinished(here):
			return nil, nil
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
	}
}

// headEnd is where the header block ends whose first line was taken; 0 when
// what follows is none.
func (f *frameReader) headEnd() (int, error) {
	for at := 0; ; {
		line, next, err := f.ahead(at)
		name, _, ok := bytes.Cut(line, []byte(":"))
		switch {
		case err == io.EOF:
			return 0, nil
		case err != nil:
			return 0, err
		case len(line) == 0:
			return next, nil
		case !ok || !isToken(string(name)):
			return 0, nil
		}
		at = next
	}
}

// unfinished says whether a line may be the first of a longer message.
func unfinished(line []byte) bool {
	e, ok := checkJSON(line).(*SyntaxError)
	return ok && e.Offset >= len(bytes.TrimRight(line, " \t\r"))
}

// contentLength reads a header line such as "Content-Length: 42".
func contentLength(line []byte) (int, bool) {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || !bytes.EqualFold(bytes.TrimSpace(name), []byte("content-length")) {
		return 0, false
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(value)))
	return n, err == nil && n >= 0
}

// own makes line the caller's: a short one is copied, a long one takes the
// buffer with it.
func (f *frameReader) own(line []byte) []byte {
	if cap(f.buf) <= frameBuffer {
		return bytes.Clone(line)
	}
	rest := f.buf[f.start:f.end]
	f.buf = make([]byte, max(frameBuffer, len(rest)))
	f.start, f.end = 0, copy(f.buf, rest)
	return line
}

// fill reads more. The buffer grows eightfold: memory that was never touched
// costs nothing, copies do.
func (f *frameReader) fill() error {
	if f.start == f.end {
		f.start, f.end = 0, 0
	}
	if f.end == len(f.buf) {
		switch have := f.end - f.start; {
		case f.buf == nil:
			f.buf = make([]byte, frameBuffer)
		case f.start > 0 && have < len(f.buf)/2:
			f.end = copy(f.buf, f.buf[f.start:f.end])
			f.start = 0
		case have > maxFrame:
			return errFrameTooLarge
		default:
			grown := make([]byte, min(8*len(f.buf), maxFrame+frameBuffer))
			f.end = copy(grown, f.buf[f.start:f.end])
			f.start, f.buf = 0, grown
		}
	}
	for range 100 {
		n, err := f.r.Read(f.buf[f.end:])
		f.end += n
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// appendFrame appends msg as the peer reads it.
func appendFrame(dst, msg []byte, contentLength bool) []byte {
	if contentLength {
		dst = fmt.Appendf(dst, "Content-Length: %d\r\n\r\n", len(msg))
		return append(dst, msg...)
	}
	return append(append(dst, msg...), '\n')
}

// errGone is why a peer that closed its side cannot be used.
var errGone = errors.New("the server closed the connection")
