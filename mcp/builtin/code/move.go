package code

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/imports"
	"toolpipe/mcp/builtin/code/move"
	"toolpipe/mcp/builtin/code/rename"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
)

// moveDefinition moves a definition to another file.
func moveDefinition(ctx context.Context, c *call, args toolserver.Arguments) ([]byte, error) {
	own, err := c.file(args.Text("path"))
	if err != nil {
		return nil, err
	}
	def, err := own.findCertain(args.Text("name"))
	if err != nil {
		return nil, err
	}
	if first := own.level(def.Start); def.Scope != "" || first.bracket != 0 || own.column(def.Line) > 0 {
		return nil, fmt.Errorf("%s is a method, or is inside of something else; what stands at the top of a file is moved to another one", def.fullName())
	}
	target, err := c.target(own, args.Text("to"))
	if err != nil {
		return nil, err
	}
	p := &changedProject{call: c, own: own, survey: survey{call: c, maxFiles: 20_000, maxBytes: 256 << 20, wants: isLike(own.language)}}
	if own.language.Is("Python") {
		err = p.collect(ctx, def.Name)
	} else {
		p.add(own, def.Name)
	}
	if err != nil {
		return nil, err
	}
	e := own.editor(def, args)
	m := &move.Move{
		Language: own.language, Name: def.Name, From: own.rel, To: target.rel, Base: p.base(),
		Texts: move.Texts{
			Old: own.text, New: target.text,
			Code: []byte(strings.Join(e.doc.lines[e.from:e.to], "")), Left: e.doc.text(without(e.doc.lines, e.from, e.to)),
		},
		Others: topNames(own), Known: topNames(target),
	}
	r, err := m.Do()
	if err != nil {
		return nil, fmt.Errorf("nothing was written: %w", err)
	}
	b, err := p.move(m, r, target)
	if err != nil {
		return nil, err
	}
	p.changes[1].Path, p.changes[1].Named = args.Text("to"), true
	note, err := p.write(ctx, args)
	if err != nil {
		return nil, err
	}
	head := fmt.Appendf(nil, "moved %s from %s, %s, to %s; %s\n", def.Name, confine.ShownName(own.path), lineRange(e.from, e.to), confine.ShownName(target.path), strings.TrimSuffix(note, "\n"))
	return p.survey.appendTo(append(head, b...)), nil
}

// topNames are the names of the definitions at the top of a file.
func topNames(f *sourceFile) (names []string) {
	for i := range f.defs {
		if f.defs[i].Scope == "" {
			names = append(names, f.defs[i].Name)
		}
	}
	return names
}

// target is the file that a definition goes to. One that is not there yet has no text.
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
		return nil, fmt.Errorf("%q is no file of %s", asked, own.language.Name)
	}
	if rel == own.rel {
		return nil, fmt.Errorf("%s is in %q already; edit_definition moves within a file", "it", asked)
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
	f.root, f.rel = own.root, rel
	return f, nil
}

// base is the directory from which the names of the modules of Python start: that from which
// a file imports the own one, or else the nearest one above that is no package.
func (p *changedProject) base() string {
	if !p.own.language.Is("Python") {
		return ""
	}
	module := strings.TrimSuffix(strings.TrimSuffix(p.own.rel, path.Ext(p.own.rel)), "/__init__")
	for _, f := range p.files {
		for _, l := range f.Links {
			below := strings.ReplaceAll(l.Module, ".", "/")
			if l.Names && !strings.HasPrefix(l.Module, ".") && (module == below || strings.HasSuffix(module, "/"+below)) {
				return path.Clean(strings.TrimSuffix(module, below))
			}
		}
	}
	f := finder{sourceFile: newSourceFile("", nil), call: p.call}
	f.root = p.own.root
	dir := path.Dir(p.own.rel)
	for dir != "." && f.look(path.Join(dir, "__init__.py"), fs.FileMode.IsRegular) != "" {
		dir = path.Dir(dir)
	}
	return dir
}

// move notes the changes of all files. The text tells what was done in others, and what is
// left.
func (p *changedProject) move(m *move.Move, r *move.Result, target *sourceFile) (b []byte, err error) {
	p.change(0, r.Left)
	p.sources = append(p.sources, target)
	p.change(len(p.sources)-1, r.New)
	var unsure []string
	plan, err := rename.New(p.files, &rename.Target{Name: m.Name, To: m.Name + "_moved", Line: p.lineOf(m.Name)})
	if err != nil {
		return nil, err
	}
	for i, f := range plan.Files {
		if i == 0 || f.Path == target.path {
			continue
		}
		updated := ""
		for _, l := range f.Links {
			if !l.Names || !slices.ContainsFunc(l.Statement.Names, func(n imports.Name) bool { return n.Name == m.Name }) {
				continue
			}
			edited, err := m.Updated(p.sources[i].rel, f.Text, &l.Statement)
			if err != nil || updated != "" {
				unsure = append(unsure, fmt.Sprintf("%s:%d: it imports the name, and was not changed", confine.ShownName(f.Path), f.Line(l.From)))
				continue
			}
			updated = f.Path
			p.change(i, edited)
			b = fmt.Appendf(b, "  %s imports it from there\n", confine.ShownName(f.Path))
		}
		for _, at := range f.Certain() {
			if at > 0 && f.Mask[at-1] == '.' {
				unsure = append(unsure, fmt.Sprintf("%s:%d: it takes the name of the old module", confine.ShownName(f.Path), f.Line(at)))
			}
		}
		for _, mark := range f.Uncertain() {
			unsure = append(unsure, fmt.Sprintf("%s:%d: %s", confine.ShownName(f.Path), f.Line(mark.At), mark.Why))
		}
	}
	if unsure = append(unsure, r.Notes...); len(unsure) > 0 {
		b = fmt.Appendf(b, "left to look at: %s\n", many(len(unsure), "line"))
	}
	for i, line := range unsure {
		if i == maxListed {
			b = fmt.Appendf(b, "[toolpipe] %d more lines are left out; usages shows them\n", len(unsure)-maxListed)
			break
		}
		b = fmt.Appendf(b, "  %s\n", line)
	}
	return b, nil
}

// lineOf is the line of a definition at the top of the own file.
func (p *changedProject) lineOf(name string) int {
	i := slices.IndexFunc(p.own.defs, func(d definition) bool { return d.Name == name && d.Scope == "" })
	return p.own.defs[max(0, i)].Line
}
