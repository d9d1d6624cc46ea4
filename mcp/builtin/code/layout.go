package code

import (
	"bytes"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

// A layout is a text with its lines, and with its brackets outside comments and strings. From
// these the beginnings and ends of definitions are found.
type layout struct {
	language   *lexis.Language // nil if unknown
	text, mask []byte
	starts     []int         // of the lines, and the text's length
	states     []lexis.State // of the lines, and after the text
	kinds      []lineKind    // of the lines
	columns    []int         // of the first characters of the lines
	inside     []level       // of the lines, and after the text, without comments and strings; nil without brackets
	units      []unit        // by line number; nil until unit
	partners   []int32       // by offset, 1 + the offset of the partner of the bracket there; -1: no partner; 0: no bracket
	ending     ending
}

// A lineKind distinguishes comments and code.
type lineKind uint8

const (
	hasCode   lineKind = iota
	hasNoCode          // a comment, the inside of a string
	isEmpty
)

// maxLooked is how many bytes are scanned to understand a line, or to find the end of a
// statement. Hand-written source needs no more. Without the limit, a text with many
// definitions in one line would be scanned again for each of them.
const maxLooked = 4 << 10

// An ending is how definitions of a language end.
type ending uint8

const (
	bySemicolon ending = iota // with their brackets or a semicolon
	byLine                    // with their brackets or a line
	byWord                    // with "end" at their own indentation
	byIndent                  // where the indentation ends
)

func endingOf(language *lexis.Language) ending {
	switch {
	case language.Is("JavaScript", "TypeScript", "Kotlin", "Swift", "Scala", "Shell", "Python"):
		return byLine
	case language.Is("Ruby", "Lua"):
		return byWord
	case language == nil, language.Is("YAML", "TOML", "Make", "Dockerfile", "HTML"):
		return byIndent
	}
	return bySemicolon
}

func newLayout(language *lexis.Language, text []byte) *layout {
	l := &layout{language: language, text: text, starts: []int{0}, ending: endingOf(language)}
	l.mask, l.states = language.Scan(text)
	for line := range bytes.Lines(text) {
		l.starts = append(l.starts, l.starts[l.lines()]+len(line))
		l.kinds = append(l.kinds, l.kindOf(l.lines()))
		l.columns = append(l.columns, indentation(line))
	}
	if language.Is("Shell") {
		l.pair("{}") // patterns of case have an unmatched )
	} else if language != nil {
		l.pair(openers + closers)
	}
	return l
}

// partner is the offset of the partner of the bracket at an offset, -1 for an unmatched
// bracket. found is false if there is no bracket.
func (l *layout) partner(at int) (other int, found bool) {
	if at >= len(l.partners) {
		return -1, false
	}
	return max(int(l.partners[at])-1, -1), l.partners[at] != 0
}

func (l *layout) lines() int { return len(l.starts) - 1 }

// line is a line of the text or of its mask, counted from 1, with its end.
func (l *layout) line(of []byte, n int) []byte { return of[l.starts[n-1]:l.starts[n]] }

func (l *layout) lineOf(at int) int {
	n, _ := slices.BinarySearch(l.starts[:l.lines()], at+1)
	return n
}

func (l *layout) column(n int) int { return l.columns[n-1] }

func (l *layout) kindOf(n int) lineKind {
	switch text := l.line(l.text, n); {
	case len(trim(text)) == 0:
		return isEmpty
	case len(trim(l.line(l.mask, n))) == 0 && !(n == 1 && bytes.HasPrefix(text, []byte("#!"))):
		return hasNoCode
	}
	return hasCode
}

// code reports whether a line has more than comments, the insides of strings and white space.
func (l *layout) code(n int) bool { return l.kinds[n-1] == hasCode }

func indentation[T string | []byte](line T) (column int) {
	for i := range min(len(line), maxLooked) {
		switch line[i] {
		case ' ':
			column++
		case '\t':
			column += 8 - column%8
		case '\f': // it begins a page
			column = 0
		default:
			return column
		}
	}
	return column
}

// firstByte is the offset of a line's first byte that is not white space.
func (l *layout) firstByte(n int) int {
	i := l.starts[n-1]
	line := l.mask[i:min(i+maxLooked, l.starts[n])]
	return i + len(line) - len(bytes.TrimLeft(line, blanks))
}

// White space is what all languages here treat as such: ASCII. In some of them a no-break
// space is part of a name, like every byte that is not ASCII (lexis.IsWord).
const (
	blanks     = " \t\v\f" // in a line
	whiteSpace = blanks + "\r\n"
)

func trim(text []byte) []byte { return bytes.Trim(text, whiteSpace) }

// behind is the first byte of code from an offset on that is not one of passed; 0 for none.
func (l *layout) behind(at int, passed string) byte {
	return l.at(l.pass(at, passed))
}

// trimmed is an offset moved back over the white space before it.
func (l *layout) trimmed(at int) int {
	from := max(0, at-maxLooked)
	return from + len(bytes.TrimRight(l.text[from:at], whiteSpace))
}

// trimmedEnd is the offset after the last character of a line that is not white space.
func (l *layout) trimmedEnd(n int) int {
	return max(l.starts[n-1], l.trimmed(l.starts[n]))
}

// nameAt is the first offset in a text, from from on, of a name that is not part of a longer
// one; -1 for none. In JavaScript and TypeScript $ is a letter.
func (l *layout) nameAt(text, name []byte, from int) int {
	if len(name) == 0 {
		return -1
	}
	if symbol := operatorSymbol(string(name)); symbol != "" {
		return operatorAt(text, []byte(symbol), from)
	}
	isPart := func(at int) bool {
		return at >= 0 && at < len(text) && (text[at] == '$' || lexis.IsWord(text[at]))
	}
	for {
		at := wordAt(text, name, from)
		if at < 0 || !l.language.Is("JavaScript", "TypeScript") || !isPart(at-1) && !isPart(at+len(name)) {
			return at
		}
		from = at + 1
	}
}

// operatorAt is the first offset in a text, from from on, of the name of an operator with a
// symbol that is not part of a longer one; -1 for none.
func operatorAt(text, symbol []byte, from int) int {
	last := symbol[len(symbol)-1]
	for at := wordAt(text, []byte(operator), from); at >= 0; at = wordAt(text, []byte(operator), at+1) {
		rest, found := bytes.CutPrefix(bytes.TrimLeft(text[at+len(operator):], blanks), symbol)
		switch {
		case !found, len(rest) > 0 && lexis.IsWord(last) && lexis.IsWord(rest[0]):
		case len(rest) == 0, lexis.IsWord(last), strings.IndexByte(closers+`"`, last) >= 0:
			return at
		case rest[0] == '=', rest[0] == last, rest[0] == '>' && (last == '-' || last == '='), rest[0] == '*' && last == '>': // << is longer than <
		default:
			return at
		}
	}
	return -1
}

// wordAt is the first offset in a text, from from on, of a word that is not part of a longer
// one; -1 for none.
func wordAt(text, word []byte, from int) int {
	for {
		i := bytes.Index(text[from:], word)
		if i < 0 {
			return -1
		}
		at, end := from+i, from+i+len(word)
		begins := at == 0 || !lexis.IsWord(text[at-1]) || !lexis.IsWord(word[0])
		ends := end == len(text) || !lexis.IsWord(text[end]) || !lexis.IsWord(word[len(word)-1])
		if begins && ends {
			return at
		}
		from = at + 1
	}
}
