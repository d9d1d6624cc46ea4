package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"toolpipe/stream/jsontext"
)

// MaxFrame bounds one message, whatever carries it.
const MaxFrame = 64 << 20

// ErrFrameTooLarge ends a transport: what follows cannot be told apart.
var ErrFrameTooLarge = fmt.Errorf("a message of more than %d MiB", MaxFrame>>20)

// FrameReader reads messages from a byte stream: a line each, or, when the
// peer sends them so, each after a Content-Length header (bigpowers#131).
// Lines that cannot be a message are passed to junk and skipped.
type FrameReader struct {
	R          io.Reader
	Junk       func(line []byte) // nil drops them
	Buf        []byte
	start, End int
	begun      bool
	headed     bool // a message came after a header
}

const frameBuffer = 64 << 10

// Next returns the next message. The slice belongs to the caller.
func (f *FrameReader) Next() ([]byte, error) {
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
		if i := jsontext.Space(line, 0); i < len(line) && (line[i] == '{' || line[i] == '[') {
			return f.own(line), nil
		}
		if f.Junk != nil && len(bytes.TrimSpace(line)) > 0 {
			f.Junk(line)
		}
	}
}

// line returns the next line without its end. It is valid until the next
// read. A last line without an end counts.
func (f *FrameReader) line() ([]byte, error) {
	line, next, err := f.ahead(0)
	f.start += next
	return line, err
}

// ahead is the line that begins at bytes from here, and where the one after it
// begins; nothing is taken yet.
func (f *FrameReader) ahead(at int) (line []byte, next int, err error) {
	for seen := at; ; {
		here := f.Buf[f.start:f.End]
		if i := bytes.IndexByte(here[seen:], '\n'); i >= 0 {
			return bytes.TrimSuffix(here[at:seen+i], []byte("\r")), seen + i + 1, nil
		}
		seen = len(here)
		if err := f.Fill(); err != nil {
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
func (f *FrameReader) body(n int) ([]byte, error) {
	at, err := f.headEnd()
	if at == 0 || err != nil {
		return nil, err
	}
	for looked := f.headed; ; {
		here := f.Buf[f.start+at : f.End]
		if len(here) >= n {
			if !f.headed && jsontext.Check(here[:n], jsontext.Peer) != nil {
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
		if n > MaxFrame && looked {
			return nil, ErrFrameTooLarge
		}
		switch err := f.Fill(); {
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
func (f *FrameReader) headEnd() (int, error) {
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
		case !ok || !IsToken(string(name)):
			return 0, nil
		}
		at = next
	}
}

// unfinished says whether a line may be the first of a longer message.
func unfinished(line []byte) bool {
	e, ok := jsontext.Check(line, jsontext.Peer).(*jsontext.SyntaxError)
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
func (f *FrameReader) own(line []byte) []byte {
	if cap(f.Buf) <= frameBuffer {
		return bytes.Clone(line)
	}
	rest := f.Buf[f.start:f.End]
	f.Buf = make([]byte, max(frameBuffer, len(rest)))
	f.start, f.End = 0, copy(f.Buf, rest)
	return line
}

// Fill reads more. The buffer grows eightfold: memory that was never touched
// costs nothing, copies do.
func (f *FrameReader) Fill() error {
	if f.start == f.End {
		f.start, f.End = 0, 0
	}
	if f.End == len(f.Buf) {
		switch have := f.End - f.start; {
		case f.Buf == nil:
			f.Buf = make([]byte, frameBuffer)
		case f.start > 0 && have < len(f.Buf)/2:
			f.End = copy(f.Buf, f.Buf[f.start:f.End])
			f.start = 0
		case have > MaxFrame:
			return ErrFrameTooLarge
		default:
			grown := make([]byte, min(8*len(f.Buf), MaxFrame+frameBuffer))
			f.End = copy(grown, f.Buf[f.start:f.End])
			f.start, f.Buf = 0, grown
		}
	}
	for range 100 {
		n, err := f.R.Read(f.Buf[f.End:])
		f.End += n
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// AppendFrame appends msg as the peer reads it.
func AppendFrame(dst, msg []byte, contentLength bool) []byte {
	if contentLength {
		dst = fmt.Appendf(dst, "Content-Length: %d\r\n\r\n", len(msg))
		return append(dst, msg...)
	}
	return append(append(dst, msg...), '\n')
}

// ErrGone is why a peer that closed its side cannot be used.
var ErrGone = errors.New("the server closed the connection")
