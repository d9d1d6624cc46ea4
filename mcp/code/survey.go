package code

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"toolpipe/mcp/code/lexis"
	"toolpipe/mcp/confine"
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

// each visits the files in the order of the walk: those of a directory, then the
// directories in it. Files that are not text are passed over.
func (s *survey) each(ctx context.Context, path string, visit func(*source) error) error {
	l, err := s.call.find(path)
	if err != nil {
		return err
	}
	defer l.Close()
	if l.Info == nil || !l.Info.IsDir() {
		source, err := s.call.readAt(l)
		if err != nil {
			return err
		}
		return visit(source)
	}
	s.skipped, err = l.Walk(ctx, func(w *confine.Walked) error {
		for _, e := range w.Entries {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !e.Type().IsRegular() || s.wants != nil && !s.wants(e.Name()) {
				continue
			}
			source, err := s.open(l.Access, w, e.Name())
			if err == nil && source != nil {
				err = visit(source)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == errFull {
		s.full, err = true, nil
	}
	return err
}

// open reads a file of a directory; nil is one that is passed over.
func (s *survey) open(a *confine.Access, w *confine.Walked, name string) (*source, error) {
	f, info, err := a.OpenWalked(w, name)
	if err != nil {
		s.skipped.Unreadable++
		return nil, nil
	}
	if f == nil {
		return nil, nil
	}
	defer f.Close()
	switch {
	case info.Size() > maxSource:
		s.long++
		return nil, nil
	case s.files == s.maxFiles, s.bytes+int(info.Size()) > s.maxBytes:
		return nil, errFull
	}
	text, err := readText(f, int(info.Size()))
	if err != nil {
		s.skipped.Unreadable++
		return nil, nil
	}
	if text == nil {
		return nil, nil
	}
	s.files++
	s.bytes += len(text)
	return &source{path: s.call.shown(&confine.Location{Access: a, Rel: w.Rel(name)}), text: text}, nil
}

// readText reads a file, and gives nil for one that is not text.
func readText(f *os.File, size int) ([]byte, error) {
	head, err := io.ReadAll(io.LimitReader(f, int64(min(size, toolserver.ReadChunk))))
	if err != nil || toolserver.LooksBinary(head) {
		return nil, err
	}
	text := bytes.NewBuffer(slices.Grow(head, size-len(head)))
	_, err = io.CopyN(text, f, int64(size-len(head)))
	if err == io.EOF {
		err = nil
	}
	return text.Bytes(), err
}

// appendTo appends a line for each kind of what was left out.
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

// pathOrRoot is the path argument, or the root when it is absent.
func pathOrRoot(args toolserver.Arguments) string {
	if args.Has("path") {
		return args.Text("path")
	}
	return "."
}

const maxName = 250 // bytes of a name that a tool looks for

// lastName is the last part of a name such as Class.method, or why it is none.
func lastName(name string) (string, error) {
	last := normalName(name)
	if i := strings.LastIndexByte(last, '.'); i >= 0 {
		last = last[i+1:]
	}
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

// isProgram says whether a file may define functions or types: one in a language
// that is known, or a script without an extension.
func isProgram(name string) bool {
	l := lexis.Of(name, nil)
	if l == nil {
		return path.Ext(name) == ""
	}
	return !l.Data
}
