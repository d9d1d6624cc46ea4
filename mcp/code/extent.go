package code

import (
	"bytes"
	"slices"
	"strings"

	"toolpipe/mcp/code/lexis"
)

// A layout is a text with what tells where definitions begin and end: its lines,
// and its brackets outside comments and strings.
type layout struct {
	text, mask []byte
	starts     []int      // of the lines, and the text's length
	kinds      []lineKind // of the lines
	columns    []int      // of the lines' first characters
	brackets   []bracket
	ending     ending
	python     bool // indentation tells where a body ends
	lost       bool // nothing is known of the language's comments and strings
}

// A bracket of the mask, and the index of the one that closes or opens it; -1 for
// none.
type bracket struct{ at, other int }

// A lineKind is what is in a line.
type lineKind uint8

const (
	hasCode   lineKind = iota
	hasNoCode          // a comment, the inside of a string
	isEmpty
)

// maxLooked is how many bytes are looked at to tell what a line or the end of a
// statement is: no source that people write needs more, and of other texts, such as
// one that is a single line with many definitions, each would be read many times.
const maxLooked = 4 << 10

// An ending is how definitions of a language end.
type ending uint8

const (
	bySemicolon ending = iota // with their brackets or a semicolon
	byLine                    // with their brackets or a line
	byWord                    // with "end" at their own indentation
	byIndent                  // where the indentation ends
)

var endings = map[string]ending{
	"JavaScript": byLine, "TypeScript": byLine, "Kotlin": byLine, "Swift": byLine, "Scala": byLine, "Shell": byLine, "Python": byLine,
	"Ruby": byWord, "Lua": byWord,
	"YAML": byIndent, "TOML": byIndent, "Make": byIndent, "Dockerfile": byIndent, "HTML": byIndent,
}

func newLayout(language *lexis.Language, text []byte) *layout {
	l := &layout{text: text, mask: language.Mask(text), starts: lineStarts(text)}
	l.python = language != nil && language.Name == "Python"
	for n := range l.lines() {
		l.kinds = append(l.kinds, l.kindOf(n+1))
		l.columns = append(l.columns, indentation(l.line(text, n+1)))
	}
	brackets := "{}()[]"
	if language == nil {
		l.ending, l.lost = byIndent, true
		return l
	}
	if l.ending = endings[language.Name]; language.Name == "Shell" {
		brackets = "{}" // the patterns of case have a ) of their own
	}
	l.pair(brackets)
	return l
}

func lineStarts(text []byte) []int {
	if len(text) == 0 {
		return []int{0}
	}
	starts := make([]int, 1, 2+bytes.Count(text, []byte("\n")))
	for i, c := range text {
		if c == '\n' && i+1 < len(text) {
			starts = append(starts, i+1)
		}
	}
	return append(starts, len(text))
}

// pair finds the brackets of some kinds. One that closes nothing stays alone, and so
// do those that are open when one around them closes.
func (l *layout) pair(kinds string) {
	var open []int
	var count [256]int // of open ones, by what closes them
	for i, c := range l.mask {
		if c > '}' || !strings.Contains(kinds, string(rune(c))) {
			continue
		}
		l.brackets = append(l.brackets, bracket{i, -1})
		last := len(l.brackets) - 1
		if c == '{' || c == '(' || c == '[' {
			open = append(open, last)
			count[closing(c)]++
			continue
		}
		for count[c] > 0 {
			top := open[len(open)-1]
			open = open[:len(open)-1]
			closer := closing(l.mask[l.brackets[top].at])
			count[closer]--
			if closer == c {
				l.brackets[top].other, l.brackets[last].other = last, top
				break
			}
		}
	}
}

func closing(open byte) byte {
	if open == '(' {
		return ')'
	}
	return open + 2 // of [ and {
}

// bracketAt is the index of the first bracket at an offset or behind it.
func (l *layout) bracketAt(at int) int {
	i, _ := slices.BinarySearchFunc(l.brackets, at, func(b bracket, at int) int { return b.at - at })
	return i
}

// lines is how many lines there are.
func (l *layout) lines() int { return len(l.starts) - 1 }

// line is a line of the text or of its mask, counted from 1, with its end.
func (l *layout) line(of []byte, n int) []byte { return of[l.starts[n-1]:l.starts[n]] }

// lineOf is the number of the line with the byte at an offset.
func (l *layout) lineOf(at int) int {
	i, found := slices.BinarySearch(l.starts[:l.lines()], at)
	if found {
		return i + 1
	}
	return i
}

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

