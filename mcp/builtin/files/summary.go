package files

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/text/readable"
)

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
	dir, err := l.Directory()
	if err != nil {
		return nil, err
	}
	list, total, err := l.Access.Entries(ctx, dir, l.Rel, confine.MaxEntries)
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
