package code

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

const maxContent = 1 << 20 // bytes of a content

// placeholder stands in the content of wrap_region for the definition.
const placeholder = "{definition}"

func editDefinitionTool() tool {
	return tool{define("edit_definition", "Edit one definition of a source file. The comment and decorators directly above belong to it. Indentation is adapted to the place. An edit is refused when the file would no longer parse.", toolserver.Destroys,
		toolserver.Parameter{Name: "path", Kind: "string", About: "source file, relative to the root", Required: true},
		toolserver.Parameter{Name: "name", Kind: "string", About: "name of the definition, such as parse or Parser.parse; name:LINE where there are several", Required: true},
		toolserver.Parameter{Name: "operation", Kind: "string", About: "replace (the whole definition by content), signature (all before the body by content), remove, insert_before or insert_after (content beside the definition), move (to another place in the file), wrap_region (put content around it)", Required: true},
		toolserver.Parameter{Name: "content", Kind: "string", About: "new source, whole lines; for wrap_region the lines around, with a line " + placeholder + " where the definition goes, such as \"#ifdef DEBUG\\n" + placeholder + "\\n#endif\""},
		toolserver.Parameter{Name: "to", Kind: "string", About: "for move: \"before NAME\" or \"after NAME\", another definition of the file"},
		toolserver.Parameter{Name: "force", Kind: "boolean", About: "write it though the file no longer parses"},
	), editDefinition}
}

// Preview returns the unified diff of what a call of the server would change in a
// file, and the arguments of which the diff tells. The diff is "" for any tool that
// edits no file, and for a call that would fail. Nothing is written.
func Preview(ctx context.Context, server *toolserver.Server, tool string, args json.RawMessage) (diff string, told []string) {
	if tool != "edit_definition" {
		return "", nil
	}
	ctx, preview := confine.WithPreview(ctx)
	_, _ = server.Call(ctx, tool, args)
	return preview.Diff, []string{"content"}
}

func editDefinition(ctx context.Context, c *call, args toolserver.Arguments) (*wire.Result, error) {
	operation, err := checkEdit(args)
	if err != nil {
		return nil, err
	}
	path, answer := args.Text("path"), ""
	l, err := c.find(path)
	if err != nil {
		return nil, err
	}
	l.Close()
	shown := c.shown(l)
	err = l.Access.Change(ctx, path, func(text []byte) ([]byte, error) {
		e, err := c.editor(ctx, shown, text, args)
		if err != nil {
			return nil, err
		}
		edited, done, err := operation(e)
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
			note, err = c.checkEdited(ctx, e.sourceFile, edited)
		}
		answer = fmt.Sprintf("edited %s: %s; %s\n", confine.ShownName(shown), done, strings.TrimSuffix(note, "\n"))
		return edited, err
	})
	if err != nil {
		return nil, err
	}
	return toolserver.TextResult(answer), nil
}

// An editOperation gives the edited text, and says in a few words what was done.
type editOperation func(*editor) (edited []byte, done string, err error)

// checkEdit gives the operation that is asked for, with the arguments that it needs.
func checkEdit(args toolserver.Arguments) (editOperation, error) {
	name, content, to := args.Text("operation"), args.Text("content"), args.Text("to")
	operations := map[string]editOperation{"replace": (*editor).replace, "signature": (*editor).signature, "remove": (*editor).remove, "insert_before": (*editor).insert, "insert_after": (*editor).insert, "move": (*editor).move, "wrap_region": (*editor).wrap}
	wantsContent := name != "remove" && name != "move"
	switch {
	case operations[name] == nil:
		return nil, fmt.Errorf("operation is replace, signature, remove, insert_before, insert_after, move or wrap_region, not %.40q", name)
	case len(content) > maxContent:
		return nil, fmt.Errorf("content has %d bytes, at most %d are allowed", len(content), maxContent)
	case strings.IndexByte(content, 0) >= 0:
		return nil, errors.New("content has a NUL byte; it is to be source")
	case wantsContent && isBlank(content):
		return nil, fmt.Errorf("%s needs content; remove removes a definition", name)
	case !wantsContent && content != "":
		return nil, fmt.Errorf("%s takes no content", name)
	case name == "move" && to == "":
		return nil, errors.New(`move needs to: "before NAME" or "after NAME", another definition of the file`)
	case name != "move" && to != "":
		return nil, fmt.Errorf("to is for move, not for %s", name)
	}
	return operations[name], nil
}

// An editor edits one definition of a file.
type editor struct {
	*sourceFile
	doc  *document
	args toolserver.Arguments
	def  *Definition
}

