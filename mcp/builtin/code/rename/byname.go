package rename

import (
	"fmt"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/imports"
)

// findByName finds the uses of a target in languages of which the scopes are known by their
// words and brackets alone: a definition at the top of a file is meant in its file, where
// no function around has a parameter or a variable of the name, and in files that import it
// by its name.
func (p *Plan) findByName() error {
	own := p.Files[p.Target.File]
	if err := p.checkTarget(own); err != nil {
		return err
	}
	for i, f := range p.Files {
		m := &marker{Plan: p, File: f, isOwn: i == p.Target.File, hidden: map[*Definition]bool{}, seen: map[*Definition]bool{}}
		m.find()
	}
	for _, f := range p.Files {
		if len(f.Certain()) == 0 {
			continue
		}
		if at := f.words(p.To); len(at) > 0 {
			return taken(p.To, f, at[0])
		}
	}
	return nil
}

// checkTarget refuses what has another meaning than its name tells.
func (p *Plan) checkTarget(own *File) error {
	t := p.Target
	for i := range own.Defs {
		d := &own.Defs[i]
		if d.Name == t.Name && d.Scope == t.Scope && d.IsType && own.Language.Is("Java") && strings.HasSuffix(own.Path, t.Name+".java") {
			return fmt.Errorf("%s has the name of its file, which a rename does not change", t.Name)
		}
		if around := d.Name; d.IsFunction && t.Scope != "" && (t.Scope == around || strings.HasSuffix(t.Scope, "."+around)) && d.Line < t.Line {
			return fmt.Errorf("%s is inside the function %s; it is not renamed", t.Name, around)
		}
		if t.Scope != "" && lastPart(t.Scope) == t.Name && d.IsType && d.Line == t.Line {
			return fmt.Errorf("%s is a constructor, which has the name of its class: rename that", t.Name)
		}
	}
	return nil
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// A marker marks the uses in one file.
type marker struct {
	*Plan
	*File
	isOwn  bool
	hidden map[*Definition]bool // by function: it has a parameter or a variable of the name
	seen   map[*Definition]bool // the functions of which that is known
}

func (m *marker) is(names ...string) bool { return m.File.Language.Is(names...) }

func (m *marker) find() {
	for _, at := range m.words(m.Plan.Name) {
		m.word(at)
	}
	if m.isOwn || len(m.Links) > 0 {
		m.texts()
	}
}

// texts marks the strings that are the name and nothing else, as in __all__.
func (m *marker) texts() {
	name := m.Plan.Name
	for _, quote := range []string{`"`, `'`} {
		text := string(m.Text)
		for from := 0; ; {
			i := strings.Index(text[from:], quote+name+quote)
			if i < 0 {
				break
			}
			at := from + i + 1
			if m.Mask[at] == ' ' && m.Mask[at-1] == quote[0] {
				m.mark(at, m.isListed(at), "a string that is the name")
			}
			from = at + len(name)
		}
	}
}

// isListed reports whether a string is in __all__ of a file that has the target by its name.
func (m *marker) isListed(at int) bool {
	open := m.bracket(at)
	if open < 0 || m.Scope != "" || !m.is("Python") || !m.isOwn && !m.importsName() {
		return false
	}
	return lastWord(strings.TrimRight(m.before(open), " +=")) == "__all__"
}

// word marks the name where it stands in code.
func (m *marker) word(at int) {
	d := m.definitionAt(at)
	link := m.linkAt(at)
	qualifier, isMember := m.qualifier(at)
	if behind := strings.TrimLeft(m.behind(at), "\r\n"); d != nil && m.is("JavaScript", "TypeScript") && (strings.HasPrefix(behind, ",") || strings.HasPrefix(behind, "}")) {
		d = nil // a property { name }, which is a use as well
	}
	isShared := m.Related && m.is("C", "C++", "Objective-C") // a prototype and its function are one
	switch {
	case d != nil && (m.isOwn || isShared) && d.Scope == m.Scope:
		m.mark(at, true, "")
	case d != nil && (m.Scope == "" || d.Scope == ""):
	case d != nil:
		m.mark(at, false, "another definition of the name, "+d.Scope+"."+d.Name)
	case link != nil:
		if m.Scope == "" && link.Names && link.imports(m.Plan.Name, at) {
			m.mark(at, link.certain(at), "an import names it")
		}
	case m.is("PHP") && at > 0 && m.Mask[at-1] == '$':
	case isMember:
		m.member(at, qualifier)
	case m.Scope == "":
		m.bare(at)
	case m.isImplicit(at):
		m.unhidden(at)
	}
}

// definitionAt is the definition whose name stands at an offset: the first word of the name
// in the line of the definition.
func (m *marker) definitionAt(at int) *Definition {
	line := m.Line(at)
	for _, other := range m.words(m.Plan.Name) {
		if other >= at {
			break
		}
		if other >= m.starts[line-1] {
			return nil
		}
	}
	for i := range m.Defs {
		if d := &m.Defs[i]; d.Name == m.Plan.Name && d.Line == line {
			return d
		}
	}
	return nil
}

// linkAt is the import in which an offset is, of those that lead to the file of the target.
func (m *marker) linkAt(at int) *Link {
	for i := range m.Links {
		if l := &m.Links[i]; at >= l.From && at < l.To {
			return l
		}
	}
	return nil
}

// imports reports whether the name at an offset may be one that the statement imports, and
// not the alias of another.
func (l *Link) imports(name string, at int) bool {
	for _, n := range l.Statement.Names {
		if n.Name == name && (n.At == at || n.At < 0) {
			return true
		}
	}
	return false
}

// certain reports whether it is known that the name at an offset is imported.
func (l *Link) certain(at int) bool {
	return slices.ContainsFunc(l.Statement.Names, func(n imports.Name) bool { return n.At == at })
}

// before is the code before an offset in its statement, without white space at its end.
func (m *marker) before(at int) string {
	return strings.TrimRight(string(m.Mask[max(0, at-maxLooked):at]), " \t\r\n")
}

// behind is the code behind the name at an offset.
func (m *marker) behind(at int) string {
	at += len(m.Plan.Name)
	return strings.TrimLeft(string(m.Mask[at:min(len(m.Mask), at+maxLooked)]), " \t")
}

// maxLooked is how many bytes are looked at around a name.
const maxLooked = 4 << 10

// qualifier is the name before a dot, "->" or "::" in front of an offset, with the names
// before that; isMember says that there is such a mark.
func (m *marker) qualifier(at int) (name string, isMember bool) {
	text := m.before(at)
	rest := text
	for {
		cut := rest
		for _, mark := range []string{"::", "->", "?.", "!.", "."} {
			if before, found := strings.CutSuffix(cut, mark); found && !strings.HasSuffix(before, ".") {
				cut = strings.TrimRight(before, " \t\r\n")
				break
			}
		}
		if cut == rest {
			break
		}
		isMember = true
		end := len(cut)
		for end > 0 && isWord(cut[end-1]) {
			end--
		}
		if name = cut[end:] + "." + name; end == len(cut) {
			name = "?" + name
			break
		}
		rest = strings.TrimRight(cut[:end], " \t\r\n")
	}
	return strings.TrimSuffix(name, "."), isMember
}

// member marks the name behind a qualifier.
func (m *marker) member(at int, qualifier string) {
	certain := false
	switch {
	case m.Scope != "" && slices.Contains([]string{"self", "this", "cls", "Self"}, qualifier):
		certain = m.isOwn && m.isInClass(at)
	case m.Scope != "":
		certain = lastPart(m.Scope) == qualifier && (m.isOwn || m.Related || m.hasName(qualifier))
	case m.isOwn && m.is("JavaScript", "TypeScript"):
		certain = qualifier == "exports" || qualifier == "module.exports"
	case m.isOwn && m.is("Rust"):
		certain = qualifier == "self" || qualifier == "Self"
	}
	for _, l := range m.Links {
		if m.is("Rust") {
			qualifier = lastPart(qualifier)
		}
		certain = certain || m.Scope == "" && slices.Contains(l.Qualifiers, qualifier)
	}
	m.mark(at, certain, "a member of something that is not known here")
}

// hasName reports whether a file imports a name of the file of the target.
func (m *marker) hasName(name string) bool {
	for _, l := range m.Links {
		for _, n := range l.Statement.Names {
			if l.Names && n.Local() == name && n.Name == name {
				return true
			}
		}
	}
	return false
}

// isInClass reports whether an offset is in the class of the target, and in no class inside.
func (m *marker) isInClass(at int) bool {
	line := m.Line(at)
	var inner *Definition
	for i := range m.Defs {
		d := &m.Defs[i]
		isImplementation := d.Kind == "implementation" || d.Kind == "namespace"
		if (d.IsType || isImplementation) && d.Start <= line && line <= d.End && (inner == nil || d.Start >= inner.Start) {
			inner = d
		}
	}
	if inner == nil {
		return false
	}
	full := inner.Name
	if inner.Scope != "" {
		full = inner.Scope + "." + full
	}
	return full == m.Scope
}

// isImplicit reports whether a bare name at an offset may be a member of the class around.
func (m *marker) isImplicit(at int) bool {
	return m.isOwn && m.is("Java", "C++", "C#", "Kotlin") && m.isInClass(at)
}
