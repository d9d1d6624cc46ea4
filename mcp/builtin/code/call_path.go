package code

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/toolserver"
)

const (
	usualDepth = 3
	maxLevels  = 20
	maxTargets = 5 // definitions of the target that are followed
)

func showCallPath(ctx context.Context, c *call, args toolserver.Arguments) ([]byte, error) {
	depth := args.Integer("max_depth", usualDepth)
	if depth < 1 || depth > maxLevels {
		return nil, fmt.Errorf("max_depth is %d; 1 to %d levels are shown", depth, maxLevels)
	}
	target := args.Text("target")
	p, last, err := c.project(ctx, args, "target")
	if err != nil {
		return nil, err
	}
	g := callGraph{}
	for _, d := range p.defs {
		if isFollowed(d) {
			g[d.Name] = append(g[d.Name], d)
		}
	}
	var found []*definition
	for _, d := range g[last] {
		if strings.HasSuffix("."+d.fullName(), "."+normalName(target)) {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		hint := "outline shows the names in a file"
		if all := g[last]; len(all) > 0 {
			hint = fmt.Sprintf("%s is %s, %s", last, all[0].fullName(), all[0].place())
		}
		return nil, p.survey.notFound("no function or type %q is defined below %q; %s", target, args.TextOr("path", "."), hint)
	}
	t := newTree(ctx, int(depth))
	for _, d := range found[:min(len(found), maxTargets)] {
		t.add(g.branch(d))
	}
	if more := len(found) - maxTargets; more > 0 {
		t.B = fmt.Appendf(t.B, "[toolpipe] %d more definitions of %q are left out; a deeper path shows them\n", more, target)
	}
	return p.survey.appendTo(t.appendNotes(t.B)), context.Cause(ctx)
}

// isFollowed reports whether a definition is a function or a type.
func isFollowed(d *definition) bool {
	return !slices.Contains([]string{"prototype", "implementation", "field", "variable", "constant", "const", "var"}, d.Kind) &&
		(strings.HasPrefix(d.Signature, "(") || hasBody(d.Kind) || isType(d.Kind))
}

// A callGraph is the functions and types of a project, by name.
type callGraph map[string][]*definition

func (g callGraph) branch(d *definition) branch {
	label := fmt.Sprintf("%s  %s %s", d.fullName(), d.Kind, d.place())
	return branch{Label: label, Below: func() []branch { return g.named(d) }}
}

// named returns the definitions that the text of a definition names, each once, in the order
// of their first use.
func (g callGraph) named(d *definition) (list []branch) {
	d.file.lay()
	l := d.file.layout
	from, to, own := l.starts[d.Start-1], l.starts[d.lastLine()], l.nameEnd(d)
	seen := map[use]bool{}
	for i := from; i < to; i++ {
		begin := i
		i += lexis.WordLen(l.mask[i:to])
		if begin == i || i == own || g[string(l.mask[begin:i])] == nil {
			continue
		}
		u := use{word: string(l.mask[begin:i])}
		u.qualifier, u.qualified = qualifier(l.mask[max(from, begin-maxName):begin])
		if !seen[u] {
			seen[u] = true
			list = g.appendNamed(list, u.word, u.nearest(d, g[u.word]))
		}
	}
	return list
}

// appendNamed appends the definitions that a word may mean, unless they are already in the
// list.
func (g callGraph) appendNamed(list []branch, word string, all []*definition) []branch {
	if len(all) == 0 {
		return list
	}
	next := g.branch(all[0])
	if len(all) > 1 {
		var places []string
		for _, d := range all {
			places = append(places, d.place())
		}
		next = branch{Label: fmt.Sprintf("%s  one of %d: %s", word, len(all), firstPlaces(places))}
	}
	if slices.ContainsFunc(list, func(there branch) bool { return there.Label == next.Label }) {
		return list
	}
	return append(list, next)
}

// A use is a name in the text of a definition.
type use struct {
	word      string
	qualifier string // the name before it, as x in x.name
	qualified bool   // something precedes it, as x() in x().name
	isPackage bool   // the qualifier is a Go package
}

// qualifier is the name before a dot, :: or -> at the end of b. crate and super mean the
// module itself, and do not count.
func qualifier(b []byte) (name string, qualified bool) {
	for _, mark := range [...]string{".", "::", "->"} {
		if rest, found := bytes.CutSuffix(b, []byte(mark)); found {
			name = lexis.LastWord(rest)
			return name, name != "crate" && name != "super"
		}
	}
	return "", false
}

// isGoPackage reports whether a Go file imports a package with a path that ends with name.
func isGoPackage(f *sourceFile, name string) bool {
	if !f.language.Is("Go") || name == "" {
		return false
	}
	return bytes.Contains(f.text, []byte(`/`+name+`"`)) || bytes.Contains(f.text, []byte(`"`+name+`"`))
}

// nearest returns the definitions, among several with one name, that are nearest to the use.
func (u use) nearest(from *definition, all []*definition) (nearest []*definition) {
	u.isPackage = isGoPackage(from.file, u.qualifier)
	best := noTier - 1
	for _, to := range all {
		tier := u.tier(from, to)
		if tier < best {
			best, nearest = tier, nil
		}
		if tier == best {
			nearest = append(nearest, to)
		}
	}
	return nearest
}

const noTier = 5

// tier is the distance of the definition to from a use in the definition from: 0 if it is
// inside the qualifier of the use, 1 in the same class, 2 in the same file, 3 in the same
// directory, 4 elsewhere. noTier means that the use cannot mean it.
func (u use) tier(from, to *definition) int {
	isGo := from.file.language.Is("Go")
	dir, file := path.Dir(to.file.path), path.Base(to.file.path)
	sameDir := dir == path.Dir(from.file.path)
	scope := to.Scope
	inClass := scope != "" && (scope == from.Scope || scope == from.fullName())
	namesObject := from.file.language.Is("Go", "Python", "Rust", "JavaScript", "TypeScript", "PHP", "Lua") // before a method of its own too
	switch {
	case family(to.file) != family(from.file), isGo && strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(from.file.path, "_test.go"):
		return noTier
	case u.isPackage:
		if path.Base(dir) == u.qualifier && scope == "" {
			return 0
		}
		return noTier
	case u.qualifier != "" && (u.qualifier == scope[strings.LastIndexByte(scope, '.')+1:] || u.qualifier == strings.TrimSuffix(file, path.Ext(file)) && !isGo):
		return 0
	case u.qualified && scope == "", !u.qualified && isGo && (scope != "" || !sameDir),
		!u.qualified && scope != "" && !inClass && namesObject:
		return noTier
	case inClass:
		return 1
	case to.file == from.file:
		return 2
	case sameDir:
		return 3
	}
	return 4
}

// family is the language that represents all languages that share definitions with the
// file's language.
func family(f *sourceFile) string {
	switch f.language.Name {
	case "C++", "Objective-C":
		return "C"
	case "TypeScript":
		return "JavaScript"
	case "Kotlin", "Scala":
		return "Java"
	}
	return f.language.Name
}
