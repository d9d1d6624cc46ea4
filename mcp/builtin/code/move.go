package code

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
)

// moveDefinition moves the lines of a Python definition to another file. It changes no
// import, because only a language server knows all uses.
func moveDefinition(ctx context.Context, c *call, args toolserver.Arguments) ([]byte, error) {
	own, err := c.file(args.Text("path"))
	if err != nil {
		return nil, err
	}
	if !own.language.Is("Python") {
		return nil, errors.New("only definitions of Python are moved to another file; edit_definition moves a definition within its file, and a language server moves it with its imports")
	}
	def, err := own.findCertain(args.Text("name"))
	if err != nil {
		return nil, err
	}
	if first := own.level(def.Start); def.Scope != "" || first.bracket != 0 || own.column(def.Line) > 0 {
		return nil, fmt.Errorf("%s is a method, or is inside of something else; only a definition at the top of a file is moved to another file", def.fullName())
	}
	target, err := c.target(own, args.Text("to"))
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(target.defs, func(d definition) bool { return d.fullName() == def.Name }) {
		return nil, fmt.Errorf("nothing was written: %s defines %s already", target.path, def.Name)
	}
	e := own.editor(def, args)
	left, _, err := e.remove()
	if err != nil {
		return nil, err
	}
	added, err := target.appended(e.doc.lines[e.from:e.to])
	if err != nil {
		return nil, err
	}
	note, err := c.checkMoved(ctx, args, [2]*sourceFile{own, target}, [2][]byte{left, added})
	if err != nil {
		return nil, err
	}
	err = confine.ChangeAll(ctx, []confine.FileChange{
		{Access: own.root, Path: args.Text("path"), Before: own.text, After: left},
		{Access: own.root, Path: args.Text("to"), New: target.root == nil, Before: target.text, After: added},
	})
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "moved %s from %s, %s, to %s; %s\nno import was changed, in these files or in others; usages lists the lines with %s\n",
		def.Name, confine.ShownName(own.path), lineRange(e.from, e.to), confine.ShownName(target.path), strings.TrimSuffix(note, "\n"), def.Name), nil
}

// target is the file that a definition is moved to. A file that does not exist yet has no
// root.
func (c *call) target(own *sourceFile, asked string) (*sourceFile, error) {
	rel := ""
	l, err := c.find(asked)
	missing, isMissing := errors.AsType[*confine.NotFoundError](err)
	switch {
	case isMissing:
		rel = missing.Rel
	case err != nil:
		return nil, err
	default:
		defer l.Close()
		if rel = l.Rel; l.Access != own.root {
			return nil, fmt.Errorf("%q is below another root than %q", asked, own.path)
		}
	}
	f := newSourceFile(c.shown(own.root, rel), nil)
	if f.language != own.language {
		return nil, fmt.Errorf("%q is not a file of %s", asked, own.language.Name)
	}
	if rel == own.rel {
		return nil, fmt.Errorf("it is in %q already; edit_definition moves within a file", asked)
	}
	if !isMissing {
		there, err := c.readAt(l)
		if _, isMissing = errors.AsType[*confine.NotFoundError](err); err != nil && !isMissing {
			return nil, err
		}
		if err == nil {
			there.lay()
			return there, c.ctags.outline(there)
		}
	}
	f.lay()
	return f, nil
}

// appended is the text of a Python file with the lines of a definition at its end, or before
// the code that runs only when the file is the program.
func (f *sourceFile) appended(lines []string) ([]byte, error) {
	d := newDocument(f.language, f.text)
	to := len(d.lines)
	for i, line := range d.lines {
		if d.roles[i] == ofCode && strings.HasPrefix(line, "if __name__ ==") {
			to = i
		}
	}
	from := to
	for from > 0 && isBlank(d.lines[from-1]) {
		from--
	}
	if at := f.level(from + 1); at.bracket != 0 || at.part != lexis.Code {
		return nil, fmt.Errorf("nothing was written: a bracket, a comment or a string is open at the end of %s", f.path)
	}
	var above, below []string
	if from > 0 {
		above = []string{d.ending, d.ending}
	}
	if to < len(d.lines) {
		below = []string{d.ending, d.ending}
	}
	moved := make([]string, len(lines))
	for i, line := range lines {
		moved[i] = strings.TrimRight(line, "\r\n") + d.ending
	}
	edited := d.text(slices.Concat(d.lines[:from], above, moved, below, d.lines[to:]))
	_, err := f.guarded(edited, from, to)
	return edited, err
}

// checkMoved checks the syntax of both files after a move. The note describes the result.
func (c *call) checkMoved(ctx context.Context, args toolserver.Arguments, files [2]*sourceFile, edited [2][]byte) (note string, err error) {
	if args.Flag("force") {
		return "the syntax was not checked", nil
	}
	for i, f := range files {
		said, err := c.checkEdited(ctx, f, edited[i])
		if err != nil {
			return "", err
		}
		if i == 0 || said != "no syntax error" {
			note = said
		}
	}
	return note, nil
}
