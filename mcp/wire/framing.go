package wire

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// MaxFrame bounds one message, whatever carries it.
const MaxFrame = 64 << 20

// ErrFrameTooLarge ends a transport: where the next message begins is unknown.
var ErrFrameTooLarge error = frameTooLarge{}

type frameTooLarge struct{}

func (frameTooLarge) Error() string {
	return fmt.Sprintf("a message of more than %d MiB", MaxFrame>>20)
}

// FrameReader reads messages from a byte stream. A message is one line. Where
// Headed is set, a message may also follow a Content-Length header, as in the
// Language Server Protocol. Lines that cannot be a message are passed to Junk
// and skipped.
type FrameReader struct {
	R      io.Reader
	Headed bool
	Junk   func(line []byte) // nil drops them

	buf *bufio.Reader // of R
}

const frameBuffer = 64 << 10

// Next returns the next message. The slice belongs to the caller.
func (f *FrameReader) Next() ([]byte, error) {
	if f.buf == nil {
		f.buf = bufio.NewReaderSize(f.R, frameBuffer)
		if mark, _ := f.buf.Peek(3); string(mark) == "\xEF\xBB\xBF" { // a byte order mark, which is one here only
			f.buf.Discard(3)
		}
	}
	for length := -1; ; { // what the header says whose lines are being read; -1 outside of a header
		line, err := f.line()
		if err != nil {
			return nil, err
		}
		name, value, colon := bytes.Cut(line, []byte(":"))
		switch begin := bytes.TrimLeft(line, " \t\r"); {
		case len(line) == 0 && length >= 0:
			return f.body(length)
		case len(begin) == 0:
		case begin[0] == '{' || begin[0] == '[':
			return line, nil
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

// line returns the next line without its end. A last line without an end counts.
// The buffer of a long line grows eightfold: copying costs time, memory that was
// never touched costs nothing.
func (f *FrameReader) line() (line []byte, err error) {
	for {
		part, err := f.buf.ReadSlice('\n')
		if line != nil && len(line)+len(part) > cap(line) {
			line = append(make([]byte, 0, min(8*cap(line), MaxFrame+frameBuffer)), line...)
		}
		line = append(line, part...)
		switch {
		case len(line) > MaxFrame:
			return nil, ErrFrameTooLarge
		case err == nil || err == io.EOF && len(line) > 0:
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

// body returns the n bytes behind a header.
func (f *FrameReader) body(n int) ([]byte, error) {
	if n > MaxFrame {
		return nil, ErrFrameTooLarge
	}
	b := make([]byte, n)
	_, err := io.ReadFull(f.buf, b)
	return b, err
}

// AppendFrame appends msg as the peer reads it.
func AppendFrame(dst, msg []byte, contentLength bool) []byte {
	if contentLength {
		dst = fmt.Appendf(dst, "Content-Length: %d\r\n\r\n", len(msg))
		return append(dst, msg...)
	}
	return append(append(dst, msg...), '\n')
}
