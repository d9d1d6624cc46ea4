package files

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
)

const maxShownLine = 500 // bytes of a line in an answer

// findings are the part of an answer that is about some files.
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

// scanner searches one file after the other, with one buffer.
type scanner struct {
	m      *matcher
	around int
	buf    []byte
	size   int64 // of the file, which saves the read that finds its end; 0 when unknown

	out     findings
	path    string
	crlf    bool
	counted int // offset in buf of a line
	line    int // number of that line, from 1
	shown   int // offset in buf behind the last line in the answer; negative when that has left buf
	after   int // lines still to show
}

func newScanner(m *matcher, around int) *scanner {
	return &scanner{m: m, around: around, buf: make([]byte, toolserver.ReadChunk)}
}

// file searches r. The answer names it by path.
func (s *scanner) file(ctx context.Context, r io.Reader, path string) findings {
	s.out, s.path, s.line, s.counted, s.shown, s.after = findings{}, path, 1, 0, 0, 0
	var total int64
	end, from := 0, 0 // buf[from:end] is not searched yet
	for first := true; ; first = false {
		n, err := r.Read(s.buf[end:])
		total += int64(n)
		end += n
		if first {
			if toolserver.LooksBinary(s.buf[:end]) {
				s.size = 0
				return findings{binary: true}
			}
			s.crlf = bytes.Contains(s.buf[:end], []byte("\r\n"))
		}
		last := err != nil || s.size > 0 && total >= s.size
		cut := end
		if !last {
			cut = from + bytes.LastIndexByte(s.buf[from:end], '\n') + 1
			if cut == from && end < len(s.buf) {
				continue
			}
			if cut == from && len(s.buf) < s.m.longest {
				s.buf = append(s.buf, make([]byte, len(s.buf))...)
				continue
			}
			if cut == from {
				cut = end // a longer line is searched in pieces
			}
		}
		s.block(from, cut)
		if last || s.out.full || ctx.Err() != nil {
			s.size = 0
			return s.out
		}
		from, end = s.slide(cut, end)
	}
}

// block searches the whole lines of buf[from:cut].
func (s *scanner) block(from, cut int) {
	b := s.buf[:cut]
	for pos := from; ; {
		start, end, ok := s.m.next(b, pos, s.crlf)
		if !ok {
			break
		}
		s.showAfter(b, start)
		if s.out.full {
			return
		}
		before := start
		for range s.around {
			if before <= max(0, s.shown) {
				break
			}
			before = bytes.LastIndexByte(b[:before-1], '\n') + 1
		}
		if s.around > 0 && s.out.matches > 0 && before > s.shown {
			s.out.text = append(s.out.text, "--\n"...)
		}
		s.showLines(b, before, start, '-')
		s.show(b[start:end], start, ':')
		s.out.matches++
		s.shown = min(end+1, cut)
		s.after = s.around
		s.out.full = s.out.matches >= maxMatches || len(s.out.text) >= toolserver.MaxText
		pos = end + 1
	}
	s.showAfter(b, cut)
}

// showAfter shows the context after the last match, up to limit.
func (s *scanner) showAfter(b []byte, limit int) {
	for s.after > 0 && s.shown < limit {
		end := limit
		if i := bytes.IndexByte(b[s.shown:limit], '\n'); i >= 0 {
			end = s.shown + i
		}
		s.show(b[s.shown:end], s.shown, '-')
		s.shown = min(end+1, limit)
		s.after--
	}
}

func (s *scanner) showLines(b []byte, from, to int, mark byte) {
	for from < to {
		end := from + bytes.IndexByte(b[from:to], '\n')
		s.show(b[from:end], from, mark)
		from = end + 1
	}
}

// show appends a line with its path and number, as grep -n does. The mark is : for
// a match and - for context.
func (s *scanner) show(line []byte, at int, mark byte) {
	s.line += bytes.Count(s.buf[s.counted:at], []byte("\n"))
	s.counted = at
	t := append(append(s.out.text, confine.ShownName(s.path)...), mark)
	t = append(strconv.AppendInt(t, int64(s.line), 10), mark)
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > maxShownLine {
		t = append(t, toolserver.WholeRunes(line[:maxShownLine])...)
		t = fmt.Appendf(t, "[toolpipe: %d bytes in this line]", len(line))
	} else {
		t = append(t, line...)
	}
	s.out.text = append(t, '\n')
}

// slide moves to the front of the buffer what is still needed: the text that is not
// searched yet, and lines that may be the context before its first match.
func (s *scanner) slide(cut, end int) (from, newEnd int) {
	keep := cut
	for range s.around {
		if keep <= max(0, s.shown) {
			break
		}
		keep = bytes.LastIndexByte(s.buf[:keep-1], '\n') + 1
	}
	if cut-keep > len(s.buf)/2 {
		keep = cut // long lines: the buffer is needed for new text
	}
	s.line += bytes.Count(s.buf[s.counted:max(keep, s.counted)], []byte("\n"))
	s.counted = max(s.counted, keep) - keep
	newEnd = copy(s.buf, s.buf[keep:end])
	s.shown -= keep
	return cut - keep, newEnd
}
