package code

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
)

const maxContent = 1 << 20 // bytes of a content

// placeholder is replaced by the definition in the content of wrap_region.
const placeholder = "{definition}"

func editDefinition(ctx context.Context, c *call, args toolserver.Arguments) (answer []byte, err error) {
	if err := checkEdit(args); err != nil {
		return nil, err
	}
	path := args.Text("path")
	l, err := c.find(path)
	if err != nil {
		return nil, err
	}
	l.Close()
	err = l.Access.Change(ctx, path, func(text []byte) ([]byte, error) {
		if len(text) > maxSource || toolserver.LooksBinary(text) {
			return nil, fmt.Errorf("%q is not a source file, or has more than %d bytes", path, maxSource)
		}
		f := newSourceFile(c.shown(l.Access, l.Rel), text)
		f.lay()
		if err := c.ctags.outline(f); err != nil {
			return nil, err
		}
		edited, done, err := f.edit(args)
		switch {
		case err != nil:
			return nil, err
		case len(edited) > maxSource:
			return nil, fmt.Errorf("%q would have %d bytes, more than the %d of a source file", path, len(edited), maxSource)
		case bytes.Equal(edited, text):
			return nil, fmt.Errorf("nothing would change in %q", path)
		}
		note := "the syntax was not checked"
		if !args.Flag("force") {
			note, err = c.checkEdited(ctx, f, edited)
		}
		answer = fmt.Appendf(nil, "edited %s: %s; %s\n", confine.ShownName(f.path), done, strings.TrimSuffix(note, "\n"))
		return edited, err
	})
	return answer, err
}

// checkEdit returns an error if the arguments are not an edit, or do not fit together.
func checkEdit(args toolserver.Arguments) error {
	name, content, to := args.Text("operation"), args.Text("content"), args.Text("to")
	wantsContent := name != "remove" && name != "move"
	switch {
	case editOperations()[name] == nil:
		return fmt.Errorf("operation is replace, signature, remove, insert_before, insert_after, move or wrap_region, not %.40q", name)
	case len(content) > maxContent:
		return fmt.Errorf("content has %d bytes, at most %d are allowed", len(content), maxContent)
	case strings.IndexByte(content, 0) >= 0:
		return errors.New("content has a NUL byte; it must be source")
	case wantsContent && isBlank(content):
		return fmt.Errorf("%s needs content; remove removes a definition", name)
	case !wantsContent && content != "":
		return fmt.Errorf("%s takes no content", name)
	case name == "move" && to == "":
		return errors.New(`move needs to: "before NAME" or "after NAME", another definition of the file`)
	case name != "move" && to != "":
		return fmt.Errorf("to is for move, not for %s", name)
	}
	return nil
}

// editOperations return the edited text, and a few words about the edit.
func editOperations() map[string]func(*editor) (edited []byte, done string, err error) {
	return map[string]func(*editor) (edited []byte, done string, err error){
		"replace": (*editor).replace, "signature": (*editor).signature, "remove": (*editor).remove,
		"insert_before": (*editor).insert, "insert_after": (*editor).insert,
		"move": (*editor).move, "wrap_region": (*editor).wrap,
	}
}

// An editor edits one definition of a file. The definition is in the lines from from up to
// to, not included, counted from 0.
type editor struct {
	*sourceFile
	doc      *document
	args     toolserver.Arguments
	def      *definition
	from, to int
	content  []string // the lines of the argument
}

func (f *sourceFile) edit(args toolserver.Arguments) (edited []byte, done string, err error) {
	def, err := f.findCertain(args.Text("name"))
	if err != nil {
		return nil, "", err
	}
	e := f.editor(def, args)
	if err := e.checkIndentation(); err != nil {
		return nil, "", err
	}
	return editOperations()[args.Text("operation")](e)
}

func (f *sourceFile) editor(def *definition, args toolserver.Arguments) *editor {
	e := &editor{sourceFile: f, doc: newDocument(f.language, f.text), args: args, def: def, from: def.Start - 1, to: def.End}
	first := e.doc.lines[e.from]
	if strings.HasSuffix(first, "\n") {
		e.doc.ending = first[len(strings.TrimRight(first, "\r\n")):]
	}
	e.content = e.doc.contentLines(args.Text("content"))
	return e
}

// checkIndentation returns an error if code of a Python content has less indentation than the
// definition, or if its first statement has another one: it would belong to another block.
func (e *editor) checkIndentation() error {
	if !e.language.Is("Python") {
		return nil
	}
	operation, isFirst := e.args.Text("operation"), true
	content, want := newLayout(e.language, []byte(strings.Join(e.content, ""))), e.column(e.def.Line)
	for n := 1; n <= content.lines(); n++ {
		column := content.column(n)
		isContinued := n == 1 && column == 0 && (operation == "replace" || operation == "signature")
		if !content.code(n) || content.level(n) != (level{}) || n > 1 && content.joinsNext(n-1) {
			continue
		}
		if column < want && !isContinued || isFirst && column > want {
			return fmt.Errorf("line %d of content is indented by %d columns, and %s by %d: content is written as it is, so write it with the indentation of the definition", n, column, e.def.fullName(), want)
		}
		isFirst = false
	}
	return nil
}

