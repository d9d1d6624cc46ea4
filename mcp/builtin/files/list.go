package files

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
)

func listDirectory(ctx context.Context, l *confine.Location, args toolserver.Arguments) ([]byte, error) {
	w, err := l.Directory()
	if err != nil {
		return nil, err
	}
	from, keep := args.Text("from"), toolserver.MaxListed+1
	if from != "" {
		keep = confine.MaxEntries
	}
	list, total, err := l.Access.Entries(ctx, w, keep)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", l.Asked, err)
	}
	first, _ := slices.BinarySearchFunc(list, from, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
	list = list[first:]
	var b []byte
	shown := 0
	for shown < min(len(list), toolserver.MaxListed) && len(b) <= toolserver.MaxText {
		b = appendListed(b, w.Dir, list[shown], l)
		shown++
	}
	switch {
	case total == 0 && l.Access.LeftOutText() == "":
		b = append(b, "(empty directory)\n"...)
	case len(list) == 0:
		b = fmt.Appendf(b, "(no entries from %q on)\n", from)
	case shown < len(list):
		b = fmt.Appendf(b, "[toolpipe] %d of %d entries are shown; go on with from %q\n", shown, total, list[shown].Name())
	case first+shown < total:
		b = fmt.Appendf(b, "[toolpipe] %d of %d entries are shown; search_files finds others by name\n", shown, total)
	}
	return b, nil
}

// appendListed appends a line with the kind, size and name of an entry of the directory at l.
// It does not show the target of a link if a rule hides that name.
func appendListed(b []byte, dir *os.Root, e fs.DirEntry, l *confine.Location) []byte {
	size, target := "-", ""
	switch {
	case e.Type().IsRegular():
		if info, err := dir.Lstat(e.Name()); err == nil {
			size = strconv.FormatInt(info.Size(), 10)
		}
	case e.Type()&fs.ModeSymlink != 0:
		if t, err := dir.Readlink(e.Name()); err == nil && l.Access.Secret(l.Rel, t) == "" && !l.Access.Withholds(l.Rel, t) {
			target = " -> " + confine.ShownName(t)
		}
	}
	b = fmt.Appendf(b, "%-9s %12s  %s", confine.KindOf(e.Type()), size, confine.ShownName(e.Name()))
	if e.IsDir() {
		b = append(b, '/')
	}
	return append(append(b, target...), '\n')
}

const defaultDepth = 3

func getTree(ctx context.Context, l *confine.Location, args toolserver.Arguments) ([]byte, error) {
	w, err := l.Directory()
	if err != nil {
		return nil, err
	}
	deepest := args.Integer("max_depth", defaultDepth)
	if deepest < 1 {
		return nil, fmt.Errorf("max_depth must be at least 1, not %d", deepest)
	}
	t := tree{access: l.Access, ctx: ctx, deepest: deepest}
	t.text = append(append(t.text, confine.ShownName(l.Rel)...), "/\n"...)
	t.directory(w)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if t.full {
		t.text = fmt.Appendf(t.text, "[toolpipe] the tree stops here after %d entries; give a deeper path or a smaller max_depth\n", t.lines)
	}
	return t.skipped.AppendTo(t.text), nil
}

type tree struct {
	access  *confine.Access
	ctx     context.Context
	deepest int64 // level, from 1
	text    []byte
	lines   int
	skipped confine.Skipped
	full    bool
}

func (t *tree) directory(w *confine.Walked) {
	list, total, err := t.access.Entries(t.ctx, w, toolserver.MaxListed)
	if err != nil {
		t.skipped.Unreadable++
		return
	}
	for _, e := range list {
		if t.lines >= toolserver.MaxListed || len(t.text) > toolserver.MaxText {
			t.full = true
		}
		if t.full || t.ctx.Err() != nil {
			return
		}
		t.lines++
		t.text = append(t.text, strings.Repeat("  ", w.Depth+1)+confine.ShownName(e.Name())...)
		if !e.IsDir() {
			t.text = append(t.text, '\n')
			continue
		}
		t.text = append(t.text, '/', '\n')
		if int64(w.Depth+1) >= t.deepest {
			continue
		}
		if sub := t.access.Enter(w, e.Name(), &t.skipped); sub != nil {
			t.directory(sub)
			sub.Dir.Close()
		}
	}
	t.full = t.full || total > len(list)
}
