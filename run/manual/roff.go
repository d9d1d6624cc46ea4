package manual

import "strings"

const (
	textIndent    = "  "
	exampleIndent = "      "
)

func Roff(topic string) string {
	_, text, _ := strings.Cut(Page(topic), "\n")
	return ".SH " + strings.ToUpper(topic) + "\n" + Filled(sentence(Title(topic))) + blocks(text)
}

// blocks converts the headings, paragraphs, tables and examples of a page, which are separated by
// empty lines.
func blocks(text string) (roff string) {
	for block := range strings.SplitSeq(text, "\n\n") {
		if block = strings.Trim(block, "\n"); block == "" {
			continue
		}
		begin := ".PP\n"
		if heading, below, _ := strings.Cut(block, "\n"); heading[0] != ' ' {
			begin, block = ".SS "+escaped(heading)+"\n", below
		}
		roff += begin + body(strings.Split(block, "\n"))
	}
	return strings.ReplaceAll(roff, ".PP\n.TP\n", ".TP\n") // .TP begins a paragraph itself
}

// body converts an example, a paragraph or rows of a table.
func body(lines []string) (roff string) {
	if strings.HasPrefix(lines[0], exampleIndent) {
		for _, line := range lines {
			roff += escaped(strings.TrimPrefix(line, exampleIndent)) + "\n"
		}
		return ".RS 4\n.EX\n" + roff + ".EE\n.RE\n"
	}
	for i, line := range lines {
		term, meaning, isRow := strings.Cut(strings.TrimPrefix(line, textIndent), "  ")
		standsAlone := i+1 < len(lines) && strings.HasPrefix(lines[i+1], exampleIndent)
		if term != "" && (isRow || standsAlone) {
			roff += Term(term, meaning)
		} else { // a line of a paragraph, or a further line of a row
			roff += Filled(line)
		}
	}
	return roff
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

func Term(term, text string) string { return ".TP\n.B " + escaped(term) + "\n" + Filled(text) }

// Filled is a paragraph as roff, in lines of at most 80 bytes.
func Filled(text string) (roff string) {
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = escaped(word)
	}
	for _, line := range Wrap(words, 80) {
		roff += line + "\n"
	}
	return roff
}

// Wrap puts words into lines of at most width bytes. A longer word gets a separate line.
func Wrap(words []string, width int) (lines []string) {
	for _, word := range words {
		if n := len(lines) - 1; n >= 0 && len(lines[n])+1+len(word) <= width {
			lines[n] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// escaped makes roff print s byte for byte: dashes of flags stay dashes, and no line begins a
// command.
func escaped(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
