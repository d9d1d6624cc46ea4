package mcp

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

const (
	// maxText is the longest text that a tool answers: a little less than
	// what a model is shown without a cut (DESIGN part 4).
	maxText   = 240 << 10
	maxListed = 5000 // entries that a listing shows
)

func (v *view) listDirectory(ctx context.Context, args arguments) (*Result, error) {
	p, dir, err := v.startDirectory(args)
	if err != nil {
		return nil, err
	}
	defer p.close()
	defer dir.Close()
	list, total, err := v.entries(ctx, dir, p.rel, maxListed)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", p.asked, err)
	}
	var b []byte
	shown := 0
	for _, e := range list {
		if len(b) > maxText {
			break
		}
		b = appendListed(b, dir, e)
		shown++
	}
	switch {
	case total == 0:
		b = append(b, "(empty directory)\n"...)
	case shown < total:
		b = fmt.Appendf(b, "[toolpipe] %d of %d entries are shown; search_files finds others by name\n", shown, total)
	}
	return textResult(b), nil
}

// startDirectory opens the directory that the path argument names, the root
// where there is none. The caller closes both.
func (v *view) startDirectory(args arguments) (*place, *os.Root, error) {
	path := "."
	if args.has("path") {
		path = args.text("path")
	}
	p, err := v.find(path)
	if err != nil {
		return nil, nil, err
	}
	dir, err := p.directory()
	if err != nil {
		p.close()
		return nil, nil, err
	}
	return p, dir, nil
}

// appendListed appends a line: kind, size, name.
func appendListed(b []byte, dir *os.Root, e entry) []byte {
	size, target := "-", ""
	switch {
	case e.Type().IsRegular():
		if info, err := dir.Lstat(e.Name()); err == nil {
			size = strconv.FormatInt(info.Size(), 10)
		}
	case e.Type()&fs.ModeSymlink != 0:
		if t, err := dir.Readlink(e.Name()); err == nil && !leadsOverSecret(t) {
			target = " -> " + shownName(t)
		}
	}
	b = fmt.Appendf(b, "%-9s %12s  %s", kindOf(e.Type()), size, shownName(e.Name()))
	if e.IsDir() {
		b = append(b, '/')
	}
	return append(append(b, target...), '\n')
}

// leadsOverSecret says whether the target of a link has a name that is hidden.
func leadsOverSecret(target string) bool {
	for name := range strings.SplitSeq(filepath.ToSlash(target), "/") {
		if secret(name) != "" {
			return true
		}
	}
	return false
}

// shownName is a name on a line of its own: as it is, or quoted where it
// would not look like what it is.
func shownName(name string) string {
	plain := name != "" && name == strings.TrimSpace(name) && name[0] != '"'
	for _, r := range name {
		plain = plain && r != unicode.ReplacementChar && unicode.IsGraphic(r)
	}
	if plain {
		return name
	}
	return strconv.Quote(name)
}

const defaultDepth = 3

func (v *view) getTree(ctx context.Context, args arguments) (*Result, error) {
	p, dir, err := v.startDirectory(args)
	if err != nil {
		return nil, err
	}
	defer p.close()
	defer dir.Close()
	deepest := args.integer("max_depth", defaultDepth)
	if deepest < 1 {
		return nil, fmt.Errorf("max_depth must be at least 1, not %d", deepest)
	}
	t := outline{v: v, ctx: ctx, deepest: deepest}
	t.text = append(append(t.text, shownName(p.rel)...), "/\n"...)
	t.directory(dir, p.rel, 1)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if t.full {
		t.text = fmt.Appendf(t.text, "[toolpipe] the tree stops here after %d entries; give a path further down or a smaller max_depth\n", t.lines)
	}
	return textResult(t.left.appendTo(t.text)), nil
}

// outline is a tree being written, two spaces for each level.
type outline struct {
	v       *view
	ctx     context.Context
	deepest int64 // as asked
	text    []byte
	lines   int
	left    leftOut
	full    bool
}

func (t *outline) directory(dir *os.Root, at string, depth int) {
	list, total, err := t.v.entries(t.ctx, dir, at, maxListed)
	if err != nil {
		t.left.unread++
		return
	}
	w := walked{at: at}
	for _, e := range list {
		if t.lines >= maxListed || len(t.text) > maxText {
			t.full = true
		}
		if t.full || t.ctx.Err() != nil {
			return
		}
		t.lines++
		for range depth {
			t.text = append(t.text, ' ', ' ')
		}
		t.text = append(t.text, shownName(e.Name())...)
		if !e.IsDir() {
			t.text = append(t.text, '\n')
			continue
		}
		t.text = append(t.text, '/', '\n')
		switch {
		case int64(depth) >= t.deepest:
		case depth >= maxDepthWalked:
			t.left.deep++
		default:
			t.enter(dir, e.Name(), w.rel(e.Name()), depth+1)
		}
	}
	t.full = t.full || total > len(list)
}

func (t *outline) enter(dir *os.Root, name, rel string, depth int) {
	sub, err := t.v.enter(dir, name, rel)
	if err != nil {
		t.left.unread++
		return
	}
	defer sub.Close()
	t.directory(sub, rel, depth)
}
