package code

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"toolpipe/mcp/code/lexis"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

const (
	usualDepth = 3
	maxLevels  = 20
	maxTargets = 5 // definitions of the target that are followed
)

func callPathTool() tool {
	return tool{define("call_path", "Show which definitions the body of a function or type names, and which those name, as a tree. By names: of several definitions of a name, the nearest counts.", toolserver.ReadsOnly,
		toolserver.Parameter{Name: "target", Kind: "string", About: "name to start from, such as parse or Parser.parse", Required: true},
		toolserver.Parameter{Name: "path", Kind: "string", About: "file or directory with the definitions; the root when absent"},
		toolserver.Parameter{Name: "max_depth", Kind: "integer", About: "levels to show, from 1 to 20; 3 when absent"},
	), showCallPath}
}

func showCallPath(ctx context.Context, c *call, args toolserver.Arguments) (*wire.Result, error) {
	target := args.Text("target")
	last, err := lastName(target)
	if err != nil {
		return nil, err
	}
	depth := args.Integer("max_depth", usualDepth)
	if depth < 1 || depth > maxLevels {
		return nil, fmt.Errorf("max_depth is %d; 1 to %d levels are shown", depth, maxLevels)
	}
	p, err := c.project(ctx, pathOrRoot(args))
	if err != nil {
		return nil, err
	}
	g := callGraph{project: p, byName: map[string][]*defined{}}
	for _, f := range p.files {
		for i := range f.defs {
			if d := &f.defs[i]; isFollowed(d) {
				g.byName[d.Name] = append(g.byName[d.Name], &defined{f, d})
			}
		}
	}
	var found []*defined
	for _, e := range g.byName[last] {
		if full := e.def.FullName(); full == normalName(target) || strings.HasSuffix(full, "."+normalName(target)) {
			found = append(found, e)
		}
	}
	if len(found) == 0 {
		hint := "; outline shows the names in a file"
		if all := g.byName[last]; len(all) > 0 {
			hint = fmt.Sprintf("; %s is %s, %s", last, all[0].def.FullName(), place(all[0].file, all[0].def))
		}
		return nil, fmt.Errorf("no function or type %q is defined below %q%s%s", target, pathOrRoot(args), hint, strings.TrimSuffix("\n"+string(p.survey.appendTo(nil)), "\n"))
	}
	t := treeText{ctx: ctx, deepest: int(depth)}
	for _, e := range found[:min(len(found), maxTargets)] {
		t.add(g.branch(e))
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if more := len(found) - maxTargets; more > 0 {
		t.b = fmt.Appendf(t.b, "[toolpipe] %d more definitions of %q are left out; a path further down shows them\n", more, target)
	}
	return toolserver.TextResult(p.survey.appendTo(t.appendNotes(t.b))), nil
}

// isFollowed says whether a definition is a function or a type.
func isFollowed(d *Definition) bool {
	switch d.Kind {
	case "prototype", "implementation", "field", "variable", "constant", "const", "var":
		return false
	}
	return strings.HasPrefix(d.Signature, "(") || hasBody(d.Kind) || isType(d.Kind)
}

type callGraph struct {
	*project
	byName map[string][]*defined
}

// defined is a definition in its file.
type defined struct {
	file *sourceFile
	def  *Definition
}

func (g *callGraph) branch(e *defined) branch {
	at := place(e.file, e.def)
	return branch{at + " " + e.def.FullName(), fmt.Sprintf("%s  %s %s", e.def.FullName(), e.def.Kind, at), func() []branch { return g.named(e) }}
}

// named gives the definitions that the text of one names, each once, in the order
// of their first use.
func (g *callGraph) named(e *defined) (list []branch) {
	l := g.layoutOf(e.file)
	from, to, own := l.starts[e.def.Start-1], l.starts[e.def.lastLine()], l.nameEnd(e.def)
	seen, packages := map[string]bool{}, map[string]bool{}
	for i := from; i < to; i++ {
		if !lexis.IsWord(l.mask[i]) {
			continue
		}
		begin := i
		for i < to && lexis.IsWord(l.mask[i]) {
			i++
		}
		word := string(l.mask[begin:i])
		all := g.byName[word]
		if len(all) == 0 || i == own {
			continue
		}
		u := use{defined: e}
		u.qualifier, u.qualified = qualifier(l.mask[max(from, begin-maxName):begin])
		if key := fmt.Sprint(u.qualified, u.qualifier, word); !seen[key] {
			seen[key] = true
			isPackage, known := packages[u.qualifier]
			if !known {
				isPackage = isGoPackage(e.file, l.text, u.qualifier)
				packages[u.qualifier] = isPackage
			}
			u.isPackage = isPackage
			list = g.appendNamed(list, word, u.nearest(all))
		}
	}
	return list
}

// appendNamed appends the definitions that a word may be, unless they are there.
func (g *callGraph) appendNamed(list []branch, word string, all []*defined) []branch {
	if len(all) == 0 {
		return list
	}
	br := g.branch(all[0])
	if len(all) > 1 {
		var places []string
		for _, e := range all[:min(len(all), maxPlaces)] {
			places = append(places, place(e.file, e.def))
		}
		label := fmt.Sprintf("%s  one of %d: %s", word, len(all), strings.Join(places, ", "))
		if len(all) > maxPlaces {
			label += ", ..."
		}
		br = branch{label, label, nil}
	}
	for _, there := range list {
		if there.key == br.key {
			return list
		}
	}
	return append(list, br)
}

// A use is a name in the text of a definition.
type use struct {
	*defined
	qualifier string // the name before it, as x of x.name
	qualified bool   // something is before it, as x() of x().name
	isPackage bool   // the qualifier is a package of Go
}

// qualifier is the name before a dot, :: or -> at the end of b. Those that stand
// for the place itself count as none.
func qualifier(b []byte) (name string, qualified bool) {
	for _, mark := range [...]string{".", "::", "->"} {
		if rest, found := bytes.CutSuffix(b, []byte(mark)); found {
			i := len(rest)
			for i > 0 && lexis.IsWord(rest[i-1]) {
				i--
			}
			name = string(rest[i:])
			return name, name != "crate" && name != "super"
		}
	}
	return "", false
}

// isGoPackage says whether a Go file imports a package whose path ends with a name.
func isGoPackage(f *sourceFile, text []byte, name string) bool {
	return f.language.Name == "Go" && name != "" && (bytes.Contains(text, []byte(`/`+name+`"`)) || bytes.Contains(text, []byte(`"`+name+`"`)))
}

// nearest gives those of several definitions that are nearest to the use.
func (u *use) nearest(all []*defined) (nearest []*defined) {
	best := noTier
	for _, other := range all {
		switch tier := u.tier(other); {
		case tier > best || tier == noTier:
		case tier < best:
			best, nearest = tier, []*defined{other}
		default:
			nearest = append(nearest, other)
		}
	}
	return nearest
}

const noTier = 5

// tier says how near a definition is to the use, from 0: it is in what is named
// before the use, in the same class, in the same file, in the same directory, or
// elsewhere. noTier is one that the use cannot mean.
func (u *use) tier(other *defined) int {
	isGo := u.file.language.Name == "Go"
	dir, file := path.Split(other.file.path)
	sameDir := dir == path.Dir(u.file.path)+"/" || path.Dir(u.file.path) == "." && dir == ""
	scope := other.def.Scope
	inClass := scope != "" && (scope == u.def.Scope || scope == u.def.FullName())
	switch {
	case family(other.file) != family(u.file), isGo && strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(u.file.path, "_test.go"):
		return noTier
	case u.isPackage:
		if path.Base(dir) == u.qualifier && scope == "" {
			return 0
		}
		return noTier
	case u.qualifier != "" && (u.qualifier == scope[strings.LastIndexByte(scope, '.')+1:] || u.qualifier == strings.TrimSuffix(file, path.Ext(file)) && !isGo):
		return 0
	case u.qualified && scope == "", !u.qualified && isGo && (scope != "" || !sameDir),
		!u.qualified && scope != "" && !inClass && !hasBareMethods(u.file):
		return noTier
	case inClass:
		return 1
	case other.file == u.file:
		return 2
	case sameDir:
		return 3
	}
	return 4
}

// hasBareMethods says whether a language calls a method of the same object, which
// another class may define, by its name alone.
func hasBareMethods(f *sourceFile) bool {
	switch f.language.Name {
	case "Go", "Python", "Rust", "JavaScript", "TypeScript", "PHP", "Lua":
		return false
	}
	return true
}

// family is the language of a file, or one that names the same definitions.
func family(f *sourceFile) string {
	switch name := f.language.Name; name {
	case "C++", "Objective-C":
		return "C"
	case "TypeScript":
		return "JavaScript"
	case "Kotlin", "Scala":
		return "Java"
	default:
		return name
	}
}
