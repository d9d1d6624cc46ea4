package code

import (
	"bytes"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/toolserver"
)

// A document is a text in which some lines are replaced. All other lines keep their bytes.
type document struct {
	language *lexis.Language
	mark     string   // the byte order mark, if there is one
	lines    []string // of the text after the mark, with line ends
	roles    []lineRole
	ending   string // of new lines
	open     bool   // the last line has no newline
}

// A lineRole decides what may be done with the leading white space of a line.
type lineRole byte

const (
	ofCode          lineRole = iota
	ofComment                // in a comment that began above: indented with its code
	ofDocumentation          // in a documentation string: indented with its code, but may begin anywhere
	ofMargin                 // a directive, label or comment in column 0, whatever the indentation of the code around it
	ofString                 // in another string; the program may need its white space
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

// text is the document with other lines. The last line has a newline if the last line of the
// document had one; every other line has one.
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

// rolesOf returns the roles of lines. A documentation string is the first statement after the
// head of a Python function or class.
func rolesOf(language *lexis.Language, lines []string) []lineRole {
	roles := make([]lineRole, len(lines))
	text := []byte(strings.Join(lines, ""))
	mask, states := language.Scan(text)
	codes := make([]string, len(lines)) // the lines without comments, strings and surrounding white space
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
// unless the next line of code is in column 0 too.
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
		if roles[i] == ofComment && roles[i-1] == ofMargin { // the comment continues from there
			roles[i] = ofMargin
		}
	}
}

// isLabel reports whether a line of code begins with a label for goto.
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

// indentOf is the leading white space of a line.
func indentOf(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// contentLines are the lines of a content, without the empty lines around it, with the line
// ends of the document.
func (d *document) contentLines(content string) []string {
	lines := slices.Collect(strings.Lines(content))
	for len(lines) > 0 && isBlank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && isBlank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r") + d.ending
	}
	return lines
}

// continued are lines that begin after the indentation of a line. The first of them has that
// indentation already, or gets it.
func continued(lines []string, line string) []string {
	if len(lines) == 0 || indentOf(lines[0]) != "" {
		return lines
	}
	return append([]string{indentOf(line) + lines[0]}, lines[1:]...)
}

// placeOf is the indentation of lines: the indentation of the first one outside the margin.
func placeOf(lines []string, roles []lineRole) string {
	for i, line := range lines {
		if roles[i] != ofMargin && !isBlank(line) {
			return indentOf(line)
		}
	}
	return ""
}

// reindented changes the indentation of lines. Lines without the old one, lines in strings
// and lines in the margin are not changed.
func reindented(lines []string, roles []lineRole, from, to string) []string {
	lines = slices.Clone(lines)
	for i, line := range lines {
		if rest, found := strings.CutPrefix(line, from); found && roles[i] < ofMargin && !isBlank(line) {
			lines[i] = to + rest
		}
	}
	return lines
}

// moved returns lines of the document for a position with another indentation.
func (d *document) moved(from, to int, place string) []string {
	lines, roles := d.lines[from:to], d.roles[from:to]
	return reindented(lines, roles, placeOf(lines, roles), place)
}

// A neighbourhood describes the lines around some lines.
type neighbourhood struct {
	above, below  int  // the blank lines directly above and below
	before, after bool // a line of the same level precedes or follows the blank lines
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

// without removes some lines. If both neighbours have the same level, the larger group of
// blank lines around the gap stays; otherwise the blank lines at the neighbour of that level
// are removed. At the beginning of a file no blank lines stay.
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

// gap is how many blank lines go between a definition and a new neighbour: as many as between
// the definition and its present neighbours. Two definitions of one line each get the smaller
// number.
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

// beside inserts other lines before or after the lines between from and to, with blank lines
// as around these. It returns the result and the position of the other lines.
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
