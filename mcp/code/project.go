package code

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"toolpipe/mcp/code/lexis"
	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
)

// A project is the definitions of all source files below a path.
type project struct {
	survey survey
	files  []*sourceFile // without a layout; layoutOf makes it
	texts  map[*sourceFile][]byte
}

func (c *call) project(ctx context.Context, path string) (*project, error) {
	p := &project{survey: survey{call: c, maxFiles: 20_000, maxBytes: 64 << 20, wants: isProgram}, texts: map[*sourceFile][]byte{}}
	o := c.outliner(ctx)
	defer o.close()
	err := p.survey.each(ctx, path, func(s *source) error {
		language := lexis.Of(s.path, s.text)
		if language == nil {
			return nil
		}
		defs, err := o.outline(s.path, s.text)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			p.survey.unread++
		}
		if len(defs) > 0 {
			f := &sourceFile{path: s.path, language: language, defs: defs}
			p.files = append(p.files, f)
			p.texts[f] = s.text
		}
		return nil
	})
	return p, err
}

// layoutOf gives the layout of a file, which takes memory that most files never
// need.
func (p *project) layoutOf(f *sourceFile) *layout {
	if f.layout == nil {
		f.layout = newLayout(f.language, p.texts[f])
	}
	return f.layout
}

// place says where a definition is.
func place(f *sourceFile, d *Definition) string {
	return confine.ShownName(f.path) + ":" + linesOf(d)
}

// linesOf is the lines of a definition, with ~ where the last is a guess.
func linesOf(d *Definition) string {
	lines := fmt.Sprint(d.Start)
	if d.lastLine() > d.Start {
		lines = fmt.Sprintf("%d-%d", d.Start, d.lastLine())
	}
	if d.Guessed {
		lines += "~"
	}
	return lines
}

const maxTreeLines = 1000

// A branch is a line of a tree, and what stands below it. Branches of one key are
// the same, and are followed once.
type branch struct {
	key, label string
	below      func() []branch
}

// A treeText is a tree while it is written, two spaces for each level.
type treeText struct {
	ctx      context.Context
	b        []byte
	deepest  int // levels below the first line
	lines    int
	more     int // branches that are left out, with what is below them
	deeper   int // branches whose own are left out, as they are at the deepest level
	followed map[string]bool
	way      []string // the keys from the first line to here
}

func (t *treeText) add(br branch) {
	if t.ctx.Err() != nil {
		return
	}
	if t.lines == maxTreeLines || len(t.b) > toolserver.MaxText {
		t.more++
		return
	}
	t.lines++
	depth := len(t.way)
	t.b = append(append(t.b, bytes.Repeat([]byte("  "), depth)...), br.label...)
	if slices.Contains(t.way, br.key) {
		t.b = append(t.b, "  (cycle)\n"...)
		return
	}
	var below []branch
	if br.below != nil {
		below = br.below()
	}
	switch {
	case len(below) == 0:
		t.b = append(t.b, '\n')
		return
	case t.followed[br.key]:
		t.b = append(t.b, "  (see above)\n"...)
		return
	case depth == t.deepest:
		t.b = append(t.b, "  ...\n"...)
		t.deeper++
		return
	}
	t.b = append(t.b, '\n')
	if t.followed == nil {
		t.followed = map[string]bool{}
	}
	t.followed[br.key] = true
	t.way = append(t.way, br.key)
	for _, next := range below {
		t.add(next)
	}
	t.way = t.way[:depth]
}

// appendNotes says what the tree left out.
func (t *treeText) appendNotes(b []byte) []byte {
	if t.more > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d more branches, and what is below them, are left out; a path further down shows less\n", t.more)
	}
	if t.deeper > 0 {
		b = fmt.Appendf(b, "[toolpipe] \"...\": %d branches go on below level %d\n", t.deeper, t.deepest)
	}
	return b
}
