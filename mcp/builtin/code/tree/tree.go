// Package tree writes trees as text: a line for each branch, two spaces for each level. A
// branch that occurs several times is shown completely only the first time.
package tree

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"toolpipe/mcp/toolserver"
)

// MaxLines is the largest number of lines of a tree.
const MaxLines = 1000

// A Branch is a line of a tree, and the branches below it. Branches with one label are the
// same, and are followed once.
type Branch struct {
	Label string
	Below func() []Branch // nil for nothing
}

// A Text is a tree that is being written.
type Text struct {
	B        []byte // the text so far
	ctx      context.Context
	deepest  int // levels below the first line
	lines    int
	more     int             // omitted branches, without the branches below them
	deeper   int             // branches at the deepest level that have others below them
	followed map[string]bool // the labels of the branches that were followed
	way      []string        // the labels from the first line to the present one
}

// New begins a tree of at most deepest levels below the first line.
func New(ctx context.Context, deepest int) *Text {
	return &Text{ctx: ctx, deepest: deepest, followed: map[string]bool{}}
}

// Add adds a branch and everything below it, until the context ends.
func (t *Text) Add(br Branch) {
	if t.ctx.Err() != nil {
		return
	}
	if t.lines == MaxLines || len(t.B) > toolserver.MaxText {
		t.more++
		return
	}
	t.lines++
	var below []Branch
	mark, depth := "", len(t.way)
	if slices.Contains(t.way, br.Label) {
		mark = "  (cycle)"
	} else if br.Below != nil {
		below = br.Below()
	}
	switch {
	case len(below) == 0:
	case t.followed[br.Label]:
		mark, below = "  (see above)", nil
	case depth == t.deepest:
		mark, below = "  ...", nil
		t.deeper++
	default:
		t.followed[br.Label] = true
	}
	t.B = fmt.Appendf(t.B, "%s%s%s\n", strings.Repeat("  ", depth), br.Label, mark)
	t.way = append(t.way, br.Label)
	for _, next := range below {
		t.Add(next)
	}
	t.way = t.way[:depth]
}

// AppendNotes appends lines about what the tree left out.
func (t *Text) AppendNotes(b []byte) []byte {
	if t.more > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d more branches, and everything below them, are left out; a deeper path shows less\n", t.more)
	}
	if t.deeper > 0 {
		b = fmt.Appendf(b, "[toolpipe] \"...\": %d branches go on below level %d\n", t.deeper, t.deepest)
	}
	return b
}
