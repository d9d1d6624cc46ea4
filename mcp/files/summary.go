package files

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
)

const (
	maxSummarised  = 64 << 20 // bytes of a file whose lines are counted
	summaryLines   = 10       // first lines that a summary shows
	summaryLineLen = 160      // bytes that it shows of one of them
)

// getFileSummary answers what a file or directory is, without its content: a
// model learns from it what reading the file would cost.
func getFileSummary(ctx context.Context, a *confine.Access, args toolserver.Arguments) ([]byte, error) {
	p, err := a.Find(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if p.Info != nil && p.Info.IsDir() {
		return summariseDirectory(ctx, a, p)
	}
	f, info, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := fmt.Appendf(nil, "path: %s\nsize: %d bytes\n", confine.ShownName(p.Rel), info.Size())
	r := bufio.NewReaderSize(io.LimitReader(f, maxSummarised), toolserver.ReadChunk)
	head, err := r.Peek(toolserver.ReadChunk)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%q: %w", p.Asked, confine.Reason(err))
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
	var s summary
	if err := s.read(ctx, r); err != nil {
		return nil, fmt.Errorf("%q: %w", p.Asked, confine.Reason(err))
	}
	return s.appendTo(append(b, '\n'), info.Size()), nil
}

func summariseDirectory(ctx context.Context, a *confine.Access, p *confine.Location) ([]byte, error) {
	dir, err := p.Directory()
	if err != nil {
		return nil, err
	}
	list, total, err := a.Entries(ctx, dir, p.Rel, confine.MaxEntries)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", p.Asked, err)
	}
	dirs := 0
	for _, e := range list {
		if e.IsDir() {
			dirs++
		}
	}
	return fmt.Appendf(nil, "path: %s\nkind: directory\nentries: %d, of them %d directories\n", confine.ShownName(p.Rel), total, dirs), nil
}

// summary is what one pass over a text gives.
type summary struct {
	lines   int
	longest int    // bytes of the longest line
	partial bool   // the last line has no end
	first   []byte // the first lines, numbered
}

func (s *summary) read(ctx context.Context, r *bufio.Reader) error {
	length := 0
	for piece, err := range pieces(ctx, r) {
		if err != nil {
			return err
		}
		if length == 0 {
			s.begin(piece)
		}
		length += len(piece)
		s.longest = max(s.longest, length)
		if s.partial = !bytes.HasSuffix(piece, []byte("\n")); !s.partial {
			length = 0
		}
	}
	return nil
}

// begin counts a line, and keeps its beginning if it is one of the first.
func (s *summary) begin(line []byte) {
	s.lines++
	if s.lines > summaryLines {
		return
	}
	line = bytes.TrimRight(line, "\r\n")
	s.first = fmt.Appendf(s.first, "%6d  %s\n", s.lines, toolserver.WholeRunes(line[:min(len(line), summaryLineLen)]))
}

func (s *summary) appendTo(b []byte, size int64) []byte {
	b = fmt.Appendf(b, "lines: %d", s.lines)
	if size > maxSummarised {
		b = fmt.Appendf(b, " in the first %d bytes", maxSummarised)
	} else if s.partial {
		b = append(b, "\nthe last line has no line end"...)
	}
	if s.longest > 1000 {
		b = fmt.Appendf(b, "\nlongest line: %d bytes", s.longest)
	}
	if s.lines > 0 {
		b = append(b, "\nfirst lines:"...)
	}
	return append(append(b, '\n'), s.first...)
}
