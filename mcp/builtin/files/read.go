package files

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"unicode/utf8"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/text/readable"
)

func readFile(_ context.Context, l *confine.Location, args toolserver.Arguments) ([]byte, error) {
	f, info, err := l.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, shown := info.Size(), l.Look(f, info.Size())
	offset, length := args.Integer("offset", 0), args.Integer("length", size)
	part := args.Has("offset") || args.Has("length")
	switch {
	case offset < 0 || length < 0:
		return nil, fmt.Errorf("offset and length must not be negative")
	case offset > size:
		return nil, fmt.Errorf("%q has %d bytes, offset %d is past the end", l.Asked, size, offset)
	}
	buf := make([]byte, min(length, size-offset, toolserver.MaxText))
	n, err := f.ReadAt(buf, offset)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%q: %w", l.Asked, confine.Reason(err))
	}
	buf = buf[:n]
	if !part && toolserver.LooksBinary(buf) {
		return nil, errBinary(l.Asked, size)
	}
	rest := min(length, size-offset) - int64(n)
	if rest > 0 {
		buf = readable.WholeRunes(buf)
	}
	end := offset + int64(len(buf))
	buf = appendEncodingNote(buf, part)
	if rest > 0 {
		buf = fmt.Appendf(buf, "\n[toolpipe] bytes %d to %d of %d are shown; go on with offset %d\n", offset, end, size, end)
	}
	shown(!part && rest <= 0)
	return buf, nil
}

// appendEncodingNote adds a note to a text that is not UTF-8. A part of a file may begin and
// end within a character.
func appendEncodingNote(b []byte, part bool) []byte {
	inner := b
	if part {
		inner = readable.FromRune(readable.WholeRunes(b))
	}
	if utf8.Valid(inner) {
		return b
	}
	return append(b, "\n[toolpipe] this is not valid UTF-8: invalid bytes are shown as U+FFFD and would be lost if this text were written back; edit_file and set_file_slice keep all bytes that they do not replace\n"...)
}

func errBinary(path string, size int64) error {
	return fmt.Errorf("%q is a binary file of %d bytes, not text; get_file_summary says more, read_file with offset and length reads a part of it anyway", path, size)
}

func getFileSlice(ctx context.Context, l *confine.Location, args toolserver.Arguments) ([]byte, error) {
	first, last := args.Integer("start_line", 1), args.Integer("end_line", -1)
	switch {
	case first < 1:
		return nil, fmt.Errorf("start_line is %d; lines count from 1", first)
	case args.Has("end_line") && last < first:
		return nil, fmt.Errorf("end_line %d is before start_line %d", last, first)
	}
	f, info, err := l.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, shown := info.Size(), l.Look(f, info.Size())
	r := bufio.NewReaderSize(f, toolserver.ReadChunk)
	if head, _ := r.Peek(toolserver.ReadChunk); toolserver.LooksBinary(head) {
		return nil, errBinary(l.Asked, size)
	}
	s := slice{first: first, last: last}
	if err := s.read(ctx, r); err != nil {
		return nil, fmt.Errorf("%q: %w", l.Asked, confine.Reason(err))
	}
	switch {
	case s.far:
		return nil, fmt.Errorf("%q has %d bytes; the first %d end in line %d, and later lines are not counted; read_file with offset reads there, grep_files finds lines", l.Asked, size, toolserver.MaxCounted, s.line)
	case s.full:
		shown(false)
		return s.cutText(), nil
	case first > s.line && !(first == 1 && last < 0):
		return nil, fmt.Errorf("%q has %d lines; start_line %d is past the end", l.Asked, s.line, first)
	}
	shown(false)
	return appendEncodingNote(s.text, false), nil
}

// slice reads some lines of a file, and little after them.
type slice struct {
	first, last int64 // from 1; last -1 means the last line of the file
	line        int64 // the last line that was begun
	passed      int64 // bytes before text
	text        []byte
	full        bool // text has reached its limit
	far         bool // the lines are not all in the first MaxCounted bytes
}

func (s *slice) read(ctx context.Context, r *bufio.Reader) error {
	total, begins := 0, true
	for piece, err := range pieces(ctx, r) {
		if err != nil {
			return err
		}
		if begins {
			s.line++
		}
		if s.last >= 0 && s.line > s.last {
			return nil
		}
		if s.far = total >= toolserver.MaxCounted; s.far {
			return nil
		}
		total += len(piece)
		begins = bytes.HasSuffix(piece, []byte("\n"))
		if s.line < s.first {
			s.passed += int64(len(piece))
		} else {
			room := toolserver.MaxText - len(s.text)
			s.text = append(s.text, piece[:min(len(piece), room)]...)
			if s.full = len(piece) > room; s.full {
				return nil
			}
		}
	}
	return nil
}

