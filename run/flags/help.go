package flags

import (
	"fmt"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/manual"
)

const (
	indent = 28 // column of the help texts
	width  = 80
)

const about = `Lets a model and MCP tool servers take turns until the answer is complete. The
prompt is the arguments, then standard input; the answer goes to stdout. After
--, every word belongs to the prompt.
`

const intro = "usage: toolpipe [flags] [PROMPT ...]\n\n" + about + `
  git diff | toolpipe 'review this diff'
  toolpipe --files . -a @read-only 'which tests cover the parser?' </dev/null
  toolpipe -t gh=https://mcp.example.com/mcp -o json <prompt.txt | jq -r .text
`

const ending = `
exit status: 0 answered, 2 usage, 3 model, 4 server, 5 unapproved, 6 limit,
7 outcome unknown, 8 output, 128+N signal N; --help=topics lists the manual
`

// HelpText is the text for --help. Its value and args, the prompt arguments, are the topics.
// Without a topic it is the everyday flags.
func (t *Table) HelpText(version string, args []string) (string, error) {
	if *t.Help != "short" {
		args = append([]string{*t.Help}, args...)
	}
	if len(args) == 0 {
		return t.help(true), nil
	}
	var texts []string
	for _, topic := range args {
		text := manual.Page(topic)
		switch topic {
		case "all":
			text = t.help(false)
		case "topics":
			text = topics()
		case "man":
			text = t.man(version)
		}
		if text == "" {
			return "", unknownTopic(topic)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n"), nil
}

func topics() string {
	var b strings.Builder
	b.WriteString("toolpipe --help=TOPIC prints a page of the manual:\n\n")
	for _, topic := range manual.Topics() {
		b.WriteString("  " + topic + strings.Repeat(" ", 12-len(topic)) + manual.Title(topic) + "\n")
	}
	b.WriteString("\n  all         every flag\n  man         the complete manual as roff, for man -l\n")
	return b.String()
}

func unknownTopic(topic string) error {
	all := append([]string{"all", "topics", "man"}, manual.Topics()...)
	hints := config.DidYouMean("--help=", config.Nearest(topic, all), "topics: "+config.JoinWords(all))
	return failure.UsageError(hints, "--help: %q is not a topic", topic)
}

func (t *Table) help(everyday bool) string {
	var b strings.Builder
	b.WriteString(intro)
	for _, g := range t.Groups {
		b.WriteString("\n" + g.Title + "\n")
		for _, f := range g.Flags {
			switch {
			case !everyday:
				f.writeLines(&b, f.text())
			case f.Everyday:
				f.writeLines(&b, f.brief())
			}
		}
	}
	b.WriteString(ending)
	return b.String()
}

// brief is the part of the flag's text that lists of flags show.
func (f *Flag) brief() string {
	brief, _, _ := strings.Cut(f.Help, ";")
	return brief
}

func (f *Flag) text() string {
	if _, ok := f.Setting.(*[]string); ok && !strings.Contains(f.Help, "(repeatable)") {
		return f.Help + " (repeatable)"
	}
	return f.Help
}

// synopsis is the flag with its value, for example -t, --mcp [NAME=]TARGET.
func (f *Flag) synopsis() string {
	s := strings.Join(f.names(), ", ")
	if f.Value != "" && f.Bare() == "" {
		s += " "
	}
	return s + f.Value
}

// writeLines writes the flag, with its text on the same line or below.
func (f *Flag) writeLines(b *strings.Builder, text string) {
	left := "  " + f.synopsis()
	if f.Short == "" {
		left = "      " + f.synopsis()
	}
	if len(left) > indent-2 {
		b.WriteString(left + "\n")
		left = ""
	}
	for _, line := range manual.Wrap(strings.Fields(text), width-indent) {
		fmt.Fprintf(b, "%-*s%s\n", indent, left, line)
		left = ""
	}
}
