// Package manual is the text of the manual: one page for each topic, in files of
// plain text that are part of the program. A page is printed as it is, or as
// roff for man. The files have this form:
//
//	topic: what the page is about      the first line
//	HEADING                            a line that is not indented
//	  A paragraph.                     indented by two
//	  term  what the term means        rows of a table, indented by two, with two
//	        and more of it             or more blanks behind the term
//
//	      an example                   indented by six, behind an empty line
package manual

import (
	"embed"
	"strings"
)

//go:embed *.txt
var files embed.FS

// Topics are the names of the pages, in the order of the whole manual.
func Topics() []string {
	return []string{"input", "session", "models", "servers", "serve", "login", "approvals", "policy", "egress", "events", "exit", "config", "files", "code", "processes", "notes", "security", "recipes"}
}

// Page is the text on a topic, "" if there is none.
func Page(topic string) string {
	text, err := files.ReadFile(topic + ".txt")
	if err != nil {
		return ""
	}
	return string(text)
}

// Title is the title of the page on a topic.
func Title(topic string) string {
	first, _, _ := strings.Cut(Page(topic), "\n")
	return strings.TrimPrefix(first, topic+": ")
}

// Kind is the kind of a Block.
type Kind uint8

const (
	Heading Kind = iota
	Paragraph
	Rows    // of a table: each is a term and its meaning
	Example // commands, or a file
)

// A Block is a part of a page between two empty lines. A heading is a block too.
type Block struct {
	Kind Kind
	Line int    // its first line in the page
	Text string // of an example, without the indentation; the words of a paragraph
	Rows []Row
}

// A Row of a table.
type Row struct{ Term, Text string }

// Blocks are the parts of the page on a topic, without its first line.
func Blocks(topic string) (blocks []Block) {
	lines := strings.Split(Page(topic), "\n")
	for i := 1; i < len(lines); i++ {
		if lines[i] == "" {
			continue
		}
		from := i
		if lines[i][0] != ' ' {
			blocks = append(blocks, Block{Kind: Heading, Line: i + 1, Text: lines[i]})
			continue
		}
		for i+1 < len(lines) && lines[i+1] != "" {
			i++
		}
		blocks = append(blocks, block(lines[from:i+1], from+1))
	}
	return blocks
}

const (
	textIndent    = "  "
	exampleIndent = "      "
)

func block(lines []string, number int) Block {
	b := Block{Line: number}
	if strings.HasPrefix(lines[0], exampleIndent) {
		b.Kind = Example
		for _, line := range lines {
			b.Text += strings.TrimPrefix(line, exampleIndent) + "\n"
		}
		return b
	}
	for i, line := range lines {
		line = strings.TrimPrefix(line, textIndent)
		term, text, isRow := strings.Cut(line, "  ")
		switch {
		case line[0] == ' ' && len(b.Rows) > 0: // more of the row, or of a term that stands alone
			last := &b.Rows[len(b.Rows)-1]
			last.Text = strings.TrimSpace(last.Text + " " + strings.TrimSpace(line))
		case isRow || i+1 < len(lines) && strings.HasPrefix(lines[i+1], exampleIndent):
			b.Kind = Rows
			b.Rows = append(b.Rows, Row{term, strings.TrimSpace(text)})
		default:
			b.Kind = Paragraph
		}
	}
	if b.Kind == Paragraph {
		b.Text = strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
	}
	return b
}
