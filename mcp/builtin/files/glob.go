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
)

// errFull ends a walk when the answer is full.
var errFull = errors.New("the answer is full")

const maxFound = 2000 // paths in one answer

func searchFiles(ctx context.Context, l *confine.Location, args toolserver.Arguments) ([]byte, error) {
	g, err := parseGlob(args.Text("pattern"))
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
			if !g.matchesEntry(w.At, from, e) {
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

// glob is a pattern over paths with slashes: * ? [a-z] within a name, ** for any number of
// directories, {a,b} for either. A pattern without a slash matches the name, at any depth. A
// pattern that ends in a slash matches directories.
type glob struct {
	nameOnly     bool          // the pattern has no slash
	alternatives []alternative // the pattern with its braces expanded
}

type alternative struct {
	names   []string // patterns of one name each, and **
	dirOnly bool     // the pattern ends in a slash
}

const (
	maxAlternatives = 256
	maxExpanded     = 64 << 10 // bytes of all alternatives together
)

func parseGlob(pattern string) (*glob, error) {
	switch {
	case pattern == "":
		return nil, errors.New("the pattern is empty; * matches every name")
	case len(pattern) > toolserver.MaxPattern:
		return nil, fmt.Errorf("the pattern has %d bytes, at most %d are allowed", len(pattern), toolserver.MaxPattern)
	}
	all, err := expandBraces(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	g := &glob{nameOnly: !strings.Contains(pattern, "/")}
	size := 0
	for _, a := range all {
		if size += len(a); size > maxExpanded {
			return nil, fmt.Errorf("pattern %q: its alternatives have more than %d bytes together", pattern, maxExpanded)
		}
		a, dir := strings.CutSuffix(strings.TrimPrefix(strings.TrimPrefix(a, "./"), "/"), "/")
		names := strings.Split(a, "/")
		for _, n := range names {
			if _, err := path.Match(n, ""); err != nil {
				return nil, fmt.Errorf("pattern %q: %q is not complete ([ needs ], a final \\ a character)", pattern, n)
			}
		}
		g.alternatives = append(g.alternatives, alternative{names, dir})
	}
	return g, nil
}

// expandBraces replaces each {a,b} by its alternatives. It expands the outer braces first, so
// that braces inside one alternative do not multiply the others.
func expandBraces(pattern string) (all []string, err error) {
	open := strings.IndexByte(pattern, '{')
	if open < 0 {
		return []string{pattern}, nil
	}
	depth, end, cuts := 1, open, []int{open} // the bytes around each choice
	for depth > 0 {
		if end++; end == len(pattern) {
			return nil, errors.New("{ without }")
		}
		switch pattern[end] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 || depth == 1 && pattern[end] == ',' {
			cuts = append(cuts, end)
		}
	}
	for i, cut := range cuts[1:] {
		more, err := expandBraces(pattern[:open] + pattern[cuts[i]+1:cut] + pattern[end+1:])
		if err != nil {
			return nil, err
		}
		if all = append(all, more...); len(all) > maxAlternatives {
			return nil, fmt.Errorf("more than %d alternatives", maxAlternatives)
		}
	}
	return all, nil
}

// matchesEntry reports whether an entry of a directory matches. The pattern may be for paths
// from the start of the search, where the directory is fromStart, or from the root, where it
// is fromRoot: answers show paths from the root, and models copy them.
func (g *glob) matchesEntry(fromRoot, fromStart string, e fs.DirEntry) bool {
	if g.nameOnly {
		return g.matches(e.Name(), e.IsDir())
	}
	return g.matches(path.Join(fromStart, e.Name()), e.IsDir()) ||
		fromStart != fromRoot && g.matches(path.Join(fromRoot, e.Name()), e.IsDir())
}

// matches reports whether a path matches; with nameOnly, a name.
func (g *glob) matches(rel string, dir bool) bool {
	names := strings.Split(rel, "/")
	return slices.ContainsFunc(g.alternatives, func(a alternative) bool {
		return (dir || !a.dirOnly) && matchNames(a.names, names)
	})
}

// matchNames matches patterns with the names of a path. After a mismatch it goes back only to
// the last **, so its time is limited by the product of both lengths.
func matchNames(patterns, names []string) bool {
	back, behind := -1, 0 // the last ** in patterns, and the first name after its match
	for p, n := 0, 0; ; {
		switch {
		case p < len(patterns) && patterns[p] == "**":
			back, behind = p, n
			p++
		case n == len(names):
			return p == len(patterns)
		case p < len(patterns) && matchName(patterns[p], names[n]):
			p, n = p+1, n+1
		case back < 0:
			return false
		default:
			behind++
			p, n = back+1, behind
		}
	}
}

// matchName matches one name. A ** next to other characters works like *.
func matchName(pattern, name string) bool {
	fits, _ := path.Match(pattern, name)
	return fits
}
