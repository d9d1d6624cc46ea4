package code

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/toolserver"
)

const maxAncestry = 50 // levels of a hierarchy that are shown

func showHierarchy(ctx context.Context, c *call, args toolserver.Arguments) ([]byte, error) {
	name, err := lastName(args.Text("name"))
	if err != nil {
		return nil, err
	}
	h := hierarchy{path: args.TextOr("path", "."), files: map[string]bool{}, searched: map[string]bool{name: true}}
	h.survey = survey{call: c, maxFiles: 50_000, maxBytes: 1 << 30, wants: isProgram}
	for next := []string{name}; len(next) > 0; next = h.unsearched(name) {
		if err := h.read(ctx, next); err != nil {
			return nil, err
		}
	}
	if h.types[name] == nil {
		if err := h.read(ctx, nil); err != nil { // for similar names
			return nil, err
		}
		return nil, h.survey.notFound("no class or type %q below %q%s", name, h.path, didYouMean(name, slices.Sorted(maps.Keys(h.types))))
	}
	up, down := newTree(ctx, maxAncestry), newTree(ctx, maxAncestry)
	up.add(h.branch(name, func(t *typeNode) []string { return t.parents }))
	down.add(h.branch(name, func(t *typeNode) []string { return t.children }))
	b := fmt.Appendf(nil, "superclasses:\n%ssubclasses:\n%s", up.B, down.B)
	return h.survey.appendTo(down.appendNotes(up.appendNotes(b))), context.Cause(ctx)
}

// A hierarchy is types by name. Types of one name count as one. It reads only the files that
// contain one of its names, in rounds: the definitions in them name further types.
type hierarchy struct {
	path     string
	survey   survey
	files    map[string]bool // the files that were read
	searched map[string]bool // the names that files were searched for
	found    []typeDefinition
	types    map[string]*typeNode
}

type typeDefinition struct {
	file, name string
	place      string // as shown; "" for an implementation
	parents    []string
}

type typeNode struct {
	places            []string // its definitions
	parents, children []string
}

// read adds the types in the files that contain one of the names; nil: in all files.
func (h *hierarchy) read(ctx context.Context, names []string) error {
	h.survey.surveyed = surveyed{unread: h.survey.unread, faulty: h.survey.faulty}
	h.survey.holds = nil
	if names != nil {
		h.survey.holds = holdsAny(names)
	}
	err := h.survey.each(ctx, h.path, func(f *sourceFile) error {
		if f.language == nil || h.files[f.path] {
			return nil
		}
		h.files[f.path] = true
		err := h.survey.outline(ctx, f)
		for i := range f.defs {
			h.find(&f.defs[i])
		}
		return err
	})
	slices.SortStableFunc(h.found, func(a, b typeDefinition) int { return walkOrder(a.file, b.file) })
	h.types = map[string]*typeNode{}
	for _, d := range h.found {
		h.add(d)
	}
	return err
}

// holdsAny makes a function that reports whether a text contains one of some names, not as a
// part of a longer one.
func holdsAny(names []string) func(text []byte) bool {
	const few = 8
	words := map[string]bool{} // so many that it is cheaper to look at each word of the text once
	for _, name := range names {
		if len(names) > few && lexis.WordLen([]byte(name)) == len(name) {
			words[name] = true
		}
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return words[name] })
	return func(text []byte) bool {
		contains := func(name string) bool { return wordAt(text, []byte(name), 0) >= 0 }
		if slices.ContainsFunc(names, contains) {
			return true
		}
		for i := 0; len(words) > 0 && i < len(text); i++ {
			n := lexis.WordLen(text[i:])
			if words[string(text[i:i+n])] {
				return true
			}
			i += n
		}
		return false
	}
}

// walkOrder compares the paths of two files by the order of a walk: the files of a directory
// come before the directories in it.
func walkOrder(a, b string) int {
	for {
		nameA, restA, dirA := strings.Cut(a, "/")
		nameB, restB, dirB := strings.Cut(b, "/")
		switch {
		case dirA != dirB && dirB:
			return -1
		case dirA != dirB:
			return 1
		case nameA != nameB || !dirA:
			return strings.Compare(nameA, nameB)
		}
		a, b = restA, restB
	}
}

// unsearched returns the names of types above and below a type for which no files were searched,
// and counts them as searched.
func (h *hierarchy) unsearched(name string) (names []string) {
	for _, next := range [...]func(*typeNode) []string{
		func(t *typeNode) []string { return t.parents },
		func(t *typeNode) []string { return t.children },
	} {
		reached := map[string]bool{name: true}
		for list := []string{name}; len(list) > 0; list = list[1:] {
			if !h.searched[list[0]] {
				h.searched[list[0]] = true
				names = append(names, list[0])
			}
			if h.types[list[0]] == nil {
				continue
			}
			for _, other := range next(h.types[list[0]]) {
				if !reached[other] {
					reached[other] = true
					list = append(list, other)
				}
			}
		}
	}
	return names
}

func (h *hierarchy) node(name string) *typeNode {
	if h.types[name] == nil {
		h.types[name] = &typeNode{}
	}
	return h.types[name]
}

// find remembers a definition if it is a type.
func (h *hierarchy) find(d *definition) {
	t := typeDefinition{file: d.file.path, name: d.Name, parents: d.Parents}
	if len(t.parents) == 0 {
		t.parents = d.headParents()
	}
	if len(t.parents) == 0 && !isType(d.Kind) {
		return
	}
	if d.Kind != "implementation" {
		t.place = d.Kind + " " + d.place()
	}
	h.found = append(h.found, t)
}

