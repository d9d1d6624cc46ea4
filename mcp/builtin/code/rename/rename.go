// Package rename finds what has to change in the source files of a project when a
// definition gets another name. It reads texts and no files.
//
// A use is a place in which the name stands and means the definition. It is certain where
// the scopes of the language say so; where they do not, it is uncertain, such as a member of
// a value whose type is not known. The target is the definition that is renamed.
package rename

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"toolpipe/mcp/builtin/code/imports"
	"toolpipe/mcp/builtin/code/lexis"
)

// A File is a source file that may name the target.
type File struct {
	Path     string // as answers show it
	Dir      string // with slashes, from the root
	Language *lexis.Language
	Text     []byte
	Mask     []byte // the text without comments and strings
	Defs     []Definition
	Relation

	marks  []Mark
	starts []int
}

// A Relation is what a file has to do with that of the target.
type Relation struct {
	Links   []Link // the imports that lead to it
	Related bool   // of C: they share a header in which the name stands; of Java: a package
	Package string // of Go: the import path of the directory of the file; "" if that is not known
}

// A Definition is one of a file. Lines count from 1.
type Definition struct {
	Name, Scope, Kind string
	Line, Start, End  int // End is 0 where it is not known
	IsFunction        bool
	IsType            bool
}

// A Link is an import that leads to the file of the target.
type Link struct {
	imports.Statement
	Qualifiers []string // by which the file has the module, such as m of m.name
	Names      bool     // Statement.Names are definitions of the file of the target
}

// A Mark is a place in which the name stands.
type Mark struct {
	At      int    // offset of the name
	Certain bool   // it is a use, and changes
	Why     string // why it is not certain, in words
}

// A Target says what is renamed to what.
type Target struct {
	File     int // among the files
	Name, To string
	Scope    string // of the definition
	Line     int    // of the name
	Kind     string
}

// Plan is what a rename comes to.
type Plan struct {
	Files []*File
	*Target
}

// New finds the uses of the target in files. The error says why it cannot be renamed so.
func New(files []*File, t *Target) (*Plan, error) {
	p := &Plan{Files: files, Target: t}
	own := files[t.File]
	for _, f := range files {
		f.starts = lineStarts(f.Text)
	}
	var err error
	if own.Language.Is("Go") {
		err = p.findGo()
	} else {
		err = p.findByName()
	}
	if err == nil && len(own.Certain()) == 0 {
		err = fmt.Errorf("%s is not in line %d as a word of its own", t.Name, t.Line)
	}
	return p, err
}

// Certain are the offsets of the uses that change, in order.
func (f *File) Certain() (at []int) {
	for _, m := range f.marks {
		if m.Certain {
			at = append(at, m.At)
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// Uncertain are the marks that stay as they are, in order, one for each line.
func (f *File) Uncertain() (marks []Mark) {
	certain := f.Certain()
	for _, m := range f.marks {
		if !m.Certain && !slices.Contains(certain, m.At) {
			marks = append(marks, m)
		}
	}
	slices.SortFunc(marks, func(a, b Mark) int { return cmp.Compare(a.At, b.At) })
	return slices.CompactFunc(marks, func(a, b Mark) bool { return f.Line(a.At) == f.Line(b.At) })
}

// Edited is the text of a file with the new name.
func (p *Plan) Edited(f *File) []byte {
	var b []byte
	last := 0
	for _, at := range f.Certain() {
		b = append(append(b, f.Text[last:at]...), p.To...)
		last = at + len(p.Name)
	}
	return append(b, f.Text[last:]...)
}

// Line is the number of the line with an offset, from 1.
func (f *File) Line(at int) int {
	n, _ := slices.BinarySearch(f.starts, at+1)
	return n
}

func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func (f *File) mark(at int, certain bool, why string) {
	f.marks = append(f.marks, Mark{at, certain, why})
}

// words are the offsets at which a name stands in the code of a file, as a word.
func (f *File) words(name string) (all []int) {
	text := string(f.Mask)
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return all
		}
		at, end := from+i, from+i+len(name)
		if (at == 0 || !isWord(text[at-1])) && (end == len(text) || !isWord(text[end])) {
			all = append(all, at)
		}
		from = at + 1
	}
}

func isWord(c byte) bool { return lexis.IsWord(c) || c == '$' }

// Languages are those in which definitions are renamed.
const Languages = "Go, Python, JavaScript, TypeScript, Java, Rust, C, C++, C# and Kotlin"

// reserved are the keywords of a language that are no names, and the names that stand for
// something wherever they are written.
func reserved(l *lexis.Language) string {
	const script = "await break case catch class const continue debugger default delete do else enum export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof undefined var void while with yield arguments eval"
	const c = "auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main"
	const java = "abstract assert boolean break byte case catch char class const continue default do double else enum extends final finally float for goto if implements import instanceof int interface long native new package private protected public return short static strictfp super switch synchronized this throw throws transient try void volatile while true false null _"
	switch {
	case l.Is("Go"):
		return "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var _ init main"
	case l.Is("Python"):
		return "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield self"
	case l.Is("JavaScript", "TypeScript"):
		return script
	case l.Is("Java"):
		return java
	case l.Is("Rust"):
		return "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while abstract become box do final gen macro override priv try typeof unsized virtual yield _ main"
	case l.Is("C", "Objective-C"):
		return c
	case l.Is("C++"):
		return c + " alignas alignof and asm bool catch char8_t char16_t char32_t class co_await co_return co_yield concept const_cast consteval constexpr constinit decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept not nullptr operator or private protected public reinterpret_cast requires static_assert static_cast template this thread_local throw true try typeid typename using virtual wchar_t xor"
	case l.Is("C#"):
		return java + " as base bool checked decimal delegate event explicit extern fixed foreach implicit in internal is lock namespace object operator out override params readonly ref sbyte sealed sizeof stackalloc string struct typeof uint ulong unchecked unsafe ushort using virtual Main"
	case l.Is("Kotlin"):
		return "as break class continue do else false for fun if in interface is null object package return super this throw true try typealias typeof val var when while"
	}
	return ""
}

// CheckName returns an error when the new name of a target is none in its language.
func CheckName(l *lexis.Language, t *Target) error {
	words := strings.Fields(reserved(l))
	switch {
	case len(words) == 0:
		return fmt.Errorf("definitions are renamed in %s only", Languages)
	case t.To == t.Name:
		return fmt.Errorf("to is %q, as the name is already", t.To)
	case !isIdentifier(t.To, l):
		return fmt.Errorf("to is %q, which is no name in %s", t.To, l.Name)
	case slices.Contains(words, t.To):
		return fmt.Errorf("to is %q, which %s keeps for itself", t.To, l.Name)
	case !isIdentifier(t.Name, l):
		return fmt.Errorf("%q is no plain name, and is not renamed", t.Name)
	case slices.Contains(words, t.Name), l.Is("Python") && strings.HasPrefix(t.Name, "__") && strings.HasSuffix(t.Name, "__"):
		return fmt.Errorf("%s means %q whatever it is defined as; it is not renamed", l.Name, t.Name)
	}
	return nil
}

const maxName = 250 // bytes

func isIdentifier(name string, l *lexis.Language) bool {
	for i, r := range name {
		letter := r == '_' || unicode.IsLetter(r) || r == '$' && l.Is("JavaScript", "TypeScript", "Java")
		if !letter && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// taken is the error for a new name that stands in a file already.
func taken(to string, f *File, at int) error {
	return fmt.Errorf("nothing was written: %s:%d uses the name %q already; another name is needed, or that one is renamed first", f.Path, f.Line(at), to)
}
