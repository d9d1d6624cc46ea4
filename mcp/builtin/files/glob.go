package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/text/glob"
)

// errFull ends a walk when the answer is full.
var errFull = errors.New("the answer is full")

const maxFound = 2000 // paths in one answer

func searchFiles(ctx context.Context, l *confine.Location, args toolserver.Arguments) ([]byte, error) {
	wanted, err := parseSelection(args.Text("pattern"))
	if err != nil {
		return nil, err
	}
	var b []byte
	found := 0
	skipped, err := l.Walk(ctx, func(w *confine.Walked) error {
		from, _ := filepath.Rel(l.Rel, w.At)
		for _, e := range w.Entries {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !wanted.has(w.At, from, e) {
				continue
			}
			if found == maxFound || len(b) > toolserver.MaxText {
				return errFull
			}
			found++
			b = append(b, confine.ShownName(w.Rel(e.Name()))...)
			if e.IsDir() {
				b = append(b, '/')
			}
			b = append(b, '\n')
		}
		return nil
	})
	switch {
	case err == errFull:
		b = fmt.Appendf(b, "[toolpipe] the first %d matches are shown; a narrower pattern or path shows the others\n", found)
	case err != nil:
		return nil, err
	case found == 0:
		b = fmt.Appendf(b, "no file matches %q below %q\n", args.Text("pattern"), l.Rel)
	}
	return skipped.AppendTo(b), nil
}

// A selection is a pattern of a tool with its braces expanded. Each pattern is for names if
// none has a slash.
type selection []glob.Pattern

func parseSelection(text string) (s selection, err error) {
	switch {
	case text == "":
		return nil, errors.New("the pattern is empty; * matches every name")
	case len(text) > toolserver.MaxPattern:
		return nil, fmt.Errorf("the pattern has %d bytes, at most %d are allowed", len(text), toolserver.MaxPattern)
	}
	all, err := glob.Expand(text)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", text, err)
	}
	nameOnly := true
	for _, one := range all {
		p := glob.New(strings.TrimPrefix(one, "./"))
		nameOnly = nameOnly && p.NameOnly && !strings.HasPrefix(one, "./")
		s = append(s, p)
	}
	for i := range s {
		s[i].NameOnly = nameOnly
	}
	return s, nil
}

// has reports whether an entry of a directory matches. The pattern may be for paths from the
// start of the search, where the directory is fromStart, or from the root, where it is
// fromRoot: answers show paths from the root, and models copy them.
func (s selection) has(fromRoot, fromStart string, e fs.DirEntry) bool {
	name, dir := e.Name(), e.IsDir()
	fits := func(rel string) bool {
		return slices.ContainsFunc(s, func(p glob.Pattern) bool { return p.Matches(rel, name, dir) })
	}
	if s[0].NameOnly {
		return fits(name)
	}
	return fits(path.Join(fromStart, name)) || fromStart != fromRoot && fits(path.Join(fromRoot, name))
}