func (h *hierarchy) add(d typeDefinition) {
	n := h.node(d.name)
	if d.place != "" {
		n.places = append(n.places, d.place)
	}
	for _, parent := range d.parents {
		parent = typeWord(parent)
		if parent == "" || slices.Contains(n.parents, parent) {
			continue
		}
		n.parents = append(n.parents, parent)
		above := h.node(parent)
		above.children = append(above.children, d.name)
	}
}

// typeWord is the last name in the text of a type, as Base in ns::Base<int>; "" if the text
// has no name.
func typeWord(text string) string {
	if i := strings.IndexAny(text, "<[("); i >= 0 {
		text = text[:i]
	}
	if i := strings.LastIndexAny(text, `.:\& `); i >= 0 {
		text = text[i+1:]
	}
	if strings.ContainsAny(text, ">])") {
		return ""
	}
	return text
}

// headParents reads the parents of a type from its head, for languages in which ctags does
// not report them.
func (d *definition) headParents() (parents []string) {
	f, isImplementation := d.file, d.Kind == "implementation"
	before, behind := ":", " where " // the list of parents is between them
	switch {
	case f.language.Is("Rust") && isImplementation:
		before, behind = "impl", " for "
	case f.language.Is("TypeScript") && d.Kind == "interface":
		before = " extends "
	case f.language.Is("Rust") && d.Kind == "interface", f.language.Is("Kotlin") && isType(d.Kind):
	default:
		return nil
	}
	f.lay()
	begin := f.starts[d.Line-1]
	text := string(f.mask[begin:min(begin+maxLooked, len(f.mask))])
	text = text[:strings.IndexAny(text+";", "{;")]
	_, list, _ := strings.Cut(withoutBrackets(text), before)
	list, _, found := strings.Cut(list, behind)
	if isImplementation && !found {
		return nil
	}
	for part := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == '+' }) {
		if fields := strings.Fields(part); len(fields) > 0 && fields[0][0] != '\'' { // in Rust, a lifetime
			parents = append(parents, fields[0])
		}
	}
	return parents
}

// withoutBrackets is a text in one line, without the parts in < > and ( ).
func withoutBrackets(text string) string {
	depth := 0
	return strings.Map(func(r rune) rune {
		switch {
		case r == '<', r == '(':
			depth++
		case r == '>' || r == ')':
			depth = max(0, depth-1)
		case depth > 0:
		case r == '\n', r == '\r', r == '\t':
			return ' '
		default:
			return r
		}
		return -1
	}, text)
}

func (h *hierarchy) branch(name string, next func(*typeNode) []string) branch {
	t := h.types[name]
	label := name + "  " + firstPlaces(t.places)
	if len(t.places) == 0 {
		label += fmt.Sprintf("(not defined below %q)", h.path)
	}
	return branch{Label: label, Below: func() (list []branch) {
		for _, other := range next(t) {
			list = append(list, h.branch(other, next))
		}
		return list
	}}
}

const maxPlaces = 5 // definitions of one name that are listed in a line

func firstPlaces(all []string) string {
	text := strings.Join(all[:min(len(all), maxPlaces)], ", ")
	if more := len(all) - maxPlaces; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// maxTreeLines is the largest number of lines of a tree.
const maxTreeLines = 1000

// A branch is a line of a tree, and the branches below it. Branches with one label are the
// same, and are followed once.
type branch struct {
	Label string
	Below func() []branch // nil for nothing
}

// A tree is written as text: a line for each branch, two spaces for each level. A branch that
// occurs several times is shown completely only the first time.
type tree struct {
	B        []byte // the text so far
	ctx      context.Context
	deepest  int // levels below the first line
	lines    int
	more     int             // omitted branches, without the branches below them
	deeper   int             // branches at the deepest level that have others below them
	followed map[string]bool // the labels of the branches that were followed
	way      []string        // the labels from the first line to the present one
}

func newTree(ctx context.Context, deepest int) *tree {
	return &tree{ctx: ctx, deepest: deepest, followed: map[string]bool{}}
}

// add adds a branch and everything below it, until the context ends.
func (t *tree) add(br branch) {
	if t.ctx.Err() != nil {
		return
	}
	if t.lines == maxTreeLines || len(t.B) > toolserver.MaxText {
		t.more++
		return
	}
	t.lines++
	var below []branch
	mark, depth := "", len(t.way)
	if slices.Contains(t.way, br.Label) {
		mark = "  (cycle)"
	} else if br.Below != nil {
		below = br.Below()
	}
	switch {
	case len(below) == 0:
	case t.followed[br.Label]:
		mark, below = "  (see above)", nil
	case depth == t.deepest:
		mark, below = "  ...", nil
		t.deeper++
	default:
		t.followed[br.Label] = true
	}
	t.B = fmt.Appendf(t.B, "%s%s%s\n", strings.Repeat("  ", depth), br.Label, mark)
	t.way = append(t.way, br.Label)
	for _, next := range below {
		t.add(next)
	}
	t.way = t.way[:depth]
}

func (t *tree) appendNotes(b []byte) []byte {
	if t.more > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d more branches, and everything below them, are left out; a deeper path shows less\n", t.more)
	}
	if t.deeper > 0 {
		b = fmt.Appendf(b, "[toolpipe] \"...\": %d branches go on below level %d\n", t.deeper, t.deepest)
	}
	return b
}
