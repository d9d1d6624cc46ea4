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
	language   *lexis.Language // nil when it is not known
	text, mask []byte
	starts     []int      // of the lines, and the text's length
	kinds      []lineKind // of the lines
	brackets   []bracket
	ending     ending
}

// A bracket of the mask: its offset, and that of the bracket that closes or opens it;
// -1 for none.
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
	l := &layout{language: language, text: text, mask: language.Mask(text), starts: []int{0}, ending: endingOf(language)}
	for line := range bytes.Lines(text) {
		l.starts = append(l.starts, l.starts[l.lines()]+len(line))
		l.kinds = append(l.kinds, l.kindOf(l.lines()))
	}
	if language.Is("Shell") {
		l.pair("{}") // the patterns of case have a ) of their own
	} else if language != nil {
		l.pair(openers + closers)
	}
	return l
}

const openers, closers = "([{", ")]}"

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
		if kind := strings.IndexByte(openers, c); kind >= 0 {
			open = append(open, last)
			count[closers[kind]]++
			continue
		}
		for count[c] > 0 {
			top := &l.brackets[open[len(open)-1]]
			open = open[:len(open)-1]
			closer := closers[strings.IndexByte(openers, l.mask[top.at])]
			count[closer]--
			if closer == c {
				top.other, l.brackets[last].other = i, top.at
				break
			}
		}
	}
}

// partner is the offset of the bracket that closes or opens the bracket at an
// offset, -1 for a bracket that stays alone. It is not found when there is no bracket.
func (l *layout) partner(at int) (other int, found bool) {
	if at >= len(l.mask) || strings.IndexByte(openers+closers, l.mask[at]) < 0 {
		return 0, false
	}
	i := l.bracketAt(at)
	if i == len(l.brackets) || l.brackets[i].at != at {
		return 0, false
	}
	return l.brackets[i].other, true
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
	n, _ := slices.BinarySearch(l.starts[:l.lines()], at+1)
	return n
}

// column is how far a line is indented.
func (l *layout) column(n int) int { return indentation(l.line(l.text, n)) }

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
	whole := "" // the package or namespace that the whole file is in
	for _, d := range all {
		if d.Line > l.lines() || !l.code(d.Line) {
			continue
		}
		if up := d; l.ending == byLine && d.Line > 1 && hasBody(d.Kind) && l.nameEnd(&d) == l.firstByte(d.Line) {
			if up.Line--; l.nameEnd(&up) != l.firstByte(up.Line) {
				d = up // ctags gives the line of the bracket
			}
		}
		if rest, ok := strings.CutPrefix(d.Scope+".", whole+"."); ok && whole != "" {
			d.Scope = strings.TrimSuffix(rest, ".")
		}
		if (d.Kind == "package" || d.Kind == "namespace") && d.Scope == "" && whole == "" && (d.End == 0 || d.End == d.Line) && !l.opensBody(d.Line) {
			whole = d.FullName()
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
	return bytes.IndexByte(l.line(l.mask, n), '{') >= 0 || l.behind(l.starts[n], whiteSpace) == '{'
}

// nameEnd is the offset behind a definition's name, or of the first character of its
// line when the name is not in it.
func (l *layout) nameEnd(d *Definition) int {
	line := l.line(l.mask, d.Line)
	if at := wordAt(line[:min(len(line), maxLooked)], []byte(d.Name), 0); at >= 0 {
		return l.starts[d.Line-1] + at + len(d.Name)
	}
	return l.firstByte(d.Line)
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
	from, body := l.nameEnd(d), hasBody(d.Kind)
	if body && l.language.Is("Python") { // ctags gave up
		if other, found := l.partner(from); found && other > from {
			from = other // behind the parameters
		}
		return l.indentedEnd(l.lineOf(from)), true
	}
	s := statement{layout: l, kind: d.Kind, body: body}
	if at, ok := s.end(from); ok {
		return max(d.Line, l.lineOf(at)), false
	}
	return l.indentedEnd(d.Line), true
}

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

// indented gives the last of the lines of code that follow a line and stand further
// right, and the first that does not; 0 when there is none.
func (l *layout) indented(from int) (last, next int) {
	column := l.column(from)
	last = from
	for n := from + 1; n <= l.lines(); n++ {
		switch {
		case !l.code(n):
		case l.column(n) <= column:
			return last, n
		default:
			last = n
		}
	}
	return last, 0
}

// indentedEnd is the last line of what begins in a line, by the indentation.
func (l *layout) indentedEnd(from int) int {
	last, next := l.indented(from)
	if next > 0 && strings.IndexByte(closers, bytes.TrimSpace(l.line(l.mask, next))[0]) >= 0 {
		return next
	}
	return last
}

// wordEnd is the line with the "end" of what begins in a line.
func (l *layout) wordEnd(from int) (last int, guessed bool) {
	end := []byte("end")
	line := bytes.TrimSpace(l.mask[max(l.starts[from-1], l.starts[from]-maxLooked):l.starts[from]])
	if wordAt(line, end, max(0, len(line)-len(end))) >= 0 {
		return from, false
	}
	_, next := l.indented(from)
	if next > 0 && l.column(next) == l.column(from) && wordAt(l.line(l.mask, next), end, 0) == l.firstByte(next)-l.starts[next-1] {
		return next, false
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
		case l.kinds[above-1] == hasNoCode:
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
		depth -= openBrackets(mask)
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

// openBrackets is how many more brackets a piece of code opens than it closes.
func openBrackets(code []byte) (n int) {
	for _, c := range code {
		if strings.IndexByte(openers, c) >= 0 {
			n++
		} else if strings.IndexByte(closers, c) >= 0 {
			n--
		}
	}
	return n
}
