package code

import (
	"bytes"
	"context"
	"fmt"

	"toolpipe/mcp/code/lexis"
	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

const (
	maxUsages    = 1000 // lines that one answer shows
	maxShownLine = 300  // bytes of a line in an answer
)

func usagesTool() tool {
	return tool{define("usages", "Find the lines in which a name stands as a whole word, outside comments and strings where the language is known, grouped by file and by the definition they are in.", toolserver.ReadsOnly,
		toolserver.Parameter{Name: "name", Kind: "string", About: "name to find; of Class.method, the last part is matched", Required: true},
		toolserver.Parameter{Name: "path", Kind: "string", About: "file or directory to search; the root when absent"},
	), showUsages}
}

func showUsages(ctx context.Context, c *call, args toolserver.Arguments) (*wire.Result, error) {
	word, err := lastName(args.Text("name"))
	if err != nil {
		return nil, err
	}
	u := usages{word: []byte(word), outliner: c.outliner(ctx), survey: survey{call: c, maxFiles: 50_000, maxBytes: 1 << 30}}
	defer u.outliner.close()
	if err := u.survey.each(ctx, pathOrRoot(args), func(s *source) error { return u.file(ctx, s) }); err != nil {
		return nil, err
	}
	switch {
	case u.more > 0:
		u.text = fmt.Appendf(u.text, "[toolpipe] %d more lines in %d files are left out; a path further down shows them\n", u.more, u.moreFiles)
	case u.shown == 0:
		u.text = fmt.Appendf(u.text, "%q is not used in %q\n", word, pathOrRoot(args))
	}
	return toolserver.TextResult(u.survey.appendTo(u.text)), nil
}

// usages is one call of the tool.
type usages struct {
	word     []byte
	outliner *outliner
	survey   survey

	text      []byte
	shown     int // lines
	more      int // lines that are left out
	moreFiles int // files of these
}

// file adds the lines of a file in which the word is.
func (u *usages) file(ctx context.Context, s *source) error {
	if !bytes.Contains(s.text, u.word) {
		return nil
	}
	language := lexis.Of(s.path, s.text)
	lines := wordLines(language.Mask(s.text), u.word)
	if len(lines) == 0 {
		return nil
	}
	var defs []Definition
	keep := min(len(lines), maxUsages-u.shown)
	if len(u.text) > toolserver.MaxText {
		keep = 0
	}
	if keep > 0 {
		var err error
		if defs, err = u.outliner.outline(s.path, s.text); ctx.Err() != nil {
			return context.Cause(ctx)
		} else if err != nil {
			u.survey.unread++
		}
		u.text = append(u.text, confine.ShownName(s.path)...)
		if language == nil {
			u.text = append(u.text, " (the language is not known: comments and strings are searched too)"...)
		}
		u.text = append(u.text, '\n')
	}
	if keep < len(lines) {
		u.more += len(lines) - keep
		u.moreFiles++
	}
	u.show(s.text, lines[:keep], defs)
	return nil
}

// show adds lines, those of a definition behind its name.
func (u *usages) show(text []byte, lines []int, defs []Definition) {
	var last *Definition
	number, rest := 1, text
	for i, wanted := range lines {
		for ; number < wanted; number++ {
			rest = rest[bytes.IndexByte(rest, '\n')+1:]
		}
		if d := around(defs, wanted); d != last || i == 0 {
			last = d
			if d == nil {
				u.text = append(u.text, "  (outside of definitions)\n"...)
			} else {
				u.text = fmt.Appendf(u.text, "  %s %s  %s\n", d.Kind, d.FullName(), linesOf(d))
			}
		}
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		line = bytes.TrimSpace(line)
		u.text = fmt.Appendf(u.text, "    %d: %s", wanted, toolserver.WholeRunes(line[:min(len(line), maxShownLine)]))
		if len(line) > maxShownLine {
			u.text = fmt.Appendf(u.text, "[toolpipe: %d bytes in this line]", len(line))
		}
		u.text = append(u.text, '\n')
		u.shown++
	}
}

// around is the innermost definition that a line is in; nil when there is none. A
// variable in a function or a class is taken for a part of that.
func around(defs []Definition, line int) (inner *Definition) {
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

// wordLines gives the lines of a mask in which a word is, from 1, each once.
func wordLines(mask, word []byte) (lines []int) {
	line, counted := 1, 0
	for from := 0; ; {
		i := bytes.Index(mask[from:], word)
		if i < 0 {
			return lines
		}
		at, end := from+i, from+i+len(word)
		from = at + 1
		if at > 0 && lexis.IsWord(mask[at-1]) && lexis.IsWord(word[0]) || end < len(mask) && lexis.IsWord(mask[end]) && lexis.IsWord(word[len(word)-1]) {
			continue
		}
		line += bytes.Count(mask[counted:at], []byte("\n"))
		counted, from = at, end
		if len(lines) == 0 || lines[len(lines)-1] != line {
			lines = append(lines, line)
		}
	}
}
