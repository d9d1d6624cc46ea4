package flags

import (
	"strings"
)

const (
	indent = 28 // where the texts of the help begin
	width  = 80
)

const intro = `usage: toolpipe [flags] [PROMPT ...]

Lets a model and MCP tool servers take turns until the answer is done. The
prompt is the arguments, then standard input; the answer goes to stdout.

  git diff | toolpipe 'review this diff'
  toolpipe --files . -a @read-only 'which tests cover the parser?' </dev/null
  toolpipe -t gh=https://mcp.example.com/mcp -o json <prompt.txt | jq -r .text
`

const shortEnd = `
exit status: 0 answered, 2 usage, 3 model, 4 server, 5 unapproved,
6 limit, 7 outcome unknown, 8 output, 128+N signal N
`

const fullEnd = `
approvals: the strictest matching rule wins, whatever the order: deny, ask,
allow. A call that no rule matches is asked about on the terminal; where nobody
can be asked the run stops with status 5. Nothing overrides a deny.

exit status
  0 the answer is complete             6 a limit: rounds, time, tokens, length
  1 --call: an error or a refusal      7 a call's outcome is unknown
  2 usage: flags, input, config        8 the output could not be written
  3 the model failed                  70 a defect of toolpipe
  4 a required tool server failed     129, 130, 143 signals; 141 the reader of
  5 a call needed an approval             stdout went away
`

// ShortHelp shows the everyday flags.
func (t *Table) ShortHelp() string {
	return t.help(shortEnd, func(f *Flag) string { return f.Brief })
}

// FullHelp shows every flag.
func (t *Table) FullHelp() string { return t.help(fullEnd, (*Flag).text) }

// text is what the full help says of the flag.
func (f *Flag) text() string {
	text := f.Help
	if text == "" {
		text = f.Brief
	}
	if _, ok := f.Setting.(*[]string); ok && !strings.HasSuffix(text, "(repeatable)") {
		text += " (repeatable)"
	}
	return text
}

// help shows the flags that have a text.
func (t *Table) help(end string, text func(*Flag) string) string {
	var b strings.Builder
	b.WriteString(intro)
	for _, g := range t.Groups {
		title := "\n" + g.Title + "\n"
		for i := range g.Flags {
			f := &g.Flags[i]
			if words := text(f); words != "" {
				b.WriteString(title)
				title = ""
				f.writeLines(&b, words)
			}
		}
	}
	b.WriteString(end)
	return b.String()
}

// writeLines writes the flag and, beside it or below it, its text.
func (f *Flag) writeLines(b *strings.Builder, text string) {
	left := "      --" + f.Name
	if f.Short != "" {
		left = "  -" + f.Short + ", --" + f.Name
	}
	if f.Value != "" && f.Bare() == "" {
		left += " "
	}
	left += f.Value
	b.WriteString(left)
	column := len(left)
	if column > indent-2 {
		column = width // begin on a new line
	} else {
		b.WriteString(strings.Repeat(" ", indent-1-column))
		column = indent - 1
	}
	for word := range strings.FieldsSeq(text) {
		if column+1+len(word) > width {
			b.WriteString("\n" + strings.Repeat(" ", indent-1))
			column = indent - 1
		}
		b.WriteString(" " + word)
		column += 1 + len(word)
	}
	b.WriteString("\n")
}
