package code

import (
	"bytes"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/toolserver"
)

// A document is a text of which some lines are exchanged. All other lines keep their
// bytes.
type document struct {
	language *lexis.Language
	mark     string   // the byte order mark, if there is one
	lines    []string // of the text behind the mark, with the ends of lines
	roles    []lineRole
	ending   string // of new lines
	open     bool   // the last line has no newline
}

// A lineRole says what may be done with the white space that a line begins with.
type lineRole byte

const (
	ofCode          lineRole = iota
	ofComment                // in a comment that began above: indented with its code
	ofDocumentation          // in a string that documents: indented with its code, though it may begin anywhere
	ofMargin                 // a directive, label or comment in column 0, however deep the code around it is
	ofString                 // in another string, whose white space the program may need
)

func newDocument(language *lexis.Language, text []byte) *document {
	body := bytes.TrimPrefix(text, toolserver.ByteOrderMark)
	d := &document{language: language, mark: string(text[:len(text)-len(body)]), lines: slices.Collect(strings.Lines(string(body))), ending: "\n"}
	if len(d.lines) > 0 {
		if strings.HasSuffix(d.lines[0], "\r\n") {
			d.ending = "\r\n"
		}
		d.open = !strings.HasSuffix(d.lines[len(d.lines)-1], "\n")
	}
	d.roles = rolesOf(language, d.lines)
	return d
}

// text is the document with other lines. The last line has a newline if the last line
// of the document had, and every other line has one.
func (d *document) text(lines []string) []byte {
	b := []byte(d.mark)
	for i, line := range lines {
		if i == len(lines)-1 && d.open {
			line = strings.TrimRight(line, "\r\n")
		} else if !strings.HasSuffix(line, "\n") {
			line += d.ending
		}
		b = append(b, line...)
	}
	return b
}

// rolesOf gives the roles of lines. The string that documents is the first statement
// behind the head of a function or class of Python.
func rolesOf(language *lexis.Language, lines []string) []lineRole {
	roles := make([]lineRole, len(lines))
	text := []byte(strings.Join(lines, ""))
	mask, states := language.Scan(text)
	codes := make([]string, len(lines)) // the lines without comments, strings and white space around
	offset, head, role := 0, false, ofString
	for i, line := range lines {
		code := string(trim(mask[offset : offset+len(line)]))
		switch states[i].Part {
		case lexis.String:
			roles[i] = role
		case lexis.Comment:
			roles[i] = ofComment
		default:
			if role = ofString; language.Is("Python") && head && strings.Trim(code, `"'`) == "" {
				role = ofDocumentation
			}
		}
		if code != "" {
			head = strings.HasSuffix(code, ":") && (strings.HasPrefix(code, "class ") || strings.Contains(code, ")"))
		}
		codes[i] = code
		offset += len(line)
	}
	markMargin(language, lines, codes, roles)
	return roles
}

