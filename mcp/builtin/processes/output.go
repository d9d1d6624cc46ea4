package processes

import (
	"bytes"
	"context"
	"fmt"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/readable"
)

const (
	defaultRead = 16 << 10 // bytes of output that are read at once
	minRead     = 100      // room for a character or a sequence
	maxMatches  = 200      // lines that a search shows
	maxShown    = 400      // bytes of a matching line that an answer shows
	maxSearched = 64 << 10 // bytes of a line that are searched
	longestEsc  = 4 << 10  // bytes of an escape sequence; some contain a text
)

func (s *server) readOutput(_ context.Context, p *program, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
	if args.Flag("screen") {
		return readScreen(p, args)
	}
	limit := args.Integer("max_bytes", defaultRead)
	if most := s.maxRead(); limit < minRead || limit > int64(most) {
		return nil, fmt.Errorf("max_bytes is %d; %d to %d are allowed", limit, minRead, most)
	}
	since, err := p.since(args, -1)
	if err != nil {
		return nil, err
	}
	state := p.describe() // before the output is read: if the program has ended, its output is complete
	if since < 0 {
		since = p.lastLines(int(limit))
	}
	text, next := p.part(since, int(limit), args.Flag("raw"))
	b := fmt.Appendf(nil, "[toolpipe] %s; bytes %d to %d of %d follow; since=%d goes on from there\n", state, since, next, max(next, p.out.Size()), next)
	return toolserver.TextResult(append(b, text...)), nil
}

// maxRead is how many bytes of output one answer has at most.
func (s *server) maxRead() int { return max(toolserver.MaxText, s.commands.Head(0, 0)) }

// since is the argument since, an offset in the output; otherwise if it is absent.
func (p *program) since(args toolserver.Arguments, otherwise int64) (int64, error) {
	since := args.Integer("since", otherwise)
	if size := p.out.Size(); args.Has("since") && (since < 0 || since > size) {
		return 0, fmt.Errorf("since is %d; %s has written %d bytes since its start", since, p.id, size)
	}
	return since, nil
}

// lastLines is the offset of the first line that begins in the last n bytes of the output, or
// the offset of these n bytes if none begins there.
func (p *program) lastLines(n int) int64 {
	from := max(0, p.out.Size()-int64(n))
	b, at := p.out.From(from, n)
	if i := bytes.IndexByte(b, '\n'); from > 0 && i >= 0 && i+1 < len(b) {
		return at + int64(i) + 1
	}
	return from
}

// part is the output from an offset on, at most limit bytes, and the offset of the next part.
// An escape sequence or a character that is not complete yet is left to the next part.
func (p *program) part(since int64, limit int, raw bool) (text []byte, next int64) {
	ended := p.hasEnded()
	for next = since; limit > 0; {
		b, at := p.out.From(next, limit)
		if at > next {
			text = fmt.Appendf(text, "\n[toolpipe] %d bytes are left out here\n", at-next)
		}
		next = at
		if len(b) == 0 {
			break
		}
		limit -= len(b)
		shown, rest := plain(b)
		if raw {
			rest = len(b) - len(readable.WholeRunes(b))
		}
		if atEnd := at+int64(len(b)) >= p.out.Size(); atEnd && ended || !atEnd && rest == len(b) {
			rest = 0 // nothing will complete it
		}
		if raw {
			shown = b[:len(b)-rest]
		}
		text = append(text, shown...)
		next = at + int64(len(b)-rest)
		if rest > 0 {
			break
		}
	}
	return text, next
}

// plain is b without bytes for terminals: escape sequences, and control characters other than
// tabs and line ends. A carriage return becomes a line end. rest is the number of bytes at
// the end of b that are left out because later bytes decide about them.
func plain(b []byte) (text []byte, rest int) {
	text = make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == 0x1b:
			n := sequence(b[i:])
			if n == 0 {
				return text, len(b) - i
			}
			i += n - 1
		case c == '\r' && i+1 == len(b):
			return text, 1
		case c == '\r' && b[i+1] != '\n' && b[i+1] != '\r':
			text = append(text, '\n')
		case c >= ' ' && c != 0x7f || c == '\t' || c == '\n':
			text = append(text, c)
		}
	}
	whole := readable.WholeRunes(text)
	return whole, len(text) - len(whole)
}

// sequence is the length of the escape sequence at the beginning of b, 0 if it is not
// complete (ECMA-48, 5.4 and 5.6). A line end or another ESC ends a broken sequence.
func sequence(b []byte) int {
	isString := len(b) > 1 && bytes.IndexByte([]byte("]P^_X"), b[1]) >= 0 // contains a text, up to BEL or ESC \
	isControl := len(b) > 1 && b[1] == '['                                // has parameters, up to its final byte
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case isString && c == 0x1b && i+1 == len(b):
			return 0
		case isString && c == 0x1b && b[i+1] == '\\':
			return i + 2
		case isString && c == '\a':
			return i + 1
		case c == '\n' || c == 0x1b:
			return i
		case isString, isControl && i == 1, c < '0' && c >= ' ':
		case isControl && c < '@' && c >= ' ':
		default:
			return i + 1
		}
	}
	if len(b) > longestEsc {
		return min(2, len(b))
	}
	return 0
}

func (s *server) search(ctx context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
	re, _, err := toolserver.CompilePattern(args.Text("pattern"), false)
	if err != nil {
		return nil, err
	}
	programs := s.all()
	if args.Has("id") {
		p, err := s.find(args.Text("id"))
		if err != nil {
			return nil, err
		}
		programs = []*program{p}
	}
	if args.Flag("screen") {
		return searchScreens(programs, args.Has("id"), re)
	}
	var b []byte
	found := 0
	for _, p := range programs {
		for next, size := int64(0), p.out.Size(); next < size; {
			part, at := p.out.From(next, int(size))
			if at > next {
				b = fmt.Appendf(b, "[toolpipe] %s: the bytes %d to %d are no longer there\n", p.id, next, at)
			}
			next = at + int64(len(part))
			for line := range bytes.Lines(part) {
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				if text, _ := plain(bytes.TrimRight(line[:min(len(line), maxSearched)], "\r\n")); re.Match(text) {
					if found++; found <= maxMatches {
						b = fmt.Appendf(b, "%s %d: %s\n", p.id, at, readable.Cut(string(text), maxShown, "…"))
					}
				}
				at += int64(len(line))
			}
		}
	}
	switch {
	case found == 0:
		b = append(b, "[toolpipe] no line matches\n"...)
	case found > maxMatches:
		b = fmt.Appendf(b, "[toolpipe] %d more lines match\n", found-maxMatches)
	}
	return toolserver.TextResult(append([]byte("[toolpipe] id and offset of each line that matches:\n"), b...)), nil
}
