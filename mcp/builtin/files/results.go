package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/readable"
)

// ResultsName is the name of the server of NewResults.
const ResultsName = "results"

// Results configures the server that reads the results of other tools. Each result is a text
// with a name.
type Results struct {
	Limit int                                                     // bytes of an answer
	Note  string                                                  // for a description: another way to the texts
	List  func() []byte                                           // the results, one on each line
	Open  func(id string) (f *os.File, instead string, err error) // a result, or the answer instead
}

// aside is the room for the lines of toolpipe itself in an answer, in bytes.
const aside = 160

// room is the room for text in an answer. If Limit is smaller than two lines, it is not kept.
func (r *Results) room() int { return max(r.Limit-aside, aside) }

// NewResults makes the server. It is for a model that does not have these results whole.
func NewResults(r Results, version string) *toolserver.Server {
	id := toolserver.Parameter{Name: "id", Kind: "string", About: "such as r12"}
	needed := id
	needed.Required = true
	s := toolserver.New(ResultsName, version)
	add := func(t *toolserver.Builtin, run func(context.Context, toolserver.Arguments) ([]byte, error)) {
		s.AddBuiltin(t, func(ctx context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
			text, err := run(ctx, args)
			if err != nil {
				return nil, err
			}
			return toolserver.TextResult(text), nil
		})
	}
	add(toolserver.Define("read", "Read lines or bytes of a result that was cut or left out. Without id: list them."+r.Note, toolserver.ReadsOnly, toolserver.Effects{None: true}, id,
		toolserver.Parameter{Name: "start_line", Kind: "integer", About: "first line, from 1"},
		toolserver.Parameter{Name: "end_line", Kind: "integer", About: "last line"},
		toolserver.Parameter{Name: "offset", Kind: "integer", About: "first byte, instead of lines"},
		toolserver.Parameter{Name: "bytes", Kind: "integer", About: "how many"},
	), r.read)
	add(toolserver.Define("grep", "Find lines of such a result; returns id:line:text.", toolserver.ReadsOnly, toolserver.Effects{None: true}, needed,
		toolserver.Parameter{Name: "pattern", Kind: "string", About: "RE2", Required: true},
		toolserver.Parameter{Name: "context", Kind: "integer", About: "lines around a match"},
		toolserver.Parameter{Name: "limit", Kind: "integer", About: fmt.Sprintf("matches; %d when absent", usualMatches)},
	), r.grep)
	return s
}

func (r *Results) read(ctx context.Context, args toolserver.Arguments) ([]byte, error) {
	if !args.Has("id") {
		return r.list(), nil
	}
	inBytes := args.Has("offset") || args.Has("bytes")
	if inBytes && (args.Has("start_line") || args.Has("end_line")) {
		return nil, errors.New("give either start_line and end_line, or offset and bytes")
	}
	f, instead, err := r.Open(args.Text("id"))
	if f == nil {
		return []byte(instead), err
	}
	defer f.Close()
	if inBytes {
		return r.bytes(f, args)
	}
	return r.lines(ctx, f, args)
}

// list keeps the end of a long list: the results that the model got last.
func (r *Results) list() []byte {
	all := r.List()
	shown := all
	for len(shown) > r.room() {
		_, shown, _ = bytes.Cut(shown, []byte("\n"))
	}
	if left := bytes.Count(all, []byte("\n")) - bytes.Count(shown, []byte("\n")); left > 0 {
		shown = append(fmt.Appendf(nil, "[toolpipe] %d earlier results are not listed\n", left), shown...)
	}
	if len(all) == 0 {
		return []byte("[toolpipe] no result was cut or left out\n")
	}
	return shown
}

