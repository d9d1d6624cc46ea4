// Package lexis knows how languages write comments and strings, and blanks them out of a
// text, so that the rest can be searched for names and brackets. The languages are a table;
// one scanner reads them all, in time proportional to the text's length. It is exact for
// well-formed source of most languages. An unterminated string ends with its line, or with
// the text if such a string may span lines.
package lexis

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"
)

// A Language describes the syntax of a language. nil is an unknown language.
type Language struct {
	Name string
	Data bool // it has no functions and no types

	files       string // file names in lower case: "x", "*.x", or "#!x" for a program in the first line
	spans       []span
	hereDoc     hereDoc
	escapes     bool     // a backslash in code escapes the next byte
	characters  bool     // a ? instead of a value forms a character with the next byte
	regexAfter  []string // after these words a slash opens a regular expression
	regexSpaced bool     // so does a slash after a space and not before one
	outside     bool     // the text begins inside spans[0], unless it begins with its close
}

// A span is a kind of comment or string.
type span struct {
	open, close string // a … in both means the same filling
	fill        string // the character of the filling; "w" for any character of a word
	flags       flags
	code        string // opens code inside the string, up to the matching bracket
	prefix      string // letters that may precede open and belong to it
	needs       string // one of these letters is required
	after       string // it opens only at the text's start, or after one of these or white space
	never       string // it does not open after one of these
	not         string // it does not open if this follows open
}

type flags uint

const (
	comment   flags = 1 << iota
	lines           // it may span lines; other spans end with their line
	escapes         // a backslash escapes the next byte
	nests           // it may contain comments of the same kind, or brackets that match close
	lineStart       // it opens only at the beginning of a line
	character       // it is one character; otherwise the quote is something else, such as a lifetime in Rust
	number          // it does not open after a digit of a number; C++ has ' between digits
	block           // it spans lines if the line where it opens does not close it
	operand         // it opens only instead of an operand
	regex           // the same for a regular expression, where the closing slash may be inside [ ]
	variables       // $name and ${name inside it are code
	doubled         // close written twice is an escaped close
	staying         // close is not part of it
)

// A hereDoc describes how a here-document opens.
type hereDoc struct {
	open   string
	marks  string // one of these characters may follow
	spaces bool   // and then spaces
	word   bool   // the last line begins with the name; otherwise it is the name
}

// Of returns the language of a file, from its name or its first line. head is the beginning
// of the text. The result is nil if neither identifies a language.
func Of(name string, head []byte) *Language {
	name = strings.ToLower(path.Base(name))
	files.once.Do(fillFiles)
	all := files.languages
	return cmp.Or(all[name], all["*"+path.Ext(name)], all["#!"+Interpreter(head)])
}

// files are the languages by file name, filled on first use.
var files struct {
	once      sync.Once
	languages map[string]*Language
}

func fillFiles() {
	files.languages = map[string]*Language{}
	for i := range languages {
		for name := range strings.FieldsSeq(languages[i].files) {
			files.languages[name] = &languages[i]
		}
	}
}

// Interpreter is the program in a first line "#!", without directory and version; "" without
// such a line.
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

// Fragment is the language for a part of a text. A PHP text begins outside the code, but a
// part of its code does not.
func (l *Language) Fragment() *Language {
	if l == nil || !l.outside {
		return l
	}
	inside := *l
	inside.outside = false
	return &inside
}

// Is reports whether a language is one of these. An unknown language is none of them.
func (l *Language) Is(names ...string) bool { return l != nil && slices.Contains(names, l.Name) }

// WordLen is how many bytes at the beginning of a text are part of a name.
func WordLen(text []byte) int {
	n := 0
	for n < len(text) && IsWord(text[n]) {
		n++
	}
	return n
}

// LastWord is the word at the end of a text; "" for none.
func LastWord(text []byte) string {
	n := len(text)
	for n > 0 && IsWord(text[n-1]) {
		n--
	}
	return string(text[n:])
}

// IsWord reports whether a byte is part of a name: a letter, a digit, an underscore, or a
// byte of a non-ASCII character.
func IsWord(c byte) bool {
	return c == '_' || c >= 0x80 || c-'0' < 10 || c|0x20-'a' < 26
}