// markMargin finds the lines in column 0 that stay there: directives, labels, and comments
// unless the next line of code is in column 0, too.
func markMargin(language *lexis.Language, lines, codes []string, roles []lineRole) {
	inMargin := func(i int) bool { return !isBlank(lines[i]) && indentOf(lines[i]) == "" && roles[i] <= ofComment }
	codeInMargin, isCode, directive := false, false, false
	for i, code := range codes {
		directive = directive || inMargin(i) && strings.HasPrefix(code, "#") && hasDirectives(language)
		if directive || inMargin(i) && isLabel(language, code) {
			roles[i] = ofMargin
		} else if code != "" && roles[i] <= ofComment {
			isCode, codeInMargin = true, codeInMargin || inMargin(i)
		}
		directive = directive && strings.HasSuffix(strings.TrimRight(lines[i], "\r\n"), `\`)
	}
	stays := isCode && !codeInMargin
	for i, code := range slices.Backward(codes) {
		if code != "" && roles[i] <= ofComment {
			stays = !inMargin(i)
		} else if stays && inMargin(i) {
			roles[i] = ofMargin
		}
	}
	for i := 1; i < len(roles); i++ {
		if roles[i] == ofComment && roles[i-1] == ofMargin { // it goes on from there
			roles[i] = ofMargin
		}
	}
}

// isLabel reports whether a line of code begins with a label, as goto has it.
func isLabel(language *lexis.Language, code string) bool {
	if !language.Is("C", "C++", "Objective-C", "C#", "Java", "Go") {
		return false
	}
	word, rest := cutWord([]byte(code))
	return word != "" && len(rest) > 0 && rest[0] == ':' && (len(rest) == 1 || rest[1] != ':' && rest[1] != '=')
}

func isBlank(line string) bool { return strings.Trim(line, whiteSpace) == "" }

// isCloser reports whether a line ends a block that began in a line above.
func isCloser(line string) bool {
	code := strings.Trim(line, whiteSpace)
	return code != "" && strings.IndexByte(closers, code[0]) >= 0 || code == "end"
}

// indentOf is the white space that a line begins with.
func indentOf(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// fit gives the lines of a content for a place with an indentation. If the content is
// indented so, its lines keep their bytes. Else the indentation that they have in common
// is exchanged. Text that was copied out of a file often begins after the indentation of
// its first line, which alone gets the indentation then.
func (d *document) fit(content, place string) []string {
	lines := slices.Collect(strings.Lines(strings.ReplaceAll(content, "\r\n", "\n")))
	for len(lines) > 0 && isBlank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && isBlank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	roles := rolesOf(d.language.Fragment(), lines)
	switch {
	case placeOf(lines, roles) == place, place == "" && len(roles) > 0 && roles[0] == ofMargin:
	case beginsLate(lines, roles, place):
		lines[0] = place + lines[0]
	default:
		lines = reindented(lines, roles, commonIndent(lines, roles), place)
	}
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\n") + d.ending
	}
	return lines
}

// beginsLate reports whether the first of some lines, which is in column 0, lacks the
// indentation of a place: all others are deeper than the place, except lines that close a
// block.
func beginsLate(lines []string, roles []lineRole, place string) bool {
	if len(lines) < 2 || indentOf(lines[0]) != "" || roles[0] == ofMargin || !strings.HasPrefix(commonIndent(lines[1:], roles[1:]), place) {
		return false
	}
	for i, line := range lines[1:] {
		if roles[i+1] <= ofComment && indentOf(line) == place && !isBlank(line) && !isCloser(line) {
			return false
		}
	}
	return true
}

// placeOf is the indentation of lines: that of the first one outside the margin.
func placeOf(lines []string, roles []lineRole) string {
	for i, line := range lines {
		if roles[i] != ofMargin && !isBlank(line) {
			return indentOf(line)
		}
	}
	return ""
}

// commonIndent is the indentation that all lines of code have.
func commonIndent(lines []string, roles []lineRole) string {
	common, isFirst := "", true
	for i, line := range lines {
		switch {
		case roles[i] > ofComment || isBlank(line):
		case isFirst:
			common, isFirst = indentOf(line), false
		default:
			common = commonPrefix(common, indentOf(line))
		}
	}
	return common
}

// reindented gives lines from one indentation to another. Lines without the first one,
// lines in strings and those in the margin stay.
func reindented(lines []string, roles []lineRole, from, to string) []string {
	lines = slices.Clone(lines)
	for i, line := range lines {
		if rest, found := strings.CutPrefix(line, from); found && roles[i] < ofMargin && !isBlank(line) {
			lines[i] = to + rest
		}
	}
	return lines
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// moved gives lines of the document for a place with another indentation.
func (d *document) moved(from, to int, place string) []string {
	lines, roles := d.lines[from:to], d.roles[from:to]
	return reindented(lines, roles, placeOf(lines, roles), place)
}

// A neighbourhood describes the lines around some lines.
type neighbourhood struct {
	above, below  int  // the blank lines directly above and below
	before, after bool // a line of their own level comes before or behind the blank lines
	first, top    bool // no other line comes before; the lines are not indented
}

func neighbours(lines []string, from, to int) (n neighbourhood) {
	for from-n.above > 0 && isBlank(lines[from-n.above-1]) {
		n.above++
	}
	for to+n.below < len(lines) && isBlank(lines[to+n.below]) {
		n.below++
	}
	own := indentation(lines[from])
	n.first, n.top = n.above == from, own == 0
	if !n.first {
		line := lines[from-n.above-1]
		n.before = indentation(line) >= own && !strings.HasSuffix(strings.TrimRight(line, whiteSpace), "{")
	}
	if to+n.below < len(lines) {
		line := lines[to+n.below]
		n.after = indentation(line) >= own && !isCloser(line)
	}
	return n
}

// without gives the lines without some of them. Of the blank lines above and below the
// gap, the larger group stays where both neighbours are of the same level; else the
// group beside the neighbour that is of that level goes. At the beginning of a file no
// blank lines stay.
func without(lines []string, from, to int) []string {
	n := neighbours(lines, from, to)
	above, below := lines[from-n.above:from], lines[to:to+n.below]
	switch {
	case n.first:
		above, below = nil, nil
	case n.after && (!n.before || n.above > n.below):
		below = nil
	default:
		above = nil
	}
	return slices.Concat(lines[:from-n.above], above, below, lines[to+n.below:])
}

// gap is how many blank lines are put between a definition and a new neighbour: as
// many as between the definition and its present neighbours. Two definitions of one
// line each get the smaller distance.
func (d *document) gap(n neighbourhood, single, singleOther bool) int {
	var present []int
	if n.before {
		present = append(present, min(n.above, 2))
	}
	if n.after {
		present = append(present, min(n.below, 2))
	}
	switch {
	case single && singleOther && present != nil:
		return slices.Min(present)
	case single && singleOther:
		return 0
	case !single && present != nil:
		return slices.Max(present)
	case n.top && d.language.Is("Python"):
		return 2
	}
	return 1
}

// beside puts other lines before or behind the lines between from and to, with blank
// lines as around these, and gives the result and where the other lines begin.
func (d *document) beside(lines []string, from, to int, others []string, before bool) (result []string, at int) {
	n := neighbours(lines, from, to)
	gap := d.gap(n, to-from == 1, len(others) == 1)
	blank := func(count int) []string { return slices.Repeat([]string{d.ending}, max(count, 0)) }
	if before {
		above := 0
		if n.before {
			above = gap - n.above
		}
		return slices.Concat(lines[:from], blank(above), others, blank(gap), lines[from:]), from + max(above, 0)
	}
	below := 0
	if n.after {
		below = gap - n.below
	}
	return slices.Concat(lines[:to], blank(gap), others, blank(below), lines[to:]), to + gap
}
