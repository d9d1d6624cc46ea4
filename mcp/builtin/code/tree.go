package code

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"toolpipe/mcp/toolserver"
)

// maxTreeLines is the largest number of lines of a tree.
const maxTreeLines = 1000

// A branch is a line of a tree, and the branches below it. Branches with one label are the
// same, and are followed once.
type branch struct {
	Label string
	Below func() []branch // nil for nothing
}

// A tree is written as text: a line for each branch, two spaces for each level. A branch that
// occurs several times is shown completely only the first time.
type tree struct {
	B        []byte // the text so far
	ctx      context.Context
	deepest  int // levels below the first line
	lines    int
	more     int             // omitted branches, without the branches below them
	deeper   int             // branches at the deepest level that have others below them
	followed map[string]bool // the labels of the branches that were followed
	way      []string        // the labels from the first line to the present one
}

func newTree(ctx context.Context, deepest int) *tree {
	return &tree{ctx: ctx, deepest: deepest, followed: map[string]bool{}}
}

// add adds a branch and everything below it, until the context ends.
func (t *tree) add(br branch) {
	if t.ctx.Err() != nil {
		return
	}
	if t.lines == maxTreeLines || len(t.B) > toolserver.MaxText {
		t.more++
		return
	}
	t.lines++
	var below []branch
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
		t.add(next)
	}
	t.way = t.way[:depth]
}

func (t *tree) appendNotes(b []byte) []byte {
	if t.more > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d more branches, and everything below them, are left out; a deeper path shows less\n", t.more)
	}
	if t.deeper > 0 {
		b = fmt.Appendf(b, "[toolpipe] \"...\": %d branches go on below level %d\n", t.deeper, t.deepest)
	}
	return b
}
