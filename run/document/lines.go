package document

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"toolpipe/run/failure"
	"toolpipe/stream/text/jsontext"
)

// A Line is one line of a file of JSON lines. Its bytes are valid only until take returns.
type Line struct {
	Value        // the object on it
	Begin  int64 // its offset in the file
	Length int   // in bytes, without the line end
	Number int   // from 1
}

// lineBuffer is the length from which a line gets memory for itself.
const lineBuffer = 64 << 10

// Keep returns a part of the line that stays valid: a copy if the line is short.
func (l Line) Keep(part []byte) []byte {
	if l.Length >= lineBuffer {
		return part
	}
	return bytes.Clone(part)
}

// Lines describes the end of a file of JSON lines.
type Lines struct {
	Cut     []byte // an incomplete last line, because its writer was killed or the disk was full; nil for none
	At      int64  // offset of Cut
	Number  int    // line number of Cut, from 1
	Unended bool   // the last line is complete except for its line end
}

// ReadLines reads JSON lines: one object on each line that is not blank, of at most longest bytes.
// It calls take with each line as it is read. Only parts that take keeps stay in memory.
func ReadLines(name string, file io.ReaderAt, longest int64, take func(Line) error) (l Lines, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(file, 0, 1<<62), lineBuffer)
	for {
		l.Number++
		line, length, err := nextLine(in, file, l.At, longest)
		switch {
		case errors.Is(err, errLong):
			return l, failure.Usage("%s:%d: the line is longer than %d MiB", name, l.Number, longest>>20)
		case err != nil && err != io.EOF:
			return l, failure.Usage("%s: %s", name, failure.Cause(err))
		case length == 0:
			return l, nil
		}
		whole := length > int64(len(line))
		if err := l.line(name, line, whole, in, take); err != nil || l.Cut != nil {
			return l, err
		}
		l.Unended = !whole
		l.At += length
	}
}

// line parses one line and passes it to take. whole is true if its line end was read; in continues
// after it.
func (l *Lines) line(name string, line []byte, whole bool, in *bufio.Reader, take func(Line) error) error {
	err := jsontext.Check(line, jsontext.Options{})
	if err == nil {
		d := &Document{name: name, data: line, before: l.Number - 1}
		err = take(Line{d.value(jsontext.Space(line, 0)), l.At, len(line), l.Number})
		d.data = nil
		return err
	}
	e, _ := errors.AsType[*jsontext.SyntaxError](err)
	object := bytes.TrimSpace(line)
	cut := !whole || !bytes.HasSuffix(object, []byte{'}'})
	if len(object) == 0 {
		return nil
	}
	line = Line{Length: len(line)}.Keep(line)
	if _, err := in.Peek(1); err != nil && cut {
		if l.Cut = line; whole {
			l.Cut = append(line, '\n')
		}
		return nil
	}
	return failure.Usage("%s:%d:%d: %s", name, l.Number, e.Column, e.Message)
}

var errLong = errors.New("too long")

// nextLine returns the line at the offset at without its end, and its length with the end: 0 at the
// end of the file. in continues at that offset. A line shorter than lineBuffer is valid until in is
// read again.
func nextLine(in *bufio.Reader, file io.ReaderAt, at, longest int64) (line []byte, length int64, err error) {
	piece, err := in.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return bytes.TrimSuffix(piece, []byte{'\n'}), int64(len(piece)), err
	}
	length = int64(len(piece))
	for err == bufio.ErrBufferFull {
		piece, err = in.ReadSlice('\n')
		if length += int64(len(piece)); length > longest+1 {
			return nil, length, errLong
		}
	}
	line = make([]byte, length) // allocated once with its full size: it may be most of the memory of a run
	if _, err := file.ReadAt(line, at); err != nil {
		return nil, length, err
	}
	return bytes.TrimSuffix(line, []byte{'\n'}), length, err
}

// ReadLine reads again a line that ReadLines found there.
func ReadLine(name string, file io.ReaderAt, begin int64, length int) (Value, error) {
	line := make([]byte, length)
	if _, err := file.ReadAt(line, begin); err != nil && err != io.EOF {
		return Value{}, failure.Usage("%s: %s", name, failure.Cause(err))
	}
	return Parse(name, line)
}
