package wire

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// MaxFrame bounds one message, whatever carries it.
const MaxFrame = 64 << 20

// ErrFrameTooLarge ends a transport: where the next message begins is unknown.
var ErrFrameTooLarge = fmt.Errorf("a message of more than %d MiB", MaxFrame>>20)

// FrameReader reads messages from a byte stream. A message is one line. Where
// Headed is set, a message may also follow a Content-Length header, as in the
// Language Server Protocol. Lines that cannot be a message are passed to Junk
// and skipped.
type FrameReader struct {
	R      io.Reader
	Headed bool
	Junk   func(line []byte) // nil drops them

	buf        []byte // what was read and not given out is buf[start:end]
	start, end int
	begun      bool // the first line was read
}

const frameBuffer = 64 << 10

// Next returns the next message. The slice belongs to the caller.
func (f *FrameReader) Next() ([]byte, error) {
	for length := -1; ; { // what the header says whose lines are being read; -1 outside of a header
		line, err := f.line()
		if err != nil {
			return nil, err
		}
		if !f.begun { // a byte order mark is one at the start of the stream only
			f.begun = true
			line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
		}
		name, value, colon := bytes.Cut(line, []byte(":"))
		switch begin := bytes.TrimLeft(line, " \t\r"); {
		case len(line) == 0 && length >= 0:
			return f.body(length)
		case len(begin) == 0:
		case begin[0] == '{' || begin[0] == '[':
			return f.own(line), nil
		case f.Headed && bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				length = -1
			}
		case length >= 0 && colon && IsToken(string(name)): // another line of the header
		default: // a line of a log
			length = -1
			if f.Junk != nil {
				f.Junk(line)
			}
		}
	}
}

// line returns the next line without its end. It is valid until the next
// read. A last line without an end counts.
func (f *FrameReader) line() ([]byte, error) {
	for seen := 0; ; {
		here := f.buf[f.start:f.end]
		if i := bytes.IndexByte(here[seen:], '\n'); i >= 0 {
			f.start += seen + i + 1
			return bytes.TrimSuffix(here[:seen+i], []byte("\r")), nil
		}
		seen = len(here)
		switch err := f.fill(); {
		case err == io.EOF && seen > 0:
			f.start = f.end
			return bytes.TrimSuffix(here, []byte("\r")), nil
		case err != nil:
			return nil, err
		}
	}
}

// body returns the n bytes behind a header.
func (f *FrameReader) body(n int) ([]byte, error) {
	if n > MaxFrame {
		return nil, ErrFrameTooLarge
	}
	for f.end-f.start < n {
		switch err := f.fill(); {
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
	}
	f.start += n
	return f.own(f.buf[f.start-n : f.start : f.start]), nil
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
