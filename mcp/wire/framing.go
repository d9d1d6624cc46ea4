package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// MaxFrame limits one message of any transport, in bytes.
const MaxFrame = 64 << 20

type FrameTooLarge struct {
	ID []byte // the id of the message, as received; nil if there is none or it was not found
}

func (*FrameTooLarge) Error() string {
	return fmt.Sprintf("a message of more than %d MiB", MaxFrame>>20)
}

// tooLarge is the error for a message with this beginning and end. It finds an id before the
// large part, or as the last member, optionally followed by jsonrpc.
func tooLarge(begin, end []byte) error {
	if m, _ := ParseMessage(begin); m.ID != nil {
		return &FrameTooLarge{bytes.Clone(m.ID)}
	}
	end = bytes.TrimSuffix(bytes.TrimSpace(end), []byte("}"))
	end = bytes.TrimSuffix(bytes.TrimSpace(end), []byte(`,"jsonrpc":"2.0"`))
	_, value, found := bytes.Cut(end[bytes.LastIndexByte(end, ',')+1:], []byte(`"id":`))
	if id := bytes.TrimSpace(value); found && ReplyID(id) > 0 {
		return &FrameTooLarge{bytes.Clone(id)}
	}
	return &FrameTooLarge{}
}

// maxSkipped is how much of a message that is too large is read to reach its end, in bytes.
const maxSkipped = 16 * MaxFrame

var errEndless = errors.New("a message of more than 1 GiB")

// edge is how much of each end of a message that is too large is searched for its id, in
// bytes.
const edge = 4 << 10

// FrameReader reads messages from a byte stream. A message is one line. If Headed is set, a
// message may also follow a Content-Length header, as in the Language Server Protocol. Lines
// that cannot be a message are passed to Junk and skipped.
type FrameReader struct {
	R      io.Reader
	Buffer int // bytes to read at once; 0: 64 KiB
	Headed bool
	Junk   func(line []byte) // nil drops them

	buf *bufio.Reader // of R
}

const frameBuffer = 64 << 10

// Next returns the next message. The caller may keep the slice. After a *FrameTooLarge the
// following message can be read.
func (f *FrameReader) Next() ([]byte, error) {
	if f.buf == nil {
		f.buf = bufio.NewReaderSize(f.R, cmp.Or(f.Buffer, frameBuffer))
		if mark, _ := f.buf.Peek(3); string(mark) == "\xEF\xBB\xBF" { // a byte order mark, which only counts at the beginning
			f.buf.Discard(3)
		}
	}
	for length := -1; ; { // the Content-Length of the current header; -1 outside of a header
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
		default: // a log line
			length = -1
			if f.Junk != nil {
				f.Junk(line)
			}
		}
	}
}

// line returns the next line without its end. A last line without an end counts. The buffer
// of a long line grows eightfold: copying costs time, but unused memory costs nothing.
func (f *FrameReader) line() (line []byte, err error) {
	for {
		part, err := f.buf.ReadSlice('\n')
		if line != nil && len(line)+len(part) > cap(line) {
			line = append(make([]byte, 0, min(8*cap(line), MaxFrame+frameBuffer)), line...)
		}
		line = append(line, part...)
		switch {
		case len(line) > MaxFrame:
			return nil, f.skipLine(line[:edge], part, err)
		case err == nil || err == io.EOF && len(line) > 0:
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

// skipLine reads a line that is too large to its end. begin is its beginning; part and err
// are the results of the last read. It returns a *FrameTooLarge, or the error of reading.
func (f *FrameReader) skipLine(begin, part []byte, err error) error {
	var end []byte
	for skipped := 0; skipped < maxSkipped; skipped += len(part) {
		end = append(end, part[max(0, len(part)-edge):]...)
		end = append(end[:0], end[max(0, len(end)-edge):]...)
		switch err {
		case nil, io.EOF:
			return tooLarge(begin, end)
		case bufio.ErrBufferFull:
			part, err = f.buf.ReadSlice('\n')
		default:
			return err
		}
	}
	return errEndless
}

// skipBody is skipLine for the n bytes after a header.
func (f *FrameReader) skipBody(n int) error {
	if n > maxSkipped {
		return errEndless
	}
	begin, end := make([]byte, edge), make([]byte, edge)
	if _, err := io.ReadFull(f.buf, begin); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, f.buf, int64(n-2*edge)); err != nil {
		return err
	}
	if _, err := io.ReadFull(f.buf, end); err != nil {
		return err
	}
	return tooLarge(begin, end)
}

func (f *FrameReader) body(n int) ([]byte, error) {
	if n > MaxFrame {
		return nil, f.skipBody(n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(f.buf, b)
	return b, err
}
