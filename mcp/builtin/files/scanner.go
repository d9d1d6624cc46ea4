package files

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/text/readable"
)

const maxShownLine = 500 // bytes of a line in an answer

type findings struct {
	text       []byte
	matches    int
	unreadable int  // files that could not be opened
	full       bool // the search ended early; there may be more matches
	binary     bool // the file is binary, and was not searched
}

// add appends the findings of further files, after a line -- if separate is set.
func (f *findings) add(more findings, separate bool) {
	if separate && f.matches > 0 && more.matches > 0 {
		f.text = append(f.text, "--\n"...)
	}
	f.text = append(f.text, more.text...)
	f.matches += more.matches
	f.unreadable += more.unreadable
	f.full = more.full || f.matches >= maxMatches || len(f.text) >= toolserver.MaxText
}

// scanner searches one file after the other, line by line. If a line does not fit into its
// buffer, each part counts as a line with the same number.
type scanner struct {
	m      *matcher
	around int
	in     *bufio.Reader

	out    findings
	path   string
	before [][]byte // formatted lines to show if the next line matches
	gap    bool     // lines were skipped since the last one in the answer
	after  int      // lines still to show
}

func newScanner(m *matcher, around int) *scanner {
	return &scanner{m: m, around: around, in: bufio.NewReaderSize(nil, m.longest)}
}

// file searches r. The answer names it by path.
func (s *scanner) file(ctx context.Context, r io.Reader, path string) findings {
	s.in.Reset(r)
	s.out, s.path, s.before, s.gap, s.after = findings{}, path, s.before[:0], false, 0
	head, _ := s.in.Peek(toolserver.ReadChunk)
	if toolserver.LooksBinary(head) {
		return findings{binary: true}
	}
	crlf := bytes.Contains(head, []byte("\r\n"))
	for number := 1 + s.skip(); ; {
		had := s.in.Buffered()
		line, err := s.in.ReadSlice('\n')
		text, whole := bytes.CutSuffix(line, []byte("\n"))
		if len(line) > 0 && !s.line(text, number, crlf) {
			return s.out
		}
		switch {
		case whole:
			number++
		case err != bufio.ErrBufferFull:
			return s.out
		}
		read := s.in.Buffered() > had // the buffer was refilled
		if read {
			number += s.skip()
		}
		if (read || !whole) && ctx.Err() != nil {
			return s.out
		}
	}
}

// skip skips the complete lines in the buffer if none of them matches or must be shown, and
// returns their number.
func (s *scanner) skip() int {
	b, _ := s.in.Peek(s.in.Buffered())
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	if s.around > 0 || s.m.mayMatch(b) {
		return 0
	}
	s.in.Discard(len(b))
	return bytes.Count(b, []byte("\n"))
}

// line handles the next line, and reports whether more are wanted.
func (s *scanner) line(text []byte, number int, crlf bool) bool {
	matches := s.m.matches(text, crlf)
	switch {
	case s.out.full && (matches || s.after == 0):
		return false
	case matches:
		if s.gap && s.around > 0 && s.out.matches > 0 {
			s.out.text = append(s.out.text, "--\n"...)
		}
		for _, shown := range s.before {
			s.out.text = append(s.out.text, shown...)
		}
		s.out.text = s.show(s.out.text, text, number, ':')
		s.out.matches++
		s.out.full = s.out.matches >= maxMatches || len(s.out.text) >= toolserver.MaxText
		s.before, s.gap, s.after = s.before[:0], false, s.around
	case s.after > 0:
		s.out.text = s.show(s.out.text, text, number, '-')
		s.after--
	case s.around > 0:
		var room []byte // reuses the memory of a line that is no longer needed
		if len(s.before) == s.around {
			room, s.gap = s.before[0][:0], true
			s.before = append(s.before[:0], s.before[1:]...)
		}
		s.before = append(s.before, s.show(room, text, number, '-'))
	}
	return true
}

// show appends a line with its path and number, like grep -n. The mark is : for a match and -
// for context.
func (s *scanner) show(b, line []byte, number int, mark byte) []byte {
	b = append(append(b, confine.ShownName(s.path)...), mark)
	b = append(strconv.AppendInt(b, int64(number), 10), mark)
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > maxShownLine {
		b = append(b, readable.WholeRunes(line[:maxShownLine])...)
		b = fmt.Appendf(b, "[toolpipe: %d bytes in this line]", len(line))
	} else {
		b = append(b, line...)
	}
	return append(b, '\n')
}
