// Package imports knows the import statements of Python, Go, JavaScript, TypeScript, Java,
// Rust, C and C++: where they stand in a text, what they bring, and where another one
// belongs. It reads texts and no files.
//
// A statement imports a module (a package, crate or header): the whole of it, or names of
// it. Statements without an empty line between them are a group. The rank of a module says
// in which order groups stand, such as those of the standard library before others.
package imports

import (
	"bytes"
	"fmt"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

// A Statement is one import statement of a text.
type Statement struct {
	From, To int    // where it stands, without the end of its line
	Module   string // as it is written, without quotes
	Top      bool   // outside of every block and condition
	Brings
	shape
}

// Brings is what a statement brings of a module.
type Brings struct {
	Names   []Name // of the module; of Python's "import a, b", these modules
	Whole   string // the name by which the file has the whole module; "" for none
	Default string // of JavaScript: the name of the default export; "" for none
	Star    bool   // all names of the module come without being written
	Type    bool   // of TypeScript: types alone
}

// A shape is how a statement is written.
type shape struct {
	form  form
	list  [2]int // where the names stand that others can be added to; 0, 0: nowhere
	block bool   // of Go: a line in brackets
	alone bool   // nothing else stands in its lines
}

// A Name is one that a statement imports of a module.
type Name struct {
	Name  string
	Alias string // by which the file has it; "" for Name itself
	At    int    // where Name stands in the text; -1 where no single name does
}

// Local is the name by which the file has it.
func (n Name) Local() string {
	if n.Alias != "" {
		return n.Alias
	}
	return n.Name
}

// A form tells the statements of a language apart, which are not merged with each other.
type form uint8

const (
	plain   form = iota
	ofNames      // from a import b
	static       // of Java
	quoted       // #include "a.h"
	angled       // #include <a.h>
	require      // const a = require("a")
	odd          // none that is merged or moved
)

// A grammar is how a language imports.
type grammar struct {
	parse  func(*source) []Statement
	header func(*source) (line int) // the line, from 0, before which a first import stands
	rank   func(*Statement) int
	keys   []func(*Statement) string // the orders in which groups are sorted, the usual one first
	write  func(*source, *Statement, string) string
	merge  func(s *source, into, new *Statement) (edited []byte, merged bool)
	has    func(there, new *Statement) bool // there brings all that new does
	apart  bool                             // groups are separated by an empty line
	form   string                           // an example
}

func grammarOf(l *lexis.Language) *grammar {
	switch {
	case l.Is("Python"):
		return pythonGrammar()
	case l.Is("Go"):
		return goGrammar()
	case l.Is("JavaScript", "TypeScript"):
		return scriptGrammar()
	case l.Is("Java"):
		return javaGrammar()
	case l.Is("Rust"):
		return rustGrammar()
	case l.Is("C", "C++", "Objective-C"):
		return cGrammar()
	}
	return nil
}

// Parse gives the import statements of a text, in their order; none of a language that it
// does not know.
func Parse(l *lexis.Language, text []byte) []Statement {
	g := grammarOf(l)
	if g == nil {
		return nil
	}
	return g.parse(newSource(l, text))
}

// Add adds an import statement to a text, unless the text has it. It goes to the statements
// of the same module, or into their group in its order, in the style of the text. done says
// in a few words what was done. The edited text is equal to the text where it has the
// import.
func Add(l *lexis.Language, text []byte, statement string) (edited []byte, done string, err error) {
	g := grammarOf(l)
	if g == nil {
		return nil, "", fmt.Errorf("imports are added in Python, Go, JavaScript, TypeScript, Java, Rust, C and C++ only")
	}
	statement = strings.TrimSpace(statement)
	one, err := g.one(l, statement)
	if err != nil {
		return nil, "", err
	}
	s := newSource(l, text)
	all := g.parse(s)
	var top []Statement
	for _, there := range all {
		if there.Top {
			top = append(top, there)
		}
	}
	for i := range top {
		if g.has(&top[i], one) {
			return text, fmt.Sprintf("nothing to add: line %d imports it", s.lineOf(top[i].From)+1), nil
		}
	}
	if one = g.missing(top, one); one == nil {
		return text, "nothing to add: it is imported already", nil
	}
	if g.merge != nil {
		for i := range top {
			if edited, merged := g.merge(s, &top[i], one); merged {
				return edited, fmt.Sprintf("added to the import in line %d", s.lineOf(top[i].From)+1), nil
			}
		}
	}
	p := g.place(s, s.anchors(top), one)
	line := g.write(s, one, statement)
	if p.block {
		line = "\t" + strings.TrimPrefix(line, "import ")
	}
	edited, at := s.inserted(p, line)
	return edited, fmt.Sprintf("added in line %d", at+1), nil
}

// maxStatement is how long an import statement may be, in bytes.
const maxStatement = 4 << 10

// one reads the only statement of a text.
func (g *grammar) one(l *lexis.Language, text string) (*Statement, error) {
	if len(text) > maxStatement || strings.ContainsAny(text, "\x00") {
		return nil, fmt.Errorf("import has %d bytes, or a NUL byte; at most %d are allowed", len(text), maxStatement)
	}
	s := newSource(l, []byte(text+"\n"))
	if l.Is("Go") && !strings.HasPrefix(text, "import") {
		s = newSource(l, []byte("import "+text+"\n"))
	}
	if l.Is("Go") {
		s = newSource(l, append([]byte("package p\n"), s.text...))
	}
	found := g.parse(s)
	if len(found) != 1 || !found[0].Top || found[0].form == odd || found[0].Module == "" && len(found[0].Names) == 0 || !s.isAll(&found[0], l) {
		return nil, fmt.Errorf("import is to be one import statement of %s, such as %s, not %.80q", l.Name, g.form, text)
	}
	return &found[0], nil
}

// isAll reports whether a text has nothing beside a statement, but the package clause.
func (s *source) isAll(st *Statement, l *lexis.Language) bool {
	before := s.text[:st.From]
	if l.Is("Go") {
		before = bytes.TrimPrefix(before, []byte("package p\n"))
		before = bytes.TrimPrefix(before, []byte("import"))
	}
	return len(bytes.TrimSpace(before)) == 0 && len(bytes.Trim(s.text[st.To:], " \t\r\n;")) == 0
}

// missing is what the statements of a text do not bring of a new one; nil for nothing.
func (g *grammar) missing(top []Statement, new *Statement) *Statement {
	if len(new.Names) == 0 {
		return new
	}
	left := *new
	left.Names = nil
	for _, name := range new.Names {
		single := *new
		single.Names, single.Default, single.Whole = []Name{name}, "", ""
		there := false
		for i := range top {
			there = there || g.has(&top[i], &single)
		}
		if !there {
			left.Names = append(left.Names, name)
		}
	}
	if len(left.Names) == 0 && left.Default == "" && left.Whole == "" {
		return nil
	}
	return &left
}
