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
			return f.body(n)
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
	for seen := f.start; ; {
		if i := bytes.IndexByte(f.buf[seen:f.end], '\n'); i >= 0 {
			line := f.buf[f.start : seen+i]
			f.start = seen + i + 1
			return bytes.TrimSuffix(line, []byte("\r")), nil
		}
		scanned := f.end - f.start
		err := f.fill()
		if err != nil {
			if err == io.EOF && f.end > f.start {
				line := f.buf[f.start:f.end]
				f.start = f.end
				return bytes.TrimSuffix(line, []byte("\r")), nil
			}
			return nil, err
		}
		seen = f.start + scanned
	}
}

// body reads the rest of a header block and the n bytes after it.
func (f *frameReader) body(n int) ([]byte, error) {
	for {
		line, err := f.line()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			break
		}
	}
	if n > maxFrame {
		return nil, errFrameTooLarge
	}
	msg := make([]byte, n)
	have := copy(msg, f.buf[f.start:f.end])
	f.start += have
	if _, err := io.ReadFull(f.r, msg[have:]); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return msg, nil
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
