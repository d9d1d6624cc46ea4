package files

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
)

// errFull ends a walk whose answer is full.
var errFull = errors.New("the answer is full")

const maxFound = 2000 // paths in one answer

func searchFiles(ctx context.Context, a *confine.Access, args toolserver.Arguments) ([]byte, error) {
	g, err := parseGlob(args.Text("pattern"))
	if err != nil {
		return nil, err
	}
	p, err := a.Find(args.TextOr("path", "."))
	if err != nil {
		return nil, err
	}
	defer p.Close()
	var b []byte
	found := 0
	skipped, err := p.Walk(ctx, func(w *confine.Walked) error {
		from := fromStart(p.Rel, w.At)
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
		b = fmt.Appendf(b, "no file matches %q below %q\n", args.Text("pattern"), p.Rel)
	}
	return skipped.AppendTo(b), nil
}

// fromStart turns a directory's path from the root into its path from the
// directory start, at or below which it is.
func fromStart(start, at string) string {
	if start == "." {
		return at
	}
	if at == start {
		return "."
	}
	return strings.TrimPrefix(at, start+"/")
}
