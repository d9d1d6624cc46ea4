package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
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
	Limit int                               // bytes of an answer
	Note  string                            // for a description: another way to the texts
	List  func() []byte                     // the results, one on each line
	Open  func(id string) (*os.File, error) // a result; fs.ErrNotExist if it is no longer kept
}

// aside is the room for the lines of toolpipe itself in an answer, in bytes.
const aside = 160

// room is the room for text in an answer. If Limit is smaller than two lines, it is not kept.
func (r *Results) room() int { return max(r.Limit-aside, aside) }

// NewResults makes the server. It is for a model that does not have these results whole.
func NewResults(r Results, version string) *toolserver.Server {
	s := toolserver.New(ResultsName, version)
	add := func(name, about string, run func(context.Context, toolserver.Arguments) ([]byte, error), params ...toolserver.Parameter) {
		id := toolserver.Parameter{Name: "id", Kind: "string", About: "such as r12", Required: name == "grep"}
		t := toolserver.Define(name, about, toolserver.ReadsOnly, toolserver.Effects{None: true}, append([]toolserver.Parameter{id}, params...)...)
		s.AddBuiltin(t, func(ctx context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
			text, err := run(ctx, args)
			if errors.Is(err, fs.ErrNotExist) {
				text, err = fmt.Appendf(nil, "[toolpipe] %s is no longer kept", args.Text("id")), nil
			}
			if err != nil {
				return nil, err
			}
			return toolserver.TextResult(text), nil
		})
	}
	add("read", "Read lines or bytes of a result that was cut or left out. Without id: list them."+r.Note, r.read,
		toolserver.Parameter{Name: "start_line", Kind: "integer", About: "first line, from 1"},
		toolserver.Parameter{Name: "end_line", Kind: "integer", About: "last line"},
		toolserver.Parameter{Name: "offset", Kind: "integer", About: "first byte, instead of lines"},
		toolserver.Parameter{Name: "bytes", Kind: "integer", About: "how many"})
	add("grep", "Find lines of such a result; returns id:line:text.", r.grep,
		toolserver.Parameter{Name: "pattern", Kind: "string", About: "RE2", Required: true},
		toolserver.Parameter{Name: "context", Kind: "integer", About: "lines around a match"},
		toolserver.Parameter{Name: "limit", Kind: "integer", About: fmt.Sprintf("matches; %d when absent", usualMatches)})
	return s
}

func (r *Results) read(ctx context.Context, args toolserver.Arguments) ([]byte, error) {
	if !args.Has("id") {
		return r.list(), nil
	}
	read := r.lines
	if args.Has("offset") || args.Has("bytes") {
		read = r.bytes
	}
	f, err := r.Open(args.Text("id"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(ctx, f, args)
}

// list keeps the end of a long list: the results that the model got last.
func (r *Results) list() []byte {
	all := r.List()
	if len(all) == 0 {
		return []byte("[toolpipe] no result was cut or left out\n")
	}
	left := 0
	for ; len(all) > r.room(); left++ {
		_, all, _ = bytes.Cut(all, []byte("\n"))
	}
	if left > 0 {
		all = append(fmt.Appendf(nil, "[toolpipe] %d earlier results are not listed\n", left), all...)
	}
	return all
}

func (r *Results) bytes(ctx context.Context, f *os.File, args toolserver.Arguments) ([]byte, error) {
	offset, n := args.Integer("offset", 0), args.Integer("bytes", int64(r.room()))
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case args.Has("start_line") || args.Has("end_line"):
		return nil, errors.New("give either start_line and end_line, or offset and bytes")
	case offset < 0 || n < 1:
		return nil, errors.New("offset must be at least 0, and bytes at least 1")
	case offset > info.Size():
		return nil, fmt.Errorf("%s has %d bytes, offset %d is past the end", args.Text("id"), info.Size(), offset)
	}
	line := 1
	for piece, err := range pieces(ctx, bufio.NewReaderSize(io.NewSectionReader(f, 0, offset), toolserver.ReadChunk)) {
		if err != nil {
			return nil, err
		}
		line += bytes.Count(piece, []byte("\n"))
	}
	text, err := io.ReadAll(io.NewSectionReader(f, offset, min(n, int64(r.room()))))
	end := offset + int64(len(text))
	text = readable.FromRune(text)
	offset = end - int64(len(text))
	if end < info.Size() {
		text = readable.WholeRunes(text)
	}
	return fmt.Appendf(nil, "[toolpipe] %s: bytes %d to %d of %d, from line %d on\n%s", args.Text("id"), offset, offset+int64(len(text)), info.Size(), line, text), err
}

// lines reads lines with their numbers. A line that does not fit goes on at an offset.
func (r *Results) lines(ctx context.Context, f *os.File, args toolserver.Arguments) ([]byte, error) {
	id, first, last := args.Text("id"), args.Integer("start_line", 1), args.Integer("end_line", math.MaxInt64)
	if first < 1 || last < first {
		return nil, errors.New("start_line must be at least 1, and end_line not before it")
	}
	var text []byte
	var line, shown, at int64 // at is the offset of the piece
	begins, goesOn := true, ""
	for piece, err := range pieces(ctx, bufio.NewReaderSize(f, toolserver.ReadChunk)) {
		if err != nil {
			return nil, err
		}
		number := ""
		if begins {
			line++
			number = strconv.FormatInt(line, 10) + ":"
		}
		room := r.room() - len(text) - len(number)
		switch {
		case line < first || line > last || goesOn != "":
		case len(piece) > room && begins && len(text) > 0:
			goesOn = fmt.Sprintf("start_line %d", line)
		default:
			part := piece
			if len(piece) > room {
				part = readable.WholeRunes(piece[:max(room, 0)])
				goesOn = fmt.Sprintf("offset %d", at+int64(len(part)))
			}
			text, shown = append(append(text, number...), part...), line
		}
		begins = bytes.HasSuffix(piece, []byte("\n"))
		at += int64(len(piece))
	}
	if first > max(line, 1) {
		return nil, fmt.Errorf("%s has %d lines, start_line %d is past the end", id, line, first)
	}
	if goesOn != "" {
		text = fmt.Appendf(bytes.TrimSuffix(text, []byte("\n")), "\n[toolpipe] the answer is full; go on with %s\n", goesOn)
	}
	return fmt.Appendf(nil, "[toolpipe] %s: lines %d to %d of %d, of %d bytes\n%s", id, first, shown, line, at, text), nil
}

const usualMatches = 200

func (r *Results) grep(ctx context.Context, args toolserver.Arguments) ([]byte, error) {
	m, around, err := searched(args)
	if err != nil {
		return nil, err
	}
	id, room := args.Text("id"), r.room()
	f, err := r.Open(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := newScanner(m, around)
	s.most = limits{matches: int(min(args.Integer("limit", usualMatches), maxMatches)), bytes: room, result: true}
	found := s.file(ctx, f, id)
	text, says := found.text, "[toolpipe] matching lines: %d\n"
	if len(text) > room {
		found.full, text = true, text[:bytes.LastIndexByte(text[:room], '\n')+1]
	}
	if found.full {
		says = "[toolpipe] the search stops here, after %d matching lines; a narrower pattern or a higher limit shows the others\n"
	}
	return fmt.Appendf(text, says, found.matches), context.Cause(ctx)
}