func (f *sourceFile) findCertain(name string) (*definition, error) {
	d, _, err := f.find(name)
	if err != nil {
		return nil, err
	}
	return d, f.certain(d)
}

// certain returns an error unless the lines of a definition are certain and have no other
// code.
func (f *sourceFile) certain(d *definition) error {
	for i := range f.defs {
		o := &f.defs[i]
		apart := o.lastLine() < d.Start || o.Start > d.End
		around := o.Line < d.Start && o.holds(d) || o.fullName() == d.fullName()
		unnamed := strings.Contains(o.fullName(), anonymous) && o.Start >= d.Start && o.lastLine() <= d.End // of typedef struct
		if !apart && !around && !unnamed && !d.holds(o) {
			return fmt.Errorf("%s is on the same line as %s; edit_file of the file tools edits a part of a line", d.fullName(), o.fullName())
		}
	}
	switch {
	case d.Shared || f.assignsMore(d):
		return fmt.Errorf("%s is on the same line as something else; edit_file of the file tools edits a part of a line", d.fullName())
	case d.Guessed || d.End == 0:
		return fmt.Errorf("the first or last line of %s in line %d is not certain; edit_file and set_file_slice of the file tools edit by text and by lines", d.fullName(), d.Line)
	case !f.matched(d.Start, d.End) || f.level(d.Start) != f.level(d.End+1):
		return fmt.Errorf("the brackets in %s, the lines of %s, do not match; edit_file of the file tools edits any text", lineRange(d.Start-1, d.End), d.fullName())
	}
	return nil
}

