// Package move takes a definition of Python or Go from one file to another: with the imports
// that it needs, and with those that the old file and others need then. It changes texts and
// opens no file.
package move

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/imports"
	"toolpipe/mcp/builtin/code/lexis"
)

// A Move is one definition that goes to another file.
type Move struct {
	Language *lexis.Language
	Name     string
	From, To string // the paths of the files, with slashes, from the root
	Texts
	Others []string // the names of the other definitions at the top of the old file
	Known  []string // the names of the definitions at the top of the other file
	Base   string   // of Python: the directory that the names of modules start from
}

// Texts are what a move begins with.
type Texts struct {
	Code []byte // the lines of the definition
	Left []byte // the text of the old file without them
	Old  []byte // the text of the old file
	New  []byte // the text of the other file; nil for one that is not there yet
}

// A Result is the texts of both files behind the move.
type Result struct {
	Left, New []byte
	Notes     []string // what the user has to look at
}

// Do moves the definition.
func (m *Move) Do() (*Result, error) {
	switch {
	case m.Language.Is("Go"):
		return m.goFile()
	case m.Language.Is("Python"):
		return m.python()
	}
	return nil, fmt.Errorf("definitions are moved to another file in Python and Go only; edit_definition moves them within a file")
}

// mask is code without comments and strings.
func (m *Move) mask(text []byte) []byte {
	mask, _ := m.Language.Scan(text)
	return mask
}

// checkNew refuses a move to a file that has the name, or has another thing by a name that
// the definition uses.
func (m *Move) checkNew(needed []imports.Used) error {
	if slices.Contains(m.Known, m.Name) {
		return fmt.Errorf("%s defines %s already", m.To, m.Name)
	}
	for _, there := range imports.Needed(m.Language, m.New, []byte(m.Name)) {
		return fmt.Errorf("%s imports %s already, in line %d; that import goes first", m.To, m.Name, there.Line)
	}
	for _, u := range needed {
		if slices.Contains(m.Known, u.Local) {
			return fmt.Errorf("%s uses %s, which is an import in %s and a definition in %s", m.Name, u.Local, m.From, m.To)
		}
		for _, there := range imports.Needed(m.Language, m.New, []byte(u.Local)) {
			if there.Statement != u.Statement && !strings.HasPrefix(u.Statement, "import "+u.Local+".") {
				return fmt.Errorf("%s uses %s, which is %q in %s and %q in %s", m.Name, u.Local, u.Statement, m.From, there.Statement, m.To)
			}
		}
	}
	return nil
}

// appended is a text with the definition at its end. In Python it stands before the code that
// runs when the file is the program.
func (m *Move) appended(text []byte, gap int) []byte {
	ending := "\n"
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		ending = "\r\n"
	}
	code := strings.ReplaceAll(strings.TrimRight(strings.ReplaceAll(string(m.Code), "\r\n", "\n"), "\n")+"\n", "\n", ending)
	behind := []byte(nil)
	if m.Language.Is("Python") {
		mask := m.mask(text)
		if i := bytes.LastIndex(mask, []byte("\nif __name__ ==")); i >= 0 {
			text, behind = text[:i+1], text[i+1:]
		}
	}
	text = bytes.TrimRight(text, " \t\r\n")
	if len(text) > 0 {
		text = append(slices.Clone(text), strings.Repeat(ending, gap+1)...)
	}
	text = append(text, code...)
	if behind != nil {
		text = append(append(text, strings.Repeat(ending, gap)...), behind...)
	}
	return text
}

// goFile moves within a package of Go, where no use changes.
func (m *Move) goFile() (*Result, error) {
	if path.Dir(m.From) != path.Dir(m.To) {
		return nil, fmt.Errorf("%s is in another directory, and so in another package; a definition of Go is moved within its package", m.To)
	}
	if strings.HasSuffix(m.From, "_test.go") != strings.HasSuffix(m.To, "_test.go") {
		return nil, fmt.Errorf("one of %s and %s is built for tests alone", m.From, m.To)
	}
	clause, constraint := goHead(m.Old)
	r := &Result{Left: m.Left, New: m.New}
	if m.New == nil {
		r.New = []byte(constraint + "package " + clause + "\n")
	} else if other, _ := goHead(m.New); other != clause {
		return nil, fmt.Errorf("%s is of the package %s, and %s of %s", m.From, clause, m.To, other)
	} else if _, otherwise := goHead(m.New); otherwise != constraint {
		return nil, fmt.Errorf("%s and %s are built under other conditions: %q and %q", m.From, m.To, strings.TrimSpace(constraint), strings.TrimSpace(otherwise))
	}
	needed := imports.Needed(m.Language, m.Old, m.mask(m.Code))
	for _, st := range imports.Parse(m.Language, m.Old) {
		if st.Whole == "." || st.Module == "C" && imports.Names(m.mask(m.Code), "C") {
			return nil, fmt.Errorf("%s imports %q so that it is not known what %s takes of it", m.From, st.Module, m.Name)
		}
	}
	if err := m.checkNew(needed); err != nil {
		return nil, err
	}
	if m.New == nil && len(needed) > 1 {
		r.New = append(r.New, "\nimport (\n\t"+needed[0].Statement+"\n)\n"...)
	}
	r.New = m.appended(r.New, 1)
	if bytes.Contains(m.Code, []byte("//go:embed ")) {
		needed = append(needed, imports.Used{Statement: `_ "embed"`})
	}
	var unused []string
	for _, u := range needed {
		var err error
		if r.New, _, err = imports.Add(m.Language, r.New, u.Statement); err != nil {
			return nil, err
		}
		if u.Local != "" && !imports.Names(imports.Body(m.Language, m.Left), u.Local) {
			unused = append(unused, u.Local)
		}
	}
	r.Left = imports.Remove(m.Language, r.Left, unused)
	return r, nil
}

// goHead is the name of the package of a file, and the lines that say when it is built.
func goHead(text []byte) (clause, constraint string) {
	for line := range bytes.Lines(text) {
		code := strings.TrimSpace(string(line))
		if strings.HasPrefix(code, "//go:build ") {
			constraint = code + "\n\n"
		}
		if rest, found := strings.CutPrefix(code, "package "); found {
			if fields := strings.Fields(rest); len(fields) > 0 {
				return strings.TrimSuffix(fields[0], ";"), constraint
			}
		}
	}
	return "", constraint
}