// place sets where definitions begin and end. It leaves out those that are in
// comments and strings.
func (l *layout) place(all []Definition) (defs []Definition) {
	structures := map[string]*Definition{}
	space := "" // that the whole file is in, such as a package
	for _, d := range all {
		if d.Line > l.lines() || !l.code(d.Line) {
			continue
		}
		if up := d; l.ending == byLine && d.Line > 1 && hasBody(d.Kind) && l.nameEnd(&d) == l.firstByte(d.Line) {
			if up.Line--; l.nameEnd(&up) != l.firstByte(up.Line) {
				d = up // ctags gives the line of the bracket
			}
		}
		if rest, ok := strings.CutPrefix(d.Scope+".", space+"."); ok && space != "" {
			d.Scope = strings.TrimSuffix(rest, ".")
		}
		if (d.Kind == "package" || d.Kind == "namespace") && d.Scope == "" && space == "" && (d.End == 0 || d.End == d.Line) && !l.opensBody(d.Line) {
			space = d.FullName()
		}
		defs = append(defs, d)
	}
	for i := range defs {
		d := &defs[i]
		inText := l.ending == byWord && d.End > d.Line && d.End <= l.lines() && !l.code(d.End) // ctags takes any "end" in a here-document
		if d.End < d.Line || inText {
			d.End, d.Guessed = l.end(d)
		}
		d.End = min(d.End, l.lines())
		d.Start = l.start(d)
		for j := i - 1; j >= max(0, i-maxHead) && defs[j].Line == d.Line; j-- {
			if within(d.Scope, defs[j].FullName()) {
				d.Start = d.Line // what stands above belongs to what is around
			}
		}
		if structure := structures[d.structure]; structure != nil && structure.lastLine() == d.Line {
			d.Start = structure.Start // of typedef struct { } d;
		}
		if d.Kind == "struct" || d.Kind == "union" || d.Kind == "enum" {
			structures[d.FullName()] = d
		}
	}
	return defs
}

// opensBody says whether a bracket { is in a line, or is the first thing behind it.
func (l *layout) opensBody(n int) bool {
	behind := bytes.TrimLeft(l.mask[l.starts[n]:min(l.starts[n]+maxLooked, len(l.mask))], " \t\r\n")
	return bytes.IndexByte(l.line(l.mask, n), '{') >= 0 || bytes.HasPrefix(behind, []byte("{"))
}

// within says whether a scope is a full name or inside it.
func within(scope, full string) bool { return scope == full || strings.HasPrefix(scope, full+".") }

// nameEnd is the offset behind a definition's name, or of the first character of its
// line when the name is not in it.
func (l *layout) nameEnd(d *Definition) int {
	begin, line := l.starts[d.Line-1], l.line(l.mask, d.Line)
	line = line[:min(len(line), maxLooked)]
	for from := 0; ; {
		i := bytes.Index(line[from:], []byte(d.Name))
		if i < 0 {
			return l.firstByte(d.Line)
		}
		from += i + len(d.Name)
		if (from == len(line) || !lexis.IsWord(line[from])) && (from == len(d.Name) || !lexis.IsWord(line[from-len(d.Name)-1])) {
			return begin + from
		}
	}
}

// firstByte is the offset of a line's first byte that is not white space.
func (l *layout) firstByte(n int) int {
	i := l.starts[n-1]
	for last := min(i+maxLooked, l.starts[n]); i < last && (l.mask[i] == ' ' || l.mask[i] == '\t'); i++ {
	}
	return i
}

// end finds a definition's last line, for which ctags gives none.
func (l *layout) end(d *Definition) (last int, guessed bool) {
	switch {
	case l.ending == byIndent:
		return l.indentedEnd(d.Line), true
	case l.ending == byWord && hasBody(d.Kind):
		return l.wordEnd(d.Line)
	}
	from, s := l.nameEnd(d), statement{layout: l, body: hasBody(d.Kind)}
	if l.python && s.body { // ctags gave up
		if i := l.bracketAt(from); i < len(l.brackets) && l.brackets[i].at == from && l.brackets[i].other > i {
			from = l.brackets[l.brackets[i].other].at // of the parameters
		}
		return l.indentedEnd(l.lineOf(from)), true
	}
	if at, ok := s.end(from); ok {
		return max(d.Line, l.lineOf(at)), false
	}
	return l.indentedEnd(d.Line), true
}

// hasBody says whether definitions of a kind end with the bracket that closes their
// body.
func hasBody(kind string) bool {
	switch kind {
	case "function", "method", "class", "interface", "trait", "struct", "enum", "union", "implementation", "module", "namespace", "object",
		"generator", "getter", "setter", "macro", "singletonMethod", "selector", "id", "subroutine", "record", "protocol", "extension":
		return true
	}
	return false
}

