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
	unit     string // one level of indentation; "" where no line is indented
}

// A lineRole says what may be done with the white space that a line begins with.
type lineRole byte

const (
	ofCode          lineRole = iota
	ofComment                // in a comment that began above: indented with its code
	ofDocumentation          // in a string that documents: indented with its code, though it may begin anywhere
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
	d.unit = unitOf(d.lines, d.roles)
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
		offset += len(line)
	}
	return roles
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

// unitOf is one level of indentation of the lines of code: a tab, or the least number
// of spaces.
func unitOf(lines []string, roles []lineRole) string {
	tabs, spaces, least := 0, 0, 8
	for i, line := range lines {
		indent := indentOf(line)
		switch {
		case roles[i] != ofCode || indent == "" || isBlank(line):
		case indent[0] == '\t':
			tabs++
		case len(indent) > 1: // one space is that of the lines of a comment
			spaces++
			least = min(least, len(indent))
		}
	}
	switch {
	case tabs > spaces:
		return "\t"
	case spaces == 0:
		return ""
	}
	return strings.Repeat(" ", least)
}

// fit gives the lines of a content, indented for a place. Its indentation counts from
// line to line only, in tabs or spaces as the document has it. Lines in strings stay.
func (d *document) fit(content, place string) []string {
	content = strings.TrimRight(strings.ReplaceAll(content, "\r\n", "\n"), " \t\n")
	lines := slices.Collect(strings.Lines(content))
	for len(lines) > 0 && isBlank(lines[0]) {
		lines = lines[1:]
	}
	roles := rolesOf(d.language, lines)
	common := commonIndent(lines, roles, place)
	steps := make([]string, len(lines)) // the lines without the common indentation
	for i, line := range lines {
		steps[i] = strings.TrimPrefix(line, common)
	}
	unit := unitOf(steps, roles)
	fitted := make([]string, len(lines))
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case roles[i] == ofString:
		case isBlank(line):
			line = ""
		default:
			own := indentOf(line)
			step, deeper := strings.CutPrefix(own, common)
			if !deeper {
				step = ""
			}
			line = place + d.step(step, unit) + line[len(own):]
		}
		fitted[i] = line + d.ending
	}
	return fitted
}

// step is an indentation in the document's tabs or spaces, of a content with a unit.
func (d *document) step(indent, unit string) string {
	switch {
	case d.unit == "\t" && unit != "\t" && unit != "":
		n := len(indent)
		return strings.Repeat("\t", n/len(unit)) + indent[:n%len(unit)]
	case d.unit != "\t" && d.unit != "":
		return strings.ReplaceAll(indent, "\t", d.unit)
	}
	return indent
}

// commonIndent is the indentation that all lines of code have. Text that was copied
// out of a file often begins behind the indentation of its first line: then the common
// indentation is that of the other lines, which is the place's.
func commonIndent(lines []string, roles []lineRole, place string) string {
	var others []string
	for i := 1; i < len(lines); i++ {
		if roles[i] <= ofComment && !isBlank(lines[i]) {
			others = append(others, lines[i])
		}
	}
	if len(lines) == 0 || len(others) == 0 {
		return indentOf(strings.Join(lines, ""))
	}
	common := indentOf(others[0])
	for _, line := range others {
		common = commonPrefix(common, line)
	}
	first := indentOf(lines[0])
	if first == "" && place != "" && strings.HasPrefix(common, place) &&
		!slices.ContainsFunc(others, func(line string) bool { return indentOf(line) == place && !isCloser(line) }) {
		return place
	}
	return commonPrefix(common, first)
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// moved gives lines of the document from one indentation to another.
func (d *document) moved(from, to int, place string) []string {
	own := indentOf(d.lines[from])
	lines := slices.Clone(d.lines[from:to])
	for i, line := range lines {
		if rest, found := strings.CutPrefix(line, own); found && d.roles[from+i] != ofString && !isBlank(line) {
			lines[i] = place + rest
		}
	}
	return lines
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
