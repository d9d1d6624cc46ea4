package manual

import "strings"

// Roff is the page on a topic as a section of a man page.
func Roff(topic string) string {
	var b strings.Builder
	b.WriteString(".SH " + strings.ToUpper(topic) + "\n" + Filled(sentence(Title(topic))))
	afterHeading := false
	for _, block := range Blocks(topic) {
		if !afterHeading && (block.Kind == Paragraph || block.Kind == Example) {
			b.WriteString(".PP\n")
		}
		afterHeading = block.Kind == Heading
		switch block.Kind {
		case Heading:
			b.WriteString(".SS " + escaped(block.Text) + "\n")
		case Paragraph:
			b.WriteString(Filled(block.Text))
		case Rows:
			for _, row := range block.Rows {
				b.WriteString(Term(row.Term, row.Text))
			}
		case Example:
			b.WriteString(".RS 4\n.EX\n")
			for line := range strings.Lines(block.Text) {
				b.WriteString(escaped(line))
			}
			b.WriteString(".EE\n.RE\n")
		}
	}
	return b.String()
}

// sentence begins s with a capital letter and ends it with a full stop.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// Term is a term of a list and its meaning, as roff.
func Term(term, text string) string { return ".TP\n.B " + escaped(term) + "\n" + Filled(text) }

// Filled is a paragraph as roff, in lines of at most 80 bytes.
func Filled(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = escaped(word)
	}
	return strings.Join(Wrap(words, 80), "\n") + "\n"
}

// Wrap puts words into lines of at most width bytes; a longer word is a line.
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

// escaped is text as roff prints it byte for byte: a dash stays the dash of flags,
// and no character begins a command.
func escaped(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