func (r *Results) bytes(f *os.File, args toolserver.Arguments) ([]byte, error) {
	id, offset, n := args.Text("id"), args.Integer("offset", 0), args.Integer("bytes", int64(r.Limit))
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case offset < 0 || n < 1:
		return nil, errors.New("offset must be at least 0, and bytes at least 1")
	case offset > info.Size():
		return nil, fmt.Errorf("%s has %d bytes, offset %d is past the end", id, info.Size(), offset)
	}
	line := 1
	chunk := make([]byte, toolserver.ReadChunk)
	for at := int64(0); at < offset; {
		n, err := f.ReadAt(chunk[:min(int64(len(chunk)), offset-at)], at)
		if err != nil {
			return nil, err
		}
		line += bytes.Count(chunk[:n], []byte("\n"))
		at += int64(n)
	}
	part := make([]byte, min(n, int64(r.room()), info.Size()-offset))
	if _, err := f.ReadAt(part, offset); err != nil && err != io.EOF {
		return nil, err
	}
	end := offset + int64(len(part))
	part = readable.FromRune(part)
	offset = end - int64(len(part))
	if end < info.Size() {
		part = readable.WholeRunes(part)
	}
	b := fmt.Appendf(nil, "[toolpipe] %s: bytes %d to %d of %d, from line %d on\n", id, offset, offset+int64(len(part)), info.Size(), line)
	return append(b, part...), nil
}

// lines reads lines with their numbers. A line that does not fit goes on at an offset.
func (r *Results) lines(ctx context.Context, f *os.File, args toolserver.Arguments) ([]byte, error) {
	id, first, last := args.Text("id"), args.Integer("start_line", 1), args.Integer("end_line", -1)
	if first < 1 || args.Has("end_line") && last < first {
		return nil, errors.New("start_line must be at least 1, and end_line not before it")
	}
	var text []byte
	var line, shown, at int64 // at is the offset of the piece
	begins, goesOn := true, ""
	for piece, err := range pieces(ctx, bufio.NewReaderSize(f, toolserver.ReadChunk)) {
		if err != nil {
			return nil, err
		}
		if begins {
			line++
		}
		if line >= first && (last < 0 || line <= last) && goesOn == "" {
			number := ""
			if begins {
				number = strconv.FormatInt(line, 10) + ":"
			}
			switch room := r.room() - len(text) - len(number); {
			case len(piece) <= room:
				text, shown = append(append(text, number...), piece...), line
			case begins && len(text) > 0:
				goesOn = fmt.Sprintf("start_line %d", line)
			default:
				part := readable.WholeRunes(piece[:max(room, 0)])
				text, shown = append(append(text, number...), part...), line
				goesOn = fmt.Sprintf("offset %d", at+int64(len(part)))
			}
		}
		begins = bytes.HasSuffix(piece, []byte("\n"))
		at += int64(len(piece))
	}
	if first > max(line, 1) {
		return nil, fmt.Errorf("%s has %d lines, start_line %d is past the end", id, line, first)
	}
	b := fmt.Appendf(nil, "[toolpipe] %s: lines %d to %d of %d, of %d bytes\n", id, first, shown, line, at)
	b = append(b, text...)
	if goesOn != "" {
		b = fmt.Appendf(bytes.TrimSuffix(b, []byte("\n")), "\n[toolpipe] the answer is full; go on with %s\n", goesOn)
	}
	return b, nil
}

const usualMatches = 200

func (r *Results) grep(ctx context.Context, args toolserver.Arguments) ([]byte, error) {
	id, lines, most := args.Text("id"), args.Integer("context", 0), args.Integer("limit", usualMatches)
	if lines < 0 || lines > maxContext || most < 1 {
		return nil, fmt.Errorf("context must be 0 to %d, and limit at least 1", maxContext)
	}
	m, err := newMatcher(args.Text("pattern"), false)
	if err != nil {
		return nil, err
	}
	f, instead, err := r.Open(id)
	if f == nil {
		return []byte(instead), err
	}
	defer f.Close()
	s := newScanner(m, int(lines))
	room := r.room()
	s.most = limits{matches: int(min(most, maxMatches)), bytes: room, result: true}
	found := s.file(ctx, f, id)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	text := found.text
	if len(text) > room {
		text = readable.WholeRunes(text[:room])
		found.full, text = true, append(text[:max(bytes.LastIndexByte(text, '\n'), 0)], '\n')
	}
	if found.full {
		return fmt.Appendf(text, "[toolpipe] the search stops here, after %d matching lines; a narrower pattern or a higher limit shows the others\n", found.matches), nil
	}
	return fmt.Appendf(text, "[toolpipe] matching lines: %d\n", found.matches), nil
}
