package files

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/goroutine"
)

const (
	maxMatches  = 2000 // matching lines in one answer
	maxContext  = 50   // lines shown before and after a match
	grepBatch   = 64   // files that a worker gets at once
	grepPending = 16   // batches that are being searched or wait to be added to the answer
)

// searched is what a call searches for, and how many lines it shows around each match.
func searched(args toolserver.Arguments) (m *matcher, around int, err error) {
	lines := args.Integer("context", 0)
	if lines < 0 || lines > maxContext {
		return nil, 0, fmt.Errorf("context is %d; 0 to %d lines are shown around a match", lines, maxContext)
	}
	m, err = newMatcher(args.Text("pattern"), args.Flag("ignore_case"))
	return m, int(lines), err
}

func grepFiles(ctx context.Context, l *confine.Location, args toolserver.Arguments) ([]byte, error) {
	m, around, err := searched(args)
	if err != nil {
		return nil, err
	}
	var include selection
	if args.Has("include") {
		if include, err = parseSelection(args.Text("include")); err != nil {
			return nil, err
		}
	}
	g := &grep{Location: l, matcher: m, around: around, include: include}
	if l.Info != nil && l.Info.IsDir() {
		err = g.tree(ctx)
	} else {
		err = g.single(ctx)
	}
	if err != nil {
		return nil, err
	}
	return g.report(args.Text("pattern")), nil
}

type grep struct {
	*confine.Location // of the directory or the file that is searched

	matcher *matcher
	around  int
	include selection

	order   chan chan findings // one channel for each batch, in the order of the walk; each gets one element
	idle    chan *scanner      // scanners without a batch
	running sync.WaitGroup

	found   findings
	skipped confine.Skipped
}

func (g *grep) report(pattern string) []byte {
	text := g.found.text
	switch {
	case g.found.full:
		text = fmt.Appendf(text, "[toolpipe] the search stops here after %d matches; a narrower pattern, path or include shows the others\n", g.found.matches)
	case g.found.matches == 0:
		text = fmt.Appendf(text, "no line matches %q\n", pattern)
	}
	g.skipped.Unreadable += g.found.unreadable
	return g.skipped.AppendTo(text)
}

// single searches the one file at path. A binary file is an error here; tree skips binary
// files.
func (g *grep) single(ctx context.Context) error {
	f, _, err := g.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	s := newScanner(g.matcher, g.around)
	g.found = s.file(ctx, f, g.Rel)
	if g.found.binary {
		return fmt.Errorf("%q is a binary file, not text", g.Asked)
	}
	return context.Cause(ctx)
}

// tree searches all files below a directory. One goroutine walks the directories, others
// search batches of files, and this one adds their findings in the order of the walk.
func (g *grep) tree(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.order, g.idle = make(chan chan findings, grepPending), make(chan *scanner, min(4, runtime.GOMAXPROCS(0)))
	for range cap(g.idle) {
		g.idle <- newScanner(g.matcher, g.around)
	}
	defer g.running.Wait()
	var skipped confine.Skipped
	var err error
	goroutine.StartIn(&g.running, func() {
		defer close(g.order)
		skipped, err = g.Walk(ctx, func(w *confine.Walked) error { return g.deal(ctx, w) })
	})
	for found := range g.order {
		if !g.found.full {
			g.found.add(<-found, g.around > 0)
		}
		if g.found.full {
			cancel()
		}
	}
	if g.found.full {
		return nil
	}
	g.skipped = skipped
	return err
}

func (g *grep) deal(ctx context.Context, w *confine.Walked) error {
	var names []string
	from, _ := filepath.Rel(g.Rel, w.At)
	for _, e := range w.Entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if e.Type().IsRegular() && (g.include == nil || g.include.has(w.At, from, e)) {
			names = append(names, e.Name())
		}
	}
	for some := range slices.Chunk(names, grepBatch) {
		found := make(chan findings, 1)
		select {
		case g.order <- found:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		in, err := g.Access.Batch(w)
		if err != nil {
			found <- findings{unreadable: len(some)}
			continue
		}
		s := <-g.idle
		goroutine.StartIn(&g.running, func() {
			found <- g.batch(ctx, s, in, some)
			in.Close()
			g.idle <- s
		})
	}
	return nil
}

func (g *grep) batch(ctx context.Context, s *scanner, in *confine.Batch, names []string) (all findings) {
	for _, name := range names {
		if ctx.Err() != nil || all.full {
			break
		}
		all.add(g.file(ctx, s, in, name), g.around > 0)
	}
	return all
}

func (g *grep) file(ctx context.Context, s *scanner, in *confine.Batch, name string) findings {
	f, size, err := in.Open(name)
	switch {
	case err != nil:
		return findings{unreadable: 1}
	case f == nil:
		return findings{}
	}
	defer f.Close()
	return s.file(ctx, io.LimitReader(f, size), in.Rel(name)) // the limit saves the read that finds the end
}
