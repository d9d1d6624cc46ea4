package flags

import (
	"strings"

	"toolpipe/run/manual"
)

// manualDate is the date of the last change of the manual, for the man page.
const manualDate = "2026-11-22"

const manHead = `.SH NAME
toolpipe \- let a model and MCP tool servers take turns in a pipeline
.SH SYNOPSIS
.B toolpipe
[flags] [PROMPT ...]
.SH DESCRIPTION
`

func (t *Table) man(version string) string {
	var b strings.Builder
	b.WriteString(`.TH TOOLPIPE 1 ` + manualDate + ` "toolpipe ` + version + "\" \"User Commands\"\n" + manHead + manual.Filled(about) + ".SH OPTIONS\n")
	for _, g := range t.Groups {
		b.WriteString(".SS " + strings.ToUpper(g.Title) + "\n")
		for _, f := range g.Flags {
			b.WriteString(manual.Term(f.synopsis(), f.text()))
		}
	}
	for _, topic := range manual.Topics() {
		b.WriteString(manual.Roff(topic))
	}
	return b.String()
}
