package code

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/builtin/code/rename"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/text/readable"
)

// maxChanged is how many files one call changes.
const maxChanged = 500

func renameDefinition(ctx context.Context, c *call, args toolserver.Arguments) ([]byte, error) {
	own, err := c.file(args.Text("path"))
	if err != nil {
		return nil, err
	}
	def, _, err := own.find(args.Text("name"))
	switch {
	case err != nil:
		return nil, err
	case def.Guessed || def.End == 0:
		return nil, fmt.Errorf("it is not certain where %s in line %d begins and ends; edit_file of the file tools edits any text", def.fullName(), def.Line)
	}
	p := &changedProject{call: c, own: own, survey: survey{call: c, maxFiles: 20_000, maxBytes: 256 << 20, wants: isLike(own.language)}}
	target := &rename.Target{File: 0, Name: def.Name, To: args.Text("to"), Scope: def.Scope, Line: def.Line, Kind: def.Kind}
	if err := rename.CheckName(own.language, target); err != nil {
		return nil, err
	}
	if err := p.collect(ctx, def.Name); err != nil {
		return nil, err
	}
	plan, err := rename.New(p.files, target)
	if err != nil {
		return nil, err
	}
	for i, f := range plan.Files {
		if len(f.Certain()) > 0 {
			p.change(i, plan.Edited(f))
		}
	}
	note, err := p.write(ctx, args)
	if err != nil {
		return nil, err
	}
	return p.survey.appendTo(renamed(plan, def, note)), nil
}

// maxListed is how many lines of an answer name places.
const maxListed = 200

// renamed is the answer of a rename.
func renamed(plan *rename.Plan, def *definition, note string) []byte {
	places, files, listed := 0, 0, 0
	var b []byte
	list := func(format string, args ...any) {
		if listed++; listed <= maxListed {
			b = fmt.Appendf(b, format, args...)
		}
	}
	for _, f := range plan.Files {
		at := f.Certain()
		if len(at) == 0 {
			continue
		}
		var lines []string
		for _, at := range at {
			if line := fmt.Sprint(f.Line(at)); !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
		list("  %s: %s\n", confine.ShownName(f.Path), readable.Cut(strings.Join(lines, ", "), maxShownLine, " …"))
		places, files = places+len(at), files+1
	}
	b = append(fmt.Appendf(nil, "renamed %s to %s: %s in %s; %s\n", def.fullName(), plan.To, many(places, "place"), many(files, "file"), strings.TrimSuffix(note, "\n")), b...)
	var unsure []byte
	count := 0
	for _, f := range plan.Files {
		for _, m := range f.Uncertain() {
			if count++; count <= maxListed {
				unsure = fmt.Appendf(unsure, "  %s:%d: %s\n", confine.ShownName(f.Path), f.Line(m.At), m.Why)
			}
		}
	}
	if listed > maxListed {
		b = fmt.Appendf(b, "[toolpipe] %d more files are left out of this list\n", listed-maxListed)
	}
	if count > 0 {
		b = append(fmt.Appendf(b, "not certain, and left as they are: %s\n", many(count, "line")), unsure...)
	}
	if count > maxListed {
		b = fmt.Appendf(b, "[toolpipe] %d more lines are left out; usages shows them\n", count-maxListed)
	}
	return b
}

func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// isLike reports of the names of files whether they may be in a language, or in one that
// shares its names.
func isLike(language *lexis.Language) func(name string) bool {
	kin := [][]string{{"C", "C++", "Objective-C"}, {"JavaScript", "TypeScript"}, {"Java", "Kotlin"}}
	return func(name string) bool {
		other := lexis.Of(name, nil)
		if other == nil {
			return path.Ext(name) == ""
		}
		return other == language || slices.ContainsFunc(kin, func(names []string) bool { return language.Is(names...) && other.Is(names...) })
	}
}

// A changedProject is the files that a call changes as one, and those that it reads for it.
type changedProject struct {
	*call
	own    *sourceFile
	survey survey

	sources []*sourceFile
	files   []*rename.File // of sources
	changes []confine.FileChange
	edits   []int // which of the sources each change is of
}

// collect reads the files below the root of the own one that may name a definition, and of
// Go all files of its package. The own file is the first.
func (p *changedProject) collect(ctx context.Context, name string) error {
	if p.own.language == nil {
		return fmt.Errorf("definitions are renamed in %s only", rename.Languages)
	}
	paths := []string{p.own.path}
	err := p.survey.each(ctx, p.own.root.Real, func(f *sourceFile) error {
		isNear := f.language.Is("Go") && path.Dir(f.path) == path.Dir(p.own.path)
		if f.language != nil && f.path != p.own.path && (isNear || bytes.Contains(f.text, []byte(name))) {
			paths = append(paths, f.path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, path := range paths {
		f := p.own
		if path != p.own.path {
			if f, err = p.again(path); err != nil {
				return err
			}
			if err := p.survey.outline(ctx, f); err != nil {
				return err
			}
		}
		p.add(f, name)
	}
	return nil
}

// again reads a file that the walk has found, as it is staged if it is.
func (p *changedProject) again(path string) (*sourceFile, error) {
	l, err := p.find(path)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return p.readAt(l)
}

// add adds a file, and says what its imports have to do with the own one.
func (p *changedProject) add(f *sourceFile, name string) {
	f.lay()
	r := &rename.File{Path: f.path, Dir: path.Dir(f.rel), Language: f.language, Text: f.text, Mask: f.mask}
	for i := range f.defs {
		d := &f.defs[i]
		r.Defs = append(r.Defs, rename.Definition{
			Name: d.Name, Scope: d.Scope, Kind: d.Kind, Line: d.Line, Start: d.Start, End: d.End, IsFunction: isFunction(d.Kind), IsType: isType(d.Kind),
		})
	}
	found := finder{sourceFile: f, call: p.call}
	if f.language.Is("Go") {
		if module, root := found.module(); module != "" {
			below := strings.TrimPrefix(strings.TrimPrefix(path.Dir(f.rel), root), "/")
			if root == "." {
				below = path.Dir(f.rel)
			}
			r.Package = path.Join(module, below)
		}
	} else {
		r.Links, r.Related = found.links(p.own, name)
	}
	p.sources, p.files = append(p.sources, f), append(p.files, r)
}

// change notes the new text of a file.
func (p *changedProject) change(i int, edited []byte) {
	f := p.sources[i]
	if bytes.Equal(f.text, edited) {
		return
	}
	p.changes = append(p.changes, confine.FileChange{Access: f.root, Path: f.path, Before: f.text, After: edited})
	p.edits = append(p.edits, i)
}

// write checks the new texts and writes the files. The note is about their syntax.
func (p *changedProject) write(ctx context.Context, args toolserver.Arguments) (note string, err error) {
	if len(p.changes) > maxChanged {
		return "", fmt.Errorf("nothing was written: %d files would change, and at most %d are changed by one call", len(p.changes), maxChanged)
	}
	note = "the syntax was not checked"
	for i := range p.changes {
		if p.edits[i] == 0 {
			p.changes[i].Path, p.changes[i].Named = args.Text("path"), true
		}
		if args.Flag("force") {
			continue
		}
		said, err := p.checkChanged(ctx, p.sources[p.edits[i]], p.changes[i].After, forces)
		if err != nil {
			return "", err
		}
		if i == 0 || said != "no syntax error" {
			note = said
		}
	}
	return note, confine.ChangeAll(ctx, p.changes)
}