// assignsMore reports whether a Python variable is in a chained assignment, such as a = b =
// 1: each target is a definition, but ctags reports only the first one.
func (f *sourceFile) assignsMore(d *definition) bool {
	if d.Kind != "variable" || !f.language.Is("Python") {
		return false
	}
	_, value, _ := strings.Cut(string(f.line(f.mask, d.Line)), "=")
	target := strings.TrimLeft(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_. \t")
	return len(target) < len(value) && strings.HasPrefix(target, "=") && !strings.HasPrefix(target, "==")
}

// lineRange is a range of lines in words; to is not included, and both count from 0.
func lineRange(from, to int) string {
	if to == from+1 {
		return fmt.Sprintf("line %d", to)
	}
	return fmt.Sprintf("lines %d-%d", from+1, to)
}

func (e *editor) replace() ([]byte, string, error) {
	lines := slices.Concat(e.doc.lines[:e.from], continued(e.content, e.doc.lines[e.from]), e.doc.lines[e.to:])
	now := lineRange(e.from, e.from+len(e.content))
	edited, err := e.edited(lines, e.from, e.to)
	return edited, fmt.Sprintf("replaced %s, %s, by %s", e.def.fullName(), lineRange(e.from, e.to), now), err
}

func (e *editor) remove() ([]byte, string, error) {
	lines := without(e.doc.lines, e.from, e.to)
	edited, err := e.edited(lines, e.from, e.to)
	return edited, fmt.Sprintf("removed %s, %s", e.def.fullName(), lineRange(e.from, e.to)), err
}

func (e *editor) insert() ([]byte, string, error) {
	where := strings.TrimPrefix(e.args.Text("operation"), "insert_")
	lines, at := e.doc.beside(e.doc.lines, e.from, e.to, e.content, where == "before")
	place := e.to
	if where == "before" {
		place = e.from
	}
	edited, err := e.edited(lines, place, place)
	return edited, fmt.Sprintf("inserted %s %s %s", lineRange(at, at+len(e.content)), where, e.def.fullName()), err
}

func (e *editor) move() ([]byte, string, error) {
	where, name, found := strings.Cut(e.args.Text("to"), " ")
	if where != "before" && where != "after" || !found {
		return nil, "", fmt.Errorf(`to is %q; it must be "before NAME" or "after NAME"`, e.args.Text("to"))
	}
	target, err := e.findCertain(strings.TrimSpace(name))
	if err != nil {
		return nil, "", fmt.Errorf("to: %w", err)
	}
	if in := e.typeAround(e.def); in != nil && e.typeAround(target) == nil {
		return nil, "", fmt.Errorf("%s is a member of %s and stays in a type; %s is in none", e.def.fullName(), in.fullName(), target.fullName())
	}
	start, end := target.Start-1, target.End
	if start >= e.from && end <= e.to {
		return nil, "", fmt.Errorf("%s cannot be moved to %s, which is in it", e.def.fullName(), target.fullName())
	}
	lines := without(e.doc.lines, e.from, e.to)
	left, err := e.guarded(e.doc.text(lines), e.from, e.to)
	if err != nil {
		return nil, "", err
	}
	moved := e.doc.moved(e.from, e.to, placeOf(e.doc.lines[start:end], e.doc.roles[start:end]))
	gone := len(e.doc.lines) - len(lines)
	if start >= e.to {
		start -= gone
	}
	if end >= e.to {
		end -= gone
	}
	place := end
	if where == "before" {
		place = start
	}
	lines, at := e.doc.beside(lines, start, end, moved, where == "before")
	edited := e.doc.text(lines)
	_, err = left.guarded(edited, place, place)
	done := fmt.Sprintf("moved %s from %s to %s", e.def.fullName(), lineRange(e.from, e.to), lineRange(at, at+len(moved)))
	return edited, done, err
}

func (e *editor) wrap() ([]byte, string, error) {
	isPlace := func(line string) bool { return strings.TrimSpace(line) == placeholder }
	at := slices.IndexFunc(e.content, isPlace)
	if at < 0 || slices.ContainsFunc(e.content[at+1:], isPlace) {
		return nil, "", fmt.Errorf("content needs one line %s, where the definition goes, such as \"#ifdef DEBUG\\n%s\\n#endif\"", placeholder, placeholder)
	}
	wrapped := e.doc.lines[e.from:e.to]
	if place := indentOf(e.content[at]); place != "" {
		wrapped = e.doc.moved(e.from, e.to, place)
	}
	lines := slices.Concat(e.doc.lines[:e.from], e.content[:at], wrapped, e.content[at+1:], e.doc.lines[e.to:])
	done := fmt.Sprintf("wrapped %s, %s, which is now in %s", e.def.fullName(), lineRange(e.from, e.to), lineRange(e.from+at, e.to+at))
	edited, err := e.edited(lines, e.from, e.to)
	return edited, done, err
}

// typeAround is the innermost type with a definition in its lines; nil for none.
func (f *sourceFile) typeAround(d *definition) (in *definition) {
	for i := range f.defs {
		if o := &f.defs[i]; (isType(o.Kind) || o.Kind == "implementation") && o.Line < d.Line && o.End >= d.End && o.End > o.Line {
			in = o
		}
	}
	return in
}

// edited is the text with other lines between from and to, which count from 0.
func (e *editor) edited(lines []string, from, to int) ([]byte, error) {
	edited := e.doc.text(lines)
	_, err := e.guarded(edited, from, to)
	return edited, err
}

func (e *editor) signature() ([]byte, string, error) {
	start := max(e.signatureStart(strings.Join(e.content, "")), len(e.doc.mark))
	first := e.lineOf(start) - 1
	content := strings.TrimRight(strings.Join(continued(e.content, e.doc.lines[first]), ""), "\r\n")
	h, isWhole := e.wholeHead(e.def)
	if !isWhole {
		return nil, "", fmt.Errorf("the start of the body of %s is not certain; replace replaces all of it", e.def.fullName())
	}
	if h.open == arrow {
		content = strings.TrimRight(strings.TrimSuffix(content, "{"), whiteSpace)
	}
	code := bytes.TrimSuffix(bytes.TrimRight(e.mask[h.begin:h.end], whiteSpace), []byte(h.open))
	end := h.begin + len(bytes.TrimRight(code, whiteSpace))
	content = strings.TrimRight(strings.TrimSuffix(content, h.open), whiteSpace)
	edited := slices.Concat(e.text[:start], []byte(content), e.text[end:])
	last := e.lineOf(max(start, end-1))
	_, err := e.guarded(edited, first, last)
	now := lineRange(first, first+1+strings.Count(content, "\n"))
	return edited, fmt.Sprintf("replaced the signature of %s, %s, by %s", e.def.fullName(), lineRange(first, last), now), err
}

// signatureStart is the offset where a new signature begins to replace the old one: the
// comment above the definition if the new one begins with a comment, the decorators if it
// begins with a decorator, otherwise the line of code after them.
func (e *editor) signatureStart(content string) int {
	from, line := e.starts[e.def.Start-1], e.starts[e.def.Line-1]
	l := newLayout(e.language.Fragment(), []byte(content))
	if !l.code(1) {
		return from
	}
	if l.decorated(0, len(content)) == l.firstByte(1) {
		from = e.decorated(from, line)
	}
	for from < line && !e.code(e.lineOf(from)) {
		from = e.starts[e.lineOf(from)]
	}
	return min(e.starts[e.lineOf(from)-1], line)
}

// matched reports whether all brackets in some lines match within these lines.
func (l *layout) matched(first, last int) bool {
	from, to := l.starts[first-1], l.starts[last]
	for i := from; i < to; i++ {
		if other, found := l.partner(i); found && (other < from || other >= to) {
			return false
		}
	}
	return true
}