func (c *call) editor(ctx context.Context, path string, text []byte, args toolserver.Arguments) (*editor, error) {
	if len(text) > maxSource || toolserver.LooksBinary(text) {
		return nil, fmt.Errorf("%q is no source file, or has more than %d bytes", path, maxSource)
	}
	f, err := c.fileOf(ctx, &source{path, text})
	if err != nil {
		return nil, err
	}
	e := &editor{sourceFile: f, doc: newDocument(f.language, text), args: args}
	if e.def, err = e.find(args.Text("name")); err != nil {
		return nil, err
	}
	if line := e.doc.lines[e.def.Start-1]; strings.HasSuffix(line, "\n") {
		e.doc.ending = line[len(strings.TrimRight(line, "\r\n")):]
	}
	return e, nil
}

// find gives the one definition of a name.
func (e *editor) find(name string) (*Definition, error) {
	d, _, err := e.sourceFile.find(name)
	if err != nil {
		return nil, err
	}
	return e.certain(d)
}

// certain returns an error unless it is certain in which lines a definition stands,
// and that they hold nothing else.
func (e *editor) certain(d *Definition) (*Definition, error) {
	if d.Guessed || d.End == 0 {
		return nil, fmt.Errorf("it is not certain where %s in line %d ends; edit_file and set_file_slice of the file tools edit by text and by lines", d.FullName(), d.Line)
	}
	for i := range e.defs {
		o := &e.defs[i]
		apart := o.lastLine() < d.Start || o.Start > d.End
		around := o.Line < d.Start && o.holds(d) || o.FullName() == d.FullName()
		unnamed := strings.Contains(o.FullName(), anonymous) && o.Start >= d.Start && o.lastLine() <= d.End // of typedef struct
		if !apart && !around && !unnamed && !d.holds(o) {
			return nil, fmt.Errorf("%s stands in one line with %s; edit_file of the file tools edits a part of a line", d.FullName(), o.FullName())
		}
	}
	if !e.matched(d.Start, d.End) {
		return nil, fmt.Errorf("the brackets in %s, which are those of %s, do not match; edit_file of the file tools edits any text", lineRange(d.Start-1, d.End), d.FullName())
	}
	return d, nil
}

// lineRange is lines in the words of an answer; to is not included, and both count
// from 0.
func lineRange(from, to int) string {
	if to == from+1 {
		return fmt.Sprintf("line %d", to)
	}
	return fmt.Sprintf("lines %d-%d", from+1, to)
}

// place gives the lines of the definition and their indentation.
func (e *editor) place() (from, to int, indent string) {
	return e.def.Start - 1, e.def.End, indentOf(e.doc.lines[e.def.Start-1])
}

func (e *editor) replace() ([]byte, string, error) {
	from, to, indent := e.place()
	content := e.doc.fit(e.args.Text("content"), indent)
	done := fmt.Sprintf("replaced %s, %s, by %s", e.def.FullName(), lineRange(from, to), lineRange(from, from+len(content)))
	return e.doc.text(slices.Concat(e.doc.lines[:from], content, e.doc.lines[to:])), done, nil
}

func (e *editor) remove() ([]byte, string, error) {
	from, to, _ := e.place()
	return e.doc.text(without(e.doc.lines, from, to)), fmt.Sprintf("removed %s, %s", e.def.FullName(), lineRange(from, to)), nil
}

func (e *editor) insert() ([]byte, string, error) {
	from, to, indent := e.place()
	before := e.args.Text("operation") == "insert_before"
	content := e.doc.fit(e.args.Text("content"), indent)
	lines, at := e.doc.beside(e.doc.lines, from, to, content, before)
	where := "after"
	if before {
		where = "before"
	}
	return e.doc.text(lines), fmt.Sprintf("inserted %s %s %s", lineRange(at, at+len(content)), where, e.def.FullName()), nil
}

func (e *editor) move() ([]byte, string, error) {
	where, name, found := strings.Cut(e.args.Text("to"), " ")
	if where != "before" && where != "after" || !found {
		return nil, "", fmt.Errorf(`to is %q; it is to be "before NAME" or "after NAME"`, e.args.Text("to"))
	}
	target, err := e.find(strings.TrimSpace(name))
	if err != nil {
		return nil, "", fmt.Errorf("to: %w", err)
	}
	from, to, _ := e.place()
	start, end := target.Start-1, target.End
	if start >= from && end <= to {
		return nil, "", fmt.Errorf("%s cannot be moved to %s, which is in it", e.def.FullName(), target.FullName())
	}
	lines := without(e.doc.lines, from, to)
	moved := e.doc.moved(from, to, indentOf(e.doc.lines[start]))
	gone := len(e.doc.lines) - len(lines)
	if start >= to {
		start -= gone
	}
	if end >= to {
		end -= gone
	}
	lines, at := e.doc.beside(lines, start, end, moved, where == "before")
	return e.doc.text(lines), fmt.Sprintf("moved %s from %s to %s", e.def.FullName(), lineRange(from, to), lineRange(at, at+len(moved))), nil
}

