package code

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/stream/text/readable"
)

// A definition is a named thing in a source file. Lines are counted from 1; the last one is
// included.
type definition struct {
	Name       string
	Kind       string // function, class, ... as named by go/ast or ctags
	Scope      string // the names of the definitions around it, joined by dots; "" at the top
	Line       int    // of the name
	Start, End int    // with decorators, attributes and the comment directly above; End 0 means unknown
	Guessed    bool   // Start or End is not certain
	Shared     bool   // its first or last line also has other code
	Signature  string // of a function: its parameters and its result
	Parents    []string

	structure string      // the full name of the struct that is its type
	file      *sourceFile // the file that has it
}

func (d *definition) fullName() string {
	if d.Scope == "" {
		return d.Name
	}
	return d.Scope + "." + d.Name
}

func (d *definition) lastLine() int { return max(d.Line, d.End) }

// place is the path and lines of a definition.
func (d *definition) place() string { return confine.ShownName(d.file.path) + ":" + d.span() }

// span is the lines of a definition, with ~ if they are a guess.
func (d *definition) span() string {
	switch {
	case d.Guessed:
		return fmt.Sprintf("%d-%d~", d.Start, d.lastLine())
	case d.lastLine() > d.Start:
		return fmt.Sprintf("%d-%d", d.Start, d.lastLine())
	}
	return strconv.Itoa(d.Start)
}

// holds reports whether another definition, which comes later, is in the lines of d.
func (d *definition) holds(other *definition) bool {
	if other.Line > d.Line && other.lastLine() < d.lastLine() {
		return true
	}
	return other.Line <= d.lastLine() && within(other.Scope, d.fullName())
}

// within reports whether a scope is a full name or inside it.
func within(scope, full string) bool { return scope == full || strings.HasPrefix(scope, full+".") }

func isType(kind string) bool {
	return slices.Contains([]string{"class", "interface", "trait", "struct", "type", "enum", "union", "protocol", "object", "record", "module"}, kind)
}

// isFunction reports whether definitions of a kind are functions: definitions inside them
// cannot be used from outside.
func isFunction(kind string) bool {
	return slices.Contains([]string{"function", "method", "getter", "setter", "generator", "singletonMethod", "macro", "func"}, kind)
}

// hasBody reports whether definitions of a kind end with the closing bracket of their body.
func hasBody(kind string) bool {
	return isFunction(kind) && kind != "func" || isType(kind) && kind != "type" ||
		slices.Contains([]string{"implementation", "namespace", "annotation", "extension", "selector", "id", "subroutine"}, kind)
}

// anonymous begins the names that ctags gives to definitions without a name.
const anonymous = "__anon"

// file reads the source file at a path, with its definitions and its layout.
func (c *call) file(path string) (*sourceFile, error) {
	f, err := c.read(path)
	if err != nil {
		return nil, err
	}
	f.lay()
	return f, c.ctags.outline(f)
}

// outline finds the definitions of a file. After an error in one file, other files can be
// outlined.
func (s *session) outline(f *sourceFile) error {
	switch {
	case strings.HasSuffix(f.path, ".go"):
		f.defs = sorted(goDefinitions(f.text))
	case f.language.Is("Ruby"):
		f.lay()
		f.defs = f.place(sorted(rubyDefinitions(f.mask, f.lines()+1)))
	default:
		defs, err := s.definitions(ctagsName(f.path, f.language), f.text)
		if err != nil {
			s.close()
			return err
		}
		f.lay()
		f.defs = f.overloads(f.addMissed(f.place(sorted(defs))))
	}
	for i := range f.defs {
		f.defs[i].file = f
	}
	return nil
}

func sorted(defs []definition) []definition {
	slices.SortStableFunc(defs, func(a, b definition) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), strings.Compare(a.Scope, b.Scope)) // the outer definition comes first
	})
	return defs
}

// find returns the one definition of a name, and the declarations and implementations with
// the same name.
func (f *sourceFile) find(name string) (d *definition, others []*definition, err error) {
	if strings.TrimSpace(name) == "" {
		return nil, nil, fmt.Errorf("name is empty; outline shows the names in %q", f.path)
	}
	found := f.named(name)
	if len(found) == 0 {
		var names []string
		for i := range f.defs {
			names = append(names, f.defs[i].Name, f.defs[i].fullName())
		}
		plain, _ := cutLine(name)
		return nil, nil, fmt.Errorf("%q defines no %q%s; outline shows the names in it", f.path, name, didYouMean(plain, names))
	}
	var main []*definition
	for _, d := range found {
		inFirst := d != found[0] && within(d.Scope, found[0].fullName()) // such as a constructor in its class
		if inFirst || d.Kind == "prototype" || d.Kind == "externvar" || d.Kind == "implementation" {
			others = append(others, d)
		} else {
			main = append(main, d)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil, nil
	case len(main) == 1:
		return main[0], others, nil
	case len(main) == 2 && main[0].Start == main[1].Start && main[0].End == main[1].End:
		return main[0], others, nil // typedef struct name { } name;
	}
	o := outlineText{sourceFile: f}
	o.b = fmt.Appendf(o.b, "%q has %d definitions of %q; name one by its line:\n", f.path, len(found), name)
	for _, d := range found[:min(len(found), 100)] {
		o.b = fmt.Appendf(o.b, "%s:%d  ", d.fullName(), d.Line)
		o.appendLine(d, nil)
	}
	return nil, nil, errors.New(strings.TrimSpace(string(o.b)))
}

// named returns the definitions of a name. The name may include a scope, as in Class.method
// or Class::method, and a line, as in method:12. If definitions have exactly this full name,
// those in other scopes are left out.
func (f *sourceFile) named(name string) (found []*definition) {
	name, line := cutLine(name)
	name = normalName(strings.TrimSpace(name))
	exact := false
	for i := range f.defs {
		d := &f.defs[i]
		full := d.fullName()
		switch {
		case line > 0 && (line < d.Start || line > d.Line):
		case full == name && !exact:
			exact, found = true, []*definition{d}
		case full == name, !exact && strings.HasSuffix(full, "."+name):
			found = append(found, d)
		}
	}
	if elsewhere := func(d *definition) bool { return d.Line != line }; line > 0 && slices.ContainsFunc(found, func(d *definition) bool { return !elsewhere(d) }) {
		found = slices.DeleteFunc(found, elsewhere) // if a definition begins in that line, not those with the line above their name
	}
	return found
}

// cutLine splits the line off a name. The line 0 means that the name has none.
func cutLine(name string) (string, int) {
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		if line, err := strconv.Atoi(name[i+1:]); err == nil && line > 0 {
			return name[:i], line
		}
	}
	return name, 0
}

func didYouMean(name string, names []string) string {
	if near := readable.Nearest(normalName(name), names); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}