// indentation is the column of a line's first character.
func indentation(line []byte) (column int) {
	for _, c := range line[:min(len(line), maxLooked)] {
		switch c {
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

// indentedEnd is the last line that stands further right than a line does.
func (l *layout) indentedEnd(from int) int {
	last, column := from, l.columns[from-1]
	for n := from + 1; n <= l.lines(); n++ {
		if !l.code(n) {
			continue
		}
		if l.columns[n-1] <= column {
			if strings.IndexByte("})]", bytes.TrimSpace(l.line(l.mask, n))[0]) >= 0 {
				return n
			}
			break
		}
		last = n
	}
	return last
}

// wordEnd is the line with the "end" of what begins in a line.
func (l *layout) wordEnd(from int) (last int, guessed bool) {
	line := bytes.TrimSpace(l.mask[max(l.starts[from-1], l.starts[from]-maxLooked):l.starts[from]])
	if before, ok := bytes.CutSuffix(line, []byte("end")); ok && (len(before) == 0 || !lexis.IsWord(before[len(before)-1])) {
		return from, false
	}
	for n := from + 1; n <= l.lines(); n++ {
		if !l.code(n) || l.columns[n-1] > l.columns[from-1] {
			continue
		}
		word := bytes.TrimSpace(l.line(l.mask, n))
		if bytes.HasPrefix(word, []byte("end")) && (len(word) == 3 || !lexis.IsWord(word[3])) && l.columns[n-1] == l.columns[from-1] {
			return n, false
		}
		break
	}
	return l.indentedEnd(from), true
}

const maxHead = 100 // lines above a definition's own that may belong to it

// start is the first line of a definition, with what stands directly above: its
// return type, decorators and attributes, and comments.
func (l *layout) start(d *Definition) int {
	first := d.Line
	for lowest := max(1, d.Line-maxHead); first > lowest; {
		above := first - 1
		switch {
		case l.kinds[above-1] == hasNoCode && !l.lost:
		case first == d.Line && l.isType(d):
		default:
			if above = l.decorator(above, lowest); above == 0 {
				return first
			}
		}
		first = above
	}
	return first
}

// isType says whether the line above a function's own is the type that it returns.
func (l *layout) isType(d *Definition) bool {
	if l.ending != bySemicolon || d.Kind != "function" && d.Kind != "method" && d.Kind != "prototype" {
		return false
	}
	before := bytes.TrimSpace(l.mask[l.starts[d.Line-1]:l.nameEnd(d)])
	before = bytes.TrimLeft(bytes.TrimSuffix(before, []byte(d.Name)), "*& ")
	above := l.line(l.mask, d.Line-1)
	if !l.code(d.Line-1) || len(above) > maxLooked {
		return false
	}
	above = bytes.TrimSpace(above)
	if above[0] == '#' || len(before) > 0 && !bytes.HasSuffix(before, []byte("::")) || strings.HasSuffix("."+d.Scope, "."+d.Name) {
		return false
	}
	end := above[len(above)-1]
	return lexis.IsWord(end) || strings.IndexByte("*&>", end) >= 0
}

// decorator gives the first line of a decorator or an attribute that ends in a line
// of which lowest is the lowest; 0 when there is none.
func (l *layout) decorator(line, lowest int) int {
	if l.ending == byWord || l.ending == byIndent {
		return 0
	}
	isTemplate := l.ending == bySemicolon && bytes.HasSuffix(bytes.TrimSpace(l.line(l.mask, line)), []byte(">"))
	depth := 0
	for n := line; n >= lowest && l.code(n) && l.starts[n]-l.starts[n-1] < maxLooked; n-- {
		mask := bytes.TrimSpace(l.line(l.mask, n))
		if len(mask) == 0 { // a line #!
			return 0
		}
		for _, c := range mask {
			switch c {
			case ')', ']', '}':
				depth++
			case '(', '[', '{':
				depth--
			}
		}
		switch {
		case depth < 0:
			return 0
		case depth > 0:
		case bytes.HasSuffix(mask, []byte(";")):
			return 0
		case mask[0] == '@', bytes.HasPrefix(mask, []byte("#[")), bytes.HasPrefix(mask, []byte("__attribute__")),
			isTemplate && bytes.HasPrefix(mask, []byte("template")), l.ending == bySemicolon && mask[0] == '[' && bytes.HasSuffix(mask, []byte("]")):
			return n
		case !isTemplate || bytes.ContainsAny(mask, ";{}"):
			return 0
		}
	}
	return 0
}