func (e *editor) wrap() ([]byte, string, error) {
	from, to, indent := e.place()
	content := e.doc.fit(e.args.Text("content"), indent)
	isPlace := func(line string) bool { return strings.TrimSpace(line) == placeholder }
	at := slices.IndexFunc(content, isPlace)
	if at < 0 || slices.ContainsFunc(content[at+1:], isPlace) {
		return nil, "", fmt.Errorf("content needs one line %s, where the definition goes, such as \"#ifdef DEBUG\\n%s\\n#endif\"", placeholder, placeholder)
	}
	lines := slices.Concat(e.doc.lines[:from], content[:at], e.doc.moved(from, to, indentOf(content[at])), content[at+1:], e.doc.lines[to:])
	return e.doc.text(lines), fmt.Sprintf("wrapped %s, %s, which is now in %s", e.def.FullName(), lineRange(from, to), lineRange(from+at, to+at)), nil
}

func (e *editor) signature() ([]byte, string, error) {
	_, _, indent := e.place()
	lines := e.doc.fit(e.args.Text("content"), indent)
	start := max(e.signatureStart(lines[0]), len(e.doc.mark))
	content := strings.TrimRight(strings.Join(lines, ""), "\r\n")
	h := e.head(e.def, e.language)
	if arrow := e.arrow(); h.open == "" && arrow > 0 {
		h.end, content = arrow, strings.TrimSuffix(content, "{")
	} else if h.open == "" && bytes.IndexByte(e.mask[h.begin:h.end], '=') >= 0 {
		return nil, "", fmt.Errorf("it is not certain where the body of %s begins; replace replaces all of it", e.def.FullName())
	} else if h.open == "" {
		h.open = ";" // which may stand there
	}
	code := bytes.TrimSuffix(e.mask[h.begin:h.end], []byte(h.open))
	end := h.begin + len(bytes.TrimRight(code, " \t\r\n"))
	content = strings.TrimRight(strings.TrimSuffix(content, h.open), " \t\r\n")
	edited := slices.Concat(e.text[:start], []byte(content), e.text[end:])
	first, last := e.lineOf(start)-1, e.lineOf(max(start, end-1))
	return edited, fmt.Sprintf("replaced the signature of %s, %s, by %s", e.def.FullName(), lineRange(first, last), lineRange(first, first+1+strings.Count(content, "\n"))), nil
}

// arrow is the offset behind the arrow of a function of JavaScript, 0 when the
// definition is none.
func (e *editor) arrow() int {
	if e.language == nil || e.language.Name != "JavaScript" && e.language.Name != "TypeScript" {
		return 0
	}
	end := e.starts[e.def.End]
	for i := e.starts[e.def.Line-1]; i < end; i++ {
		if b := e.bracketAt(i); b < len(e.brackets) && e.brackets[b].at == i && e.brackets[b].other > b {
			i = e.brackets[e.brackets[b].other].at
		} else if bytes.HasPrefix(e.mask[i:end], []byte("=>")) {
			return i + len("=>")
		}
	}
	return 0
}

// signatureStart is where in a definition what another one takes the place of begins:
// the comment above, the decorators, or the line of code behind them, as the other
// begins with the same.
func (e *editor) signatureStart(first string) int {
	depth, decorated := 0, isDecorator(strings.TrimSpace(first))
	if isBlank(string(e.language.Mask([]byte(first)))) {
		return e.starts[e.def.Start-1]
	}
	for n := e.def.Start; n < e.def.Line; n++ {
		code := string(bytes.TrimSpace(e.line(e.mask, n)))
		if depth == 0 && code != "" && (decorated || !isDecorator(code)) {
			return e.starts[n-1]
		}
		for _, c := range code {
			switch {
			case strings.ContainsRune("([{", c):
				depth++
			case strings.ContainsRune(")]}", c):
				depth--
			}
		}
	}
	return e.starts[e.def.Line-1]
}

// isDecorator says whether a line of code is a decorator, an annotation or an
// attribute of what follows.
func isDecorator(code string) bool {
	return strings.HasPrefix(code, "@") && !strings.HasPrefix(code, "@interface") || strings.HasPrefix(code, "#[") || strings.HasPrefix(code, "[")
}