// pieces yields the lines of a text with their ends. It yields a line in parts if it is
// longer than the buffer of r. After an error it stops.
func pieces(ctx context.Context, r *bufio.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			piece, err := r.ReadSlice('\n')
			if len(piece) > 0 && !yield(piece, nil) || err == io.EOF {
				return
			}
			if err == nil || err == bufio.ErrBufferFull {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// cutText is the text with a note about where it ends and how to continue.
func (s *slice) cutText() []byte {
	b := readable.WholeRunes(s.text)
	size := len(b)
	on := fmt.Sprintf("start_line %d", s.line)
	if s.line == s.first {
		on = fmt.Sprintf("read_file, offset %d", s.passed+int64(size))
	}
	return fmt.Appendf(appendEncodingNote(b, false), "\n[toolpipe] the slice is cut at %d bytes, in line %d; go on with %s\n", size, s.line, on)
}

const (
	maxSummarised  = 64 << 20 // bytes of a file in which lines are counted
	summaryLines   = 10       // first lines that a summary shows
	summaryLineLen = 160      // bytes shown of each of them
)

// getFileSummary describes a file or directory without its content, so that a model knows the
// cost before it reads it.
func getFileSummary(ctx context.Context, l *confine.Location, args toolserver.Arguments) ([]byte, error) {
	if l.Info != nil && l.Info.IsDir() {
		return summariseDirectory(ctx, l)
	}
	f, info, err := l.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := fmt.Appendf(nil, "path: %s\nsize: %d bytes\n", confine.ShownName(l.Rel), info.Size())
	r := bufio.NewReaderSize(io.LimitReader(f, maxSummarised), toolserver.ReadChunk)
	head, err := r.Peek(toolserver.ReadChunk)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%q: %w", l.Asked, confine.Reason(err))
	}
	if toolserver.LooksBinary(head) {
		return fmt.Appendf(b, "kind: binary, %s\n", http.DetectContentType(head)), nil
	}
	b = append(b, "kind: text"...)
	if bytes.HasPrefix(head, toolserver.ByteOrderMark) {
		b = append(b, ", with a byte order mark"...)
	}
	if bytes.Contains(head, []byte("\r\n")) {
		b = append(b, ", CRLF line ends"...)
	}
	return summariseText(ctx, append(b, '\n'), l, r, info.Size())
}

func summariseDirectory(ctx context.Context, l *confine.Location) ([]byte, error) {
	l.Access.Ignored = true // all entries count
	w, err := l.Directory()
	if err != nil {
		return nil, err
	}
	list, total, err := l.Access.Entries(ctx, w, confine.MaxEntries)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", l.Asked, err)
	}
	dirs := 0
	for _, e := range list {
		if e.IsDir() {
			dirs++
		}
	}
	return fmt.Appendf(nil, "path: %s\nkind: directory\nentries: %d, of them %d directories\n", confine.ShownName(l.Rel), total, dirs), nil
}

func summariseText(ctx context.Context, b []byte, l *confine.Location, r *bufio.Reader, size int64) ([]byte, error) {
	lines, longest, length := 0, 0, 0
	var first []byte // the first lines, numbered
	for piece, err := range pieces(ctx, r) {
		if err != nil {
			return nil, fmt.Errorf("%q: %w", l.Asked, confine.Reason(err))
		}
		if length == 0 {
			lines++
			if line := bytes.TrimRight(piece, "\r\n"); lines <= summaryLines {
				first = fmt.Appendf(first, "%6d  %s\n", lines, readable.WholeRunes(line[:min(len(line), summaryLineLen)]))
			}
		}
		length += len(piece)
		longest = max(longest, length)
		if bytes.HasSuffix(piece, []byte("\n")) {
			length = 0
		}
	}
	b = fmt.Appendf(b, "lines: %d", lines)
	if size > maxSummarised {
		b = fmt.Appendf(b, " in the first %d bytes", maxSummarised)
	} else if length > 0 {
		b = append(b, "\nthe last line has no line end"...)
	}
	if longest > 1000 {
		b = fmt.Appendf(b, "\nlongest line: %d bytes", longest)
	}
	if lines > 0 {
		b = append(b, "\nfirst lines:"...)
	}
	return append(append(b, '\n'), first...), nil
}
