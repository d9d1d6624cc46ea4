package code

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/goroutine"
)

// A survey reads the source files at and below a path and counts what it leaves out. It
// visits one file after the other while it reads the next ones.
type survey struct {
	call     *call
	maxFiles int
	maxBytes int
	wants    func(name string) bool // selects files by name; nil for all
	holds    func(text []byte) bool // selects files by text; nil for all
	surveyed
}

type surveyed struct {
	files, bytes int
	skipped      confine.Skipped
	long         int      // files longer than maxSource
	full         bool     // maxFiles or maxBytes was reached
	unread       []string // files without definitions because ctags failed
	faulty       []string // files that are left out because of a defect in this program
}

var errFull = errors.New("the limit of a survey is reached")

const (
	surveyBatch   = 32 // files that one goroutine reads
	surveyPending = 8  // batches that are being read or not visited yet
)

// each visits the files in the order of the walk: the files of a directory come before the
// directories in it. Files that are not text are skipped.
func (s *survey) each(ctx context.Context, path string, visit func(*sourceFile) error) error {
	l, err := s.call.find(path)
	if err != nil {
		return err
	}
	defer l.Close()
	if l.Info == nil || !l.Info.IsDir() {
		f, err := s.call.readAt(l)
		if err != nil {
			return err
		}
		return visit(f)
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	order := make(chan chan []reading, surveyPending) // one channel for each batch, in the order of the walk; each gets one element
	var running sync.WaitGroup
	var skipped confine.Skipped
	var walkErr error
	goroutine.StartIn(&running, func() {
		defer close(order)
		skipped, walkErr = l.Walk(inner, func(w *confine.Walked) error { return s.deal(inner, l.Access, w, order, &running) })
	})
	err = s.visitAll(inner, order, visit)
	cancel()
	for range order { // until the walk has ended
	}
	running.Wait()
	skipped.Unreadable += s.skipped.Unreadable
	s.skipped = skipped
	switch {
	case err == errFull:
		s.full, err = true, nil
	case err == nil:
		err = walkErr
	}
	return err
}

type reading struct {
	path   string
	text   []byte // nil if it is not visited
	size   int
	isLong bool
	err    error // why it was not read; errBinary, and nil with size 0, for skipped files
}

func (s *survey) deal(ctx context.Context, a *confine.Access, w *confine.Walked, order chan<- chan []reading, running *sync.WaitGroup) error {
	var names []string
	for _, e := range w.Entries {
		if e.Type().IsRegular() && (s.wants == nil || s.wants(e.Name())) {
			names = append(names, e.Name())
		}
	}
	for some := range slices.Chunk(names, surveyBatch) {
		read := make(chan []reading, 1)
		select {
		case order <- read:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		in, err := a.Batch(w)
		if err != nil {
			read <- []reading{{err: err}}
			continue
		}
		goroutine.StartIn(running, func() {
			defer in.Close()
			read <- s.read(ctx, a, in, some)
		})
	}
	return context.Cause(ctx)
}

func (s *survey) read(ctx context.Context, a *confine.Access, in *confine.Batch, names []string) (all []reading) {
	var room []byte // reuses the memory of a text that is not kept
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		var r reading
		r, room = s.readOne(a, in, name, room)
		all = append(all, r)
	}
	return all
}

// readOne reads a file into room, and returns room if the text is not kept.
func (s *survey) readOne(a *confine.Access, in *confine.Batch, name string, room []byte) (reading, []byte) {
	f, size, err := in.Open(name)
	if err != nil || f == nil {
		return reading{err: err}, room
	}
	defer f.Close()
	if size > maxSource {
		return reading{isLong: true}, room
	}
	text, err := readText(f, size, room)
	if err != nil || s.holds != nil && !s.holds(text) {
		return reading{size: len(text), err: err}, text[:0]
	}
	return reading{path: s.call.shown(a, in.Rel(name)), text: text, size: len(text)}, nil
}

// visitAll counts the files that were read, in the order of the walk, and visits those with a
// text.
func (s *survey) visitAll(ctx context.Context, order <-chan chan []reading, visit func(*sourceFile) error) error {
	for read := range order {
		for _, r := range <-read {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case r.isLong:
				s.long++
				continue
			case r.err == errBinary, r.err == nil && r.size == 0:
				continue
			case r.err != nil:
				s.skipped.Unreadable++
				continue
			case s.files == s.maxFiles, s.bytes+r.size > s.maxBytes:
				return errFull
			}
			s.files++
			s.bytes += r.size
			if r.text == nil {
				continue
			}
			if err := s.visitOne(newSourceFile(r.path, r.text), visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// visitOne visits a file. After a panic only this file is left out.
func (s *survey) visitOne(f *sourceFile, visit func(*sourceFile) error) error {
	defer func() {
		if p := recover(); p != nil {
			s.faulty = append(s.faulty, fmt.Sprintf("%s (%v)", confine.ShownName(f.path), goroutine.NewPanic(p)))
			s.call.ctags.close() // it may be in the middle of an answer
		}
	}()
	return visit(f)
}

// outline finds the definitions of a file. It records a file for which ctags fails.
func (s *survey) outline(ctx context.Context, f *sourceFile) error {
	err := s.call.ctags.outline(f)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		s.unread = append(s.unread, confine.ShownName(f.path))
	}
	return nil
}

func (s *survey) appendTo(b []byte) []byte {
	if s.full {
		b = fmt.Appendf(b, "[toolpipe] the search stopped after %d files of %d bytes together, and the remaining files were not read; a deeper path reads others\n", s.files, s.bytes)
	}
	if s.long > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d files of more than %d bytes were not read\n", s.long, maxSource)
	}
	if len(s.unread) > 0 {
		b = fmt.Appendf(b, "[toolpipe] the definitions of %d files are not known because ctags failed: %s\n", len(s.unread), firstPlaces(s.unread))
	}
	if len(s.faulty) > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d files were left out because of a defect in toolpipe: %s\n", len(s.faulty), firstPlaces(s.faulty))
	}
	return s.skipped.AppendTo(b)
}

// A project is the definitions of all source files below a path. The files have no layout,
// because it takes memory that most of them never need.
type project struct {
	survey survey
	defs   []*definition
}

// project finds the definitions below the path argument of a call, and the last part of the
// name in the argument named.
func (c *call) project(ctx context.Context, args toolserver.Arguments, named string) (p *project, name string, err error) {
	if name, err = lastName(args.Text(named)); err != nil {
		return nil, "", err
	}
	p = &project{survey: survey{call: c, maxFiles: 20_000, maxBytes: 64 << 20, wants: isProgram}}
	err = p.survey.each(ctx, args.TextOr("path", "."), func(f *sourceFile) error {
		if f.language == nil {
			return nil
		}
		err := p.survey.outline(ctx, f)
		f.layout = nil
		for i := range f.defs {
			p.defs = append(p.defs, &f.defs[i])
		}
		return err
	})
	return p, name, err
}

func (s *survey) notFound(format string, args ...any) error {
	said := append(fmt.Appendf(nil, format, args...), '\n')
	return errors.New(strings.TrimSuffix(string(s.appendTo(said))+s.call.leftOutText(), "\n"))
}

// isProgram reports whether a file may define functions or types: its language is known and
// has them, or it is a script without an extension.
func isProgram(name string) bool {
	l := lexis.Of(name, nil)
	if l == nil {
		return path.Ext(name) == ""
	}
	return !l.Data
}

const maxName = 250 // bytes of a name that a tool looks for

// lastName is the last part of a name such as Class.method. The error is the reason why it is
// not a name.
func lastName(name string) (string, error) {
	last := normalName(name)
	scope := last[:strings.LastIndexByte(last, '.')+1]
	last = last[len(scope):]
	named := scope + last
	if operatorSymbol(last) != "" {
		named = scope + operator // the symbol may be any
	}
	switch {
	case name == "":
		return "", errors.New("name is empty; outline shows the names in a file")
	case len(name) > maxName:
		return "", fmt.Errorf("the name has %d bytes, at most %d are allowed", len(name), maxName)
	case last == "", strings.ContainsFunc(last, func(r rune) bool { return !unicode.IsGraphic(r) }), strings.ContainsFunc(named, func(r rune) bool { return !unicode.IsGraphic(r) || r == ' ' || r == '/' }):
		return "", fmt.Errorf("%q is not the name of a definition; a name looks like parse, Parser.parse or Parser::parse", name)
	}
	return last, nil
}
