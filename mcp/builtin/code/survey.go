package code

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
)

// A survey reads the source files at and below a path, one after the other, and
// counts what it leaves out.
type survey struct {
	call     *call
	maxFiles int
	maxBytes int
	wants    func(name string) bool // which files of a directory are read; nil for all

	files, bytes int
	skipped      confine.Skipped
	long         int  // files longer than maxSource
	full         bool // maxFiles or maxBytes was reached
	unread       int  // files without definitions, as ctags failed
}

var errFull = errors.New("the limit of a survey is reached")

// each visits the files in the order of the walk: the files of a directory come before
// the directories in it. Files that are not text are passed over.
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
	skipped, err := l.Walk(ctx, func(w *confine.Walked) error {
		for _, e := range w.Entries {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !e.Type().IsRegular() || s.wants != nil && !s.wants(e.Name()) {
				continue
			}
			if err := s.visit(l.Access, w, e.Name(), visit); err != nil {
				return err
			}
		}
		return nil
	})
	skipped.Unreadable += s.skipped.Unreadable
	s.skipped = skipped
	if err == errFull {
		s.full, err = true, nil
	}
	return err
}

// visit reads and visits a file of a directory, or counts it as left out.
func (s *survey) visit(a *confine.Access, w *confine.Walked, name string, visit func(*sourceFile) error) error {
	f, info, err := a.OpenWalked(w, name)
	if err != nil {
		s.skipped.Unreadable++
		return nil
	}
	if f == nil {
		return nil
	}
	defer f.Close()
	switch {
	case info.Size() > maxSource:
		s.long++
		return nil
	case s.files == s.maxFiles, s.bytes+int(info.Size()) > s.maxBytes:
		return errFull
	}
	text, err := readText(f, info.Size())
	switch {
	case err == errBinary:
		return nil
	case err != nil:
		s.skipped.Unreadable++
		return nil
	}
	s.files++
	s.bytes += len(text)
	return visit(newSourceFile(s.call.shown(a, w.Rel(name)), text))
}

// outline finds the definitions of a file. A file for which ctags fails is counted.
func (s *survey) outline(ctx context.Context, f *sourceFile) error {
	err := s.call.ctags.outline(f)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		s.unread++
	}
	return nil
}

// appendTo appends a line for each kind of files that were left out.
func (s *survey) appendTo(b []byte) []byte {
	if s.full {
		b = fmt.Appendf(b, "[toolpipe] the search ends after %d files of %d bytes together, and the files behind were not read; a path further down reads others\n", s.files, s.bytes)
	}
	if s.long > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d files of more than %d bytes were not read\n", s.long, maxSource)
	}
	if s.unread > 0 {
		b = fmt.Appendf(b, "[toolpipe] of %d files no definitions are known: ctags failed\n", s.unread)
	}
	return s.skipped.AppendTo(b)
}

// A project is the definitions of all source files below a path. The files are without
// a layout, which takes memory that most of them never need.
type project struct {
	survey survey
	defs   []*definition
}

// project finds the definitions below the path argument of a call, and the last part
// of the name in another argument.
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

// notFound is the error for a name that a project does not define.
func (p *project) notFound(format string, args ...any) error {
	said := append(fmt.Appendf(nil, format, args...), '\n')
	return errors.New(strings.TrimSuffix(string(p.survey.appendTo(said)), "\n"))
}

// isProgram reports whether a file may define functions or types: it is in a language
// that is known and has them, or is a script without an extension.
func isProgram(name string) bool {
	l := lexis.Of(name, nil)
	if l == nil {
		return path.Ext(name) == ""
	}
	return !l.Data
}

const maxName = 250 // bytes of a name that a tool looks for

// lastName is the last part of a name such as Class.method, or why it is none.
func lastName(name string) (string, error) {
	last := normalName(name)
	last = last[strings.LastIndexByte(last, '.')+1:]
	switch {
	case name == "":
		return "", errors.New("name is empty; outline shows the names in a file")
	case len(name) > maxName:
		return "", fmt.Errorf("the name has %d bytes, at most %d are allowed", len(name), maxName)
	case last == "", strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) || r == ' ' || r == '/' }):
		return "", fmt.Errorf("%q is no name of a definition; a name is such as parse, Parser.parse or Parser::parse", name)
	}
	return last, nil
}
