package code

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/text/readable"
)

const (
	maxUsages    = 1000 // lines in one answer
	maxShownLine = 300  // bytes of a line in an answer
)

func showUsages(ctx context.Context, c *call, args toolserver.Arguments) ([]byte, error) {
	word, err := lastName(args.Text("name"))
	if err != nil {
		return nil, err
	}
	holds := word
	if operatorSymbol(word) != "" {
		holds = operator // a space may follow it
	}
	u := usages{word: []byte(word), survey: survey{call: c, maxFiles: 50_000, maxBytes: 1 << 30, holds: holdsAny([]string{holds})}}
	if err := u.survey.each(ctx, args.TextOr("path", "."), func(f *sourceFile) error { return u.file(ctx, f) }); err != nil {
		return nil, err
	}
	switch {
	case u.more > 0:
		u.text = fmt.Appendf(u.text, "[toolpipe] %d more lines in %d files are left out; a deeper path shows them\n", u.more, u.moreFiles)
	case u.shown == 0:
		u.text = fmt.Appendf(u.text, "%q is not used in %q\n", word, args.TextOr("path", "."))
	}
	return u.survey.appendTo(u.text), nil
}

type usages struct {
	word   []byte
	survey survey

	text      []byte
	shown     int // lines
	more      int // omitted lines
	moreFiles int // files with omitted lines
}

func (u *usages) file(ctx context.Context, f *sourceFile) error {
	if !u.survey.holds(f.text) {
		return nil
	}
	f.lay()
	var lines []int // lines with the word in code, each once
	for at := f.nameAt(f.mask, u.word, 0); at >= 0; at = f.nameAt(f.mask, u.word, at+len(u.word)) {
		lines = append(lines, f.lineOf(at))
	}
	lines = slices.Compact(lines)
	keep := min(len(lines), maxUsages-u.shown)
	if len(u.text) > toolserver.MaxText {
		keep = 0
	}
	if keep < len(lines) {
		u.more += len(lines) - keep
		u.moreFiles++
	}
	if keep == 0 {
		return nil
	}
	if err := u.survey.outline(ctx, f); err != nil {
		return err
	}
	u.text = append(u.text, confine.ShownName(f.path)...)
	if f.language == nil {
		u.text = append(u.text, " (the language is not known: comments and strings are searched too)"...)
	}
	u.text = append(u.text, '\n')
	u.show(f, lines[:keep])
	return nil
}

func (u *usages) show(f *sourceFile, lines []int) {
	var last *definition
	for i, n := range lines {
		if d := around(f.defs, n); d != last || i == 0 {
			last = d
			if d == nil {
				u.text = append(u.text, "  (outside of definitions)\n"...)
			} else {
				u.text = fmt.Appendf(u.text, "  %s %s  %s\n", d.Kind, d.fullName(), d.span())
			}
		}
		text := string(bytes.TrimSpace(f.line(f.text, n)))
		mark := fmt.Sprintf("[toolpipe: %d bytes in this line]", len(text))
		u.text = fmt.Appendf(u.text, "    %d: %s\n", n, readable.Cut(text, maxShownLine, mark))
		u.shown++
	}
}

// around is the innermost definition around a line; nil if there is none. A variable in a
// function or a class counts as a part of it.
func around(defs []definition, line int) (inner *definition) {
	for i := range defs {
		d := &defs[i]
		end := d.lastLine()
		switch {
		case line < d.Start || line > end,
			d.Scope != "" && end == d.Line && !isFollowed(d),
			inner != nil && inner.lastLine()-inner.Start < end-d.Start:
		default:
			inner = d
		}
	}
	return inner
}
