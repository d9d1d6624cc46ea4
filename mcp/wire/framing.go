package wire

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"toolpipe/stream/jsontext"
)

// MaxFrame bounds one message, whatever carries it.
const MaxFrame = 64 << 20

// ErrFrameTooLarge ends a transport: where the next message begins is unknown.
var ErrFrameTooLarge = fmt.Errorf("a message of more than %d MiB", MaxFrame>>20)

// FrameReader reads messages from a byte stream. A message is one line, or
// follows a Content-Length header where the peer sends one, as servers do that
// were written for the framing of the Language Server Protocol. Lines that
// cannot be a message are passed to Junk and skipped.
type FrameReader struct {
	R    io.Reader
	Junk func(line []byte) // nil drops them

	buf        []byte // what was read and not given out is buf[start:end]
	start, end int
	begun      bool // the first line was read
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
			line = bytes.Clone(line) // further reading may move the buffer
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

// ahead returns the line that begins at bytes after the start, and where the
// next line begins. It does not consume anything.
func (f *FrameReader) ahead(at int) (line []byte, next int, err error) {
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

// body returns the message of n bytes that a Content-Length line announces.
// Such a line may be part of a log instead: then no end of the header and no
// JSON of that length follow, and body returns nil and consumes nothing. After
// the first message with a header the peer's lengths are believed.
func (f *FrameReader) body(n int) ([]byte, error) {
	at, err := f.headEnd()
	if at == 0 || err != nil {
		return nil, err
	}
	for looked := f.headed; ; {
		here := f.buf[f.start+at : f.end]
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
				return nil, nil // a whole message on one line, or a line of a log
			}
		}
		if n > MaxFrame && looked {
			return nil, ErrFrameTooLarge
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

// headEnd is where the header ends whose first line was read; 0 when the lines
// that follow are not a header.
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

// unfinished says whether a line may be the first line of a longer message.
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

// own makes line the caller's: a short line is copied, a long one keeps its
// buffer, and the reader goes on with a new one.
func (f *FrameReader) own(line []byte) []byte {
	if cap(f.buf) <= frameBuffer {
		return bytes.Clone(line)
	}
	rest := f.buf[f.start:f.end]
	f.buf = make([]byte, max(frameBuffer, len(rest)))
	f.start, f.end = 0, copy(f.buf, rest)
	return line
}

// fill reads more. The buffer grows eightfold: copying costs time, memory that
// was never touched costs nothing.
func (f *FrameReader) fill() error {
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
		case have > MaxFrame:
			return ErrFrameTooLarge
		default:
			grown := make([]byte, min(8*len(f.buf), MaxFrame+frameBuffer))
			f.end = copy(grown, f.buf[f.start:f.end])
			f.start, f.buf = 0, grown
		}
	}
	n, err := io.ReadAtLeast(f.R, f.buf[f.end:], 1)
	f.end += n
	return err
}

// AppendFrame appends msg as the peer reads it.
func AppendFrame(dst, msg []byte, contentLength bool) []byte {
	if contentLength {
		dst = fmt.Appendf(dst, "Content-Length: %d\r\n\r\n", len(msg))
		return append(dst, msg...)
	}
	return append(append(dst, msg...), '\n')
}
