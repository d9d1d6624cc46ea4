package code

import (
	"bytes"
	"slices"
	"strings"

	"toolpipe/mcp/code/lexis"
)

// A layout is a text with its lines, and with its brackets outside comments and
// strings: they tell where definitions begin and end.
type layout struct {
	language   *lexis.Language // nil when it is not known
	text, mask []byte
	starts     []int      // of the lines, and the text's length
	kinds      []lineKind // of the lines
	columns    []int      // of the first characters of the lines
	continues  []bool     // of the lines and of what stands behind them: they begin inside a comment or a string
	partners   []int32    // by offset, 1 + where the bracket is that closes or opens the bracket there; -1: nowhere; 0: there is no bracket
	ending     ending

	topOf, top int // a line, and the first of the lines above that belong to it: the last that start looked for
}

// A lineKind tells comments and code apart.
type lineKind uint8

const (
	hasCode   lineKind = iota
	hasNoCode          // a comment, the inside of a string
	isEmpty
)

// maxLooked is how many bytes are looked at to understand a line, or to find the end
// of a statement. Source that people write needs no more. Without the bound, a text
// that is one line with many definitions would be read anew for each of them.
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
	mask, inStrings, inComments := language.Scan(text)
	l := &layout{language: language, text: text, mask: mask, starts: []int{0}, ending: endingOf(language)}
	for line := range bytes.Lines(text) {
		l.starts = append(l.starts, l.starts[l.lines()]+len(line))
		l.kinds = append(l.kinds, l.kindOf(l.lines()))
		l.columns = append(l.columns, indentation(line))
	}
	l.continues = make([]bool, l.lines()+1)
	for _, at := range slices.Concat(inStrings, inComments) {
		line, _ := slices.BinarySearch(l.starts, at)
		l.continues[line] = true
	}
	if language.Is("Shell") {
		l.pair("{}") // the patterns of case have a ) of their own
	} else if language != nil {
		l.pair(openers + closers)
	}
	return l
}

const openers, closers = "([{", ")]}"

// pair finds the brackets of some kinds. A bracket that closes nothing stays alone, and
// so do brackets that are open when a bracket around them closes.
func (l *layout) pair(kinds string) {
	l.partners = make([]int32, len(l.mask))
	var open []int
	var count [256]int // of open ones, by what closes them
	for i, c := range l.mask {
		if strings.IndexByte(kinds, c) < 0 {
			continue
		}
		l.partners[i] = -1
		if kind := strings.IndexByte(openers, c); kind >= 0 {
			open = append(open, i)
			count[closers[kind]]++
			continue
		}
		for count[c] > 0 {
			top := open[len(open)-1]
			open = open[:len(open)-1]
			closer := closers[strings.IndexByte(openers, l.mask[top])]
			count[closer]--
			if closer == c {
				l.partners[top], l.partners[i] = int32(i+1), int32(top+1)
				break
			}
		}
	}
}

// partner is the offset of the bracket that closes or opens the bracket at an
// offset, -1 for a bracket that stays alone. It is not found when there is no bracket.
func (l *layout) partner(at int) (other int, found bool) {
	if at >= len(l.partners) {
		return -1, false
	}
	return max(int(l.partners[at])-1, -1), l.partners[at] != 0
}

// lines is how many lines there are.
func (l *layout) lines() int { return len(l.starts) - 1 }

// line is a line of the text or of its mask, counted from 1, with its end.
func (l *layout) line(of []byte, n int) []byte { return of[l.starts[n-1]:l.starts[n]] }

// lineOf is the number of the line with the byte at an offset.
func (l *layout) lineOf(at int) int {
	n, _ := slices.BinarySearch(l.starts[:l.lines()], at+1)
	return n
}

// column is how far a line is indented.
func (l *layout) column(n int) int { return l.columns[n-1] }

func (l *layout) kindOf(n int) lineKind {
	switch text := l.line(l.text, n); {
	case len(bytes.TrimSpace(text)) == 0:
		return isEmpty
	case len(bytes.TrimSpace(l.line(l.mask, n))) == 0 && !(n == 1 && bytes.HasPrefix(text, []byte("#!"))):
		return hasNoCode
	}
	return hasCode
}

// code says whether a line has more than comments, the insides of strings and white
// space.
func (l *layout) code(n int) bool { return l.kinds[n-1] == hasCode }

// indentation is the column of a line's first character.
func indentation[T string | []byte](line T) (column int) {
	for i := range min(len(line), maxLooked) {
		switch line[i] {
		case ' ':
			column++
		case '\t':
			column += 8 - column%8
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
	return i + len(line) - len(bytes.TrimLeft(line, " \t"))
}

const whiteSpace = " \t\r\n"

// behind is the first byte of code at an offset or behind it that is none of these;
// 0 for none.
func (l *layout) behind(at int, passed string) byte {
	rest := bytes.TrimLeft(l.mask[at:min(at+maxLooked, len(l.mask))], passed)
	if len(rest) == 0 {
		return 0
	}
	return rest[0]
}

// trimmed is an offset without the white space before it.
func (l *layout) trimmed(at int) int {
	from := max(0, at-maxLooked)
	return from + len(bytes.TrimRight(l.text[from:at], whiteSpace))
}

// trimmedEnd is the offset behind the last character of a line that is not white
// space.
func (l *layout) trimmedEnd(n int) int {
	return max(l.starts[n-1], l.trimmed(l.starts[n]))
}

// wordAt is where in a text, from an offset on, a word first stands that is no part
// of a longer one; -1 for nowhere.
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

// openBrackets is how many more brackets a piece of code opens than it closes.
func openBrackets(code []byte) (n int) {
	for i := range openers {
		n += bytes.Count(code, []byte{openers[i]}) - bytes.Count(code, []byte{closers[i]})
	}
	return n
}
