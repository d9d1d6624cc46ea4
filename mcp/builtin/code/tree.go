package code

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"toolpipe/mcp/toolserver"
)

const maxTreeLines = 1000

// A branch is a line of a tree, and what stands below it. Branches of one label are
// the same, and are followed once.
type branch struct {
	label string
	below func() []branch // nil for nothing
}

// A treeText is a tree while it is written, two spaces for each level.
type treeText struct {
	ctx      context.Context
	b        []byte
	deepest  int // levels below the first line
	lines    int
	more     int             // branches that are left out, without the branches below them
	deeper   int             // branches at the deepest level that have others below them
	followed map[string]bool // the labels of the branches whose own are shown
	way      []string        // the labels from the first line to here
}

func newTree(ctx context.Context, deepest int) *treeText {
	return &treeText{ctx: ctx, deepest: deepest, followed: map[string]bool{}}
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
	var below []branch
	mark, depth := "", len(t.way)
	if slices.Contains(t.way, br.label) {
		mark = "  (cycle)"
	} else if br.below != nil {
		below = br.below()
	}
	switch {
	case len(below) == 0:
	case t.followed[br.label]:
		mark, below = "  (see above)", nil
	case depth == t.deepest:
		mark, below = "  ...", nil
		t.deeper++
	default:
		t.followed[br.label] = true
	}
	t.b = fmt.Appendf(t.b, "%s%s%s\n", strings.Repeat("  ", depth), br.label, mark)
	t.way = append(t.way, br.label)
	for _, next := range below {
		t.add(next)
	}
	t.way = t.way[:depth]
}

// appendNotes says how much the tree left out.
func (t *treeText) appendNotes(b []byte) []byte {
	if t.more > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d more branches, and what is below them, are left out; a path further down shows less\n", t.more)
	}
	if t.deeper > 0 {
		b = fmt.Appendf(b, "[toolpipe] \"...\": %d branches go on below level %d\n", t.deeper, t.deepest)
	}
	return b
}
