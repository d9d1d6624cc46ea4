// Package lexis knows how languages write comments and strings, and blanks them
// out of a text, so that what is left can be searched for names and brackets.
// The languages are a table; one scanner reads them all, in time that grows with
// the text's length. It is exact for well-formed source of most languages. Of a
// string that does not end, it takes the line, or all the rest where a string
// may span lines.
package lexis

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"
)

// A Language describes how a language is written. Nil is a language that is not known.
type Language struct {
	Name string
	Data bool // it has no functions and no types

	files       string // their names in lower case: "x", "*.x", or "#!x" for a program that the first line names
	spans       []span
	hereDoc     hereDoc
	escapes     bool     // a backslash in code takes the meaning from the byte behind it
	characters  bool     // a ? where a value is expected is one character, with the next
	regexAfter  []string // words behind which a slash opens a regular expression
	regexSpaced bool     // so it does behind a space, when no space is behind the slash
	outside     bool     // the text begins inside spans[0], unless it begins with its close
}

// A span is a comment or a string.
type span struct {
	open, close string // a … in both is filled with the same characters
	fill        string // the character of the filling; "w" for any character of a word
	flags       flags
	code        string // opens code inside the string, up to the bracket that closes it
	prefix      string // letters that may stand directly before open and belong to it
	needs       string // one of which must
	after       string // it opens only at the text's start, or behind one of these or white space
	never       string // nor directly behind one of these
	not         string // nor when this is behind open
}

type flags uint

const (
	comment   flags = 1 << iota
	lines           // it may span lines; any other ends with its line
	escapes         // a backslash takes the meaning from the byte behind it
	nests           // the same kind of comment may be inside it, or the bracket that close closes
	lineStart       // it opens only where a line begins
	character       // it is one character; else the quote is something else, such as a lifetime in Rust
	number          // it does not open behind a digit of a number, where C++ has ' between digits
	block           // it spans lines when the line in which it opens does not close it
	operand         // it opens only where an operand may stand
	regex           // so does a regular expression, in which [ ] hold the closing slash
	variables       // $name and ${name inside it are code
	doubled         // the text that closes it stands for itself when it is written twice
	staying         // the text that closes it is not part of it
)

// A hereDoc says how a document in the text opens.
type hereDoc struct {
	open   string
	marks  string // one of these characters may follow
	spaces bool   // and then spaces
	word   bool   // the last line begins with the name, where else it is the name
}

// Of returns the language of a file, by its name or by its first line, of which
// head is the begin. It returns nil when neither tells.
func Of(name string, head []byte) *Language {
	name = strings.ToLower(path.Base(name))
	fileOnce.Do(fillByFile)
	all := byFile
	return cmp.Or(all[name], all["*"+path.Ext(name)], all["#!"+Interpreter(head)])
}

var (
	fileOnce sync.Once
	byFile   map[string]*Language // the languages by the names of their files
)

func fillByFile() {
	byFile = map[string]*Language{}
	for i := range languages {
		for name := range strings.FieldsSeq(languages[i].files) {
			byFile[name] = &languages[i]
		}
	}
}

// Interpreter is the program that a first line "#!" names, without directory and
// version; "" without such a line.
func Interpreter(text []byte) string {
	line, found := bytes.CutPrefix(text[:min(len(text), 256)], []byte("#!"))
	if !found {
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	for word := range strings.FieldsSeq(string(line)) {
		program := strings.TrimRight(path.Base(word), "0123456789.")
		if program != "env" && !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return program
		}
	}
	return ""
}

// Fragment is the language of a part of a text. A text of PHP begins outside the code, and
// a part of its code does not.
func (l *Language) Fragment() *Language {
	if l == nil || !l.outside {
		return l
	}
	inside := *l
	inside.outside = false
	return &inside
}

// Is reports whether a language is one of these. A language that is not known is none.
func (l *Language) Is(names ...string) bool { return l != nil && slices.Contains(names, l.Name) }

// IsWord reports whether a byte is part of a name: a letter, a digit, an underscore,
// or a byte of a character that is not ASCII.
func IsWord(c byte) bool {
	return c == '_' || c >= 0x80 || c-'0' < 10 || c|0x20-'a' < 26
}
