package mcp

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"

	"toolpipe/stream/goroutine"
)

const (
	maxMatches  = 2000 // lines that match, in one answer
	maxContext  = 50
	grepBatch   = 64 // files that a worker gets at once
	grepPending = 16 // batches under way
)

func (v *view) grepFiles(ctx context.Context, args arguments) (*Result, error) {
	lines := args.integer("context", 0)
	if lines < 0 || lines > maxContext {
		return nil, fmt.Errorf("context is %d; 0 to %d lines are shown around a match", lines, maxContext)
	}
	m, err := newMatcher(args.text("pattern"), args.flag("ignore_case"))
	if err != nil {
		return nil, err
	}
	var include *glob
	if args.has("include") {
		if include, err = parseGlob(args.text("include")); err != nil {
			return nil, err
		}
	}
	path := "."
	if args.has("path") {
		path = args.text("path")
	}
	p, err := v.find(path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	g := &grep{v: v, matcher: m, around: int(lines), include: include, start: p.rel}
	if p.info != nil && p.info.IsDir() {
		err = g.tree(ctx, p)
	} else {
		err = g.single(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	return textResult(g.report(args.text("pattern"))), nil
}

// grep is one search in contents.
type grep struct {
	v       *view
	matcher *matcher
	around  int
	include *glob
	start   string

	text    []byte
	matches int
	full    bool
	left    leftOut
}

func (g *grep) report(pattern string) []byte {
	switch {
	case g.full:
		g.text = fmt.Appendf(g.text, "[toolpipe] the search stops here after %d matches; a narrower pattern, path or include shows the others\n", g.matches)
	case g.matches == 0:
		g.text = fmt.Appendf(g.text, "no line matches %q\n", pattern)
	}
	return g.left.appendTo(g.text)
}

// single searches one file, a binary one too, where grep on a tree would skip it.
func (g *grep) single(ctx context.Context, p *place) error {
	f, _, err := p.open()
	if err != nil {
		return err
	}
	defer f.Close()
	s := newScanner(g.matcher, g.around)
	out := s.file(ctx, f, p.rel)
	if out.binary {
		return fmt.Errorf("%q is a binary file, not text", p.asked)
	}
	g.add(out)
	return context.Cause(ctx)
}

// add takes the findings of a file or batch, in order, and says whether there is room.
func (g *grep) add(f findings) bool {
	g.left.unread += f.unread
	if g.full || f.matches == 0 {
		return !g.full
	}
	if g.around > 0 && len(g.text) > 0 {
		g.text = append(g.text, "--\n"...)
	}
	g.text = append(g.text, f.text...)
	g.matches += f.matches
	g.full = f.full || g.matches >= maxMatches || len(g.text) >= maxText
	return !g.full
}

// batch is some files of one directory.
type batch struct {
	in    *walked
	names []string
	found chan findings // one element
}

// tree searches all files below p: one goroutine walks, some search, and this
// one puts what they find in order.
func (g *grep) tree(ctx context.Context, p *place) error {
	dir, err := p.directory()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs := make(chan *batch)
	order := make(chan *batch, grepPending)
	var workers sync.WaitGroup
	defer workers.Wait()
	for range min(4, runtime.GOMAXPROCS(0)) {
		goroutine.StartIn(&workers, func() { g.work(ctx, jobs) })
	}
	type ending struct {
		left leftOut
		err  error
	}
	walkEnd := make(chan ending, 1)
	goroutine.StartIn(&workers, func() {
		defer close(order)
		defer close(jobs)
		left, err := g.v.walk(ctx, dir, p.rel, func(w *walked) error { return g.deal(ctx, w, jobs, order) })
		walkEnd <- ending{left, err}
	})
	for b := range order {
		if !g.full && !g.add(<-b.found) {
			cancel()
		}
	}
	walked := <-walkEnd
	if g.full {
		return nil
	}
	g.left.add(walked.left)
	return walked.err
}

// deal hands the files of a directory to the workers.
func (g *grep) deal(ctx context.Context, w *walked, jobs, order chan<- *batch) error {
	var names []string
	flush := func() error {
		if len(names) == 0 {
			return nil
		}
		b := &batch{w, names, make(chan findings, 1)}
		names = nil
		w.retain()
		select {
		case order <- b:
		case <-ctx.Done():
			w.release()
			return context.Cause(ctx)
		}
		select {
		case jobs <- b:
			return nil
		case <-ctx.Done():
			w.release()
			b.found <- findings{}
			return context.Cause(ctx)
		}
	}
	from := startedAt(g.start, w.at)
	for _, e := range w.entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !e.Type().IsRegular() || g.include != nil && !g.include.finds(w.at, from, e) {
			continue
		}
		if names = append(names, e.Name()); len(names) == grepBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func (g *grep) work(ctx context.Context, jobs <-chan *batch) {
	s := newScanner(g.matcher, g.around)
	for b := range jobs {
		var all findings
		for _, name := range b.names {
			if ctx.Err() != nil || all.full {
				break
			}
			found := g.file(ctx, s, b.in, name)
			if found.matches > 0 && all.matches > 0 && g.around > 0 {
				all.text = append(all.text, "--\n"...)
			}
			all.text = append(all.text, found.text...)
			all.matches += found.matches
			all.unread += found.unread
			all.full = found.full || all.matches >= maxMatches || len(all.text) >= maxText
		}
		b.in.release()
		b.found <- all
	}
}

// file searches a file that was among the entries of in. What has become a
// link since is not followed: it may lead to what is protected.
func (g *grep) file(ctx context.Context, s *scanner, in *walked, name string) findings {
	f, err := in.dir.OpenFile(name, openFlags, 0)
	if err != nil {
		if os.IsNotExist(err) {
			return findings{}
		}
		return findings{unread: 1}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || g.v.own.has(info) {
		return findings{}
	}
	if now, err := in.dir.Lstat(name); err != nil || !os.SameFile(now, info) {
		return findings{unread: 1}
	}
	s.size = info.Size()
	return s.file(ctx, f, in.rel(name))
}
