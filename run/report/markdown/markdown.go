// Package markdown writes a report as GitHub's dialect of Markdown, for the summary of a CI job, a
// note, or a terminal.
//
// Every text of a log is in a code span or a fenced code block: see code and fence. A report has at
// most MaxBytes. Each part gets a share of them: its items are written until one does not fit, and
// the others are counted.
package markdown

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/report/history"
)

// MaxBytes is the longest report. GitHub accepts 1 MiB as the summary of a step, and refuses a
// longer one completely.
const MaxBytes = 900 << 10

// counted is the space for the line that counts the omitted items.
const counted = 200

type document struct {
	b    strings.Builder
	stop int // longest size at the end of this part
}

func Write(w io.Writer, r *history.Report) error {
	d := &document{stop: MaxBytes - counted}
	d.sources(r)
	shown := 0
	for i, run := range r.Runs {
		if d.stop-d.b.Len() < 8<<10 {
			break
		}
		left := len(r.Runs) - i
		d.part(max(8<<10, (d.stop-d.b.Len())/left), func() { d.run(run, i+1, len(r.Runs)) })
		shown++
	}
	if more := len(r.Runs) - shown + r.MoreRuns; more > 0 {
		d.b.WriteString("\n" + strconv.Itoa(more) + " further runs are not shown here.\n")
	}
	_, err := io.WriteString(w, d.b.String())
	return err
}

// part writes a part of at most size bytes.
func (d *document) part(size int, write func()) {
	before := d.stop
	d.stop = min(d.stop, d.b.Len()+size)
	write()
	d.stop = before
}

func (d *document) add(item string) bool {
	if d.b.Len()+len(item) > d.stop-counted {
		return false
	}
	d.b.WriteString(item)
	return true
}

// items writes the items of a part, and counts those that do not fit.
func items[T any](d *document, head string, all []T, what string, item func(int, T) string) {
	if len(all) == 0 || !d.add(head) {
		return
	}
	for i, one := range all {
		if !d.add(item(i, one)) {
			d.b.WriteString("\n" + strconv.Itoa(len(all)-i) + " further " + what + " are not shown here.\n")
			break
		}
	}
	d.b.WriteByte('\n')
}

func (d *document) sources(r *history.Report) {
	items(d, "", r.Sources, "files", func(_ int, s *history.Source) string {
		text := "Made by `toolpipe --report` of " + code(s.Name, 200, false)
		if s.Form != "" {
			text += ", " + article(string(s.Form))
		}
		text += ", " + history.Grouped(s.Bytes) + " bytes, SHA-256 `" + s.SHA256 + "`."
		for _, fault := range slices.Concat(s.Cut, s.Long) {
			text += " **Note: " + fault + ".**"
		}
		return text + "\n\n"
	})
}

func article(noun string) string {
	if noun[0] == 'e' {
		return "an " + noun
	}
	return "a " + noun
}

func (d *document) run(r *history.Run, n, of int) {
	size := d.stop - d.b.Len()
	heading := "## " + mark(r)
	if of > 1 {
		heading += "run " + strconv.Itoa(n) + ": "
	}
	d.add(heading + statusOf(r) + "\n\n")
	d.add(d.facts(r))
	if !r.End.Error.IsEmpty() {
		d.add("**Error:** " + code(r.End.Error.String(), 1000, false) + "\n\n")
	}
	if !r.End.Hint.IsEmpty() {
		d.add("Hint: " + code(r.End.Hint.String(), 1000, false) + "\n\n")
	}
	d.part(size/2, func() { d.talk(r, size) })
	if r.Form == history.Plan {
		items(d, "### Calls\n\n", r.Calls, "calls", d.planned)
		return
	}
	d.part(size/6, func() { d.concerns(r) })
	d.part(size/3, func() { d.calls(r) })
	d.changes(r, size/4)
	if m := r.More; m != (history.More{}) {
		d.add("Counted above and not kept: questions " + strconv.Itoa(m.Questions) + ", calls " + strconv.Itoa(m.Calls) + ", turns " + strconv.Itoa(m.Turns) + ", other events " + strconv.Itoa(m.Notes) + ".\n\n")
	}
}

func (d *document) talk(r *history.Run, size int) {
	items(d, "", r.Talk, "questions", func(_ int, x history.Exchange) (text string) {
		if !x.Prompt.IsEmpty() {
			text += "### Prompt\n\n" + fence(firstLines(x.Prompt), "text", 2<<10)
		}
		if !x.Answer.IsEmpty() {
			text += "### Answer\n\n" + fence(x.Answer, "text", min(64<<10, size/(4+len(r.Talk))))
		}
		return text
	})
}

func mark(r *history.Run) string {
	switch {
	case r.Form != history.Log:
		return ""
	case r.End.Known && r.End.Exit == 0:
		return "✅ "
	}
	return "❌ "
}

func statusOf(r *history.Run) string {
	switch {
	case r.Form == history.Plan:
		return "a plan to review"
	case r.Form == history.Session:
		return "a session"
	case !r.End.Known:
		return "no end: the run was killed, or goes on"
	}
	s := code(cmp.Or(r.End.Status, "?"), 40, false)
	if r.End.Exit != history.Unknown {
		s += ", exit " + strconv.FormatInt(r.End.Exit, 10)
	}
	return s
}

func firstLines(t history.Text) history.Text {
	lines := strings.SplitAfterN(t.Head, "\n", 6)
	if len(lines) < 6 && t.Left == 0 {
		return t
	}
	head := strings.Join(lines[:min(5, len(lines))], "")
	return history.Text{Head: head, Left: t.Size() - int64(len(head))}
}

func (d *document) facts(r *history.Run) string {
	var rows [][2]string
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, [2]string{name, value})
		}
	}
	cell := func(s string) string { return code(s, 200, true) }
	for _, f := range history.Begun(r) {
		add(f.Name, cell(f.Value))
	}
	if r.End.Ms != history.Unknown {
		add("took", history.Grouped(r.End.Ms)+" ms")
	}
	if r.Form != history.Plan {
		add("turns", history.Grouped(r.Counts.Turns))
	}
	add("calls", history.Grouped(r.Counts.Calls))
	results := slices.Sorted(maps.Keys(r.Counts.Results))
	for i, status := range results {
		results[i] = cell(cmp.Or(status, "?")) + " " + history.Grouped(r.Counts.Results[status])
	}
	add("results", strings.Join(results, ", "))
	if t := r.Counts.Tokens; t != (history.Tokens{}) {
		add("tokens", history.Grouped(t.Input)+" in ("+history.Grouped(t.Cached)+" cached), "+history.Grouped(t.Output)+" out ("+history.Grouped(t.Reasoning)+" reasoning)")
	}
	for _, f := range history.Came(r) {
		add(f.Name, cell(f.Value))
	}
	if r.End.Cut {
		add("cut", "the last line of the file is not complete")
	}
	text := "| | |\n|---|---|\n"
	for _, row := range rows {
		text += "| " + row[0] + " | " + row[1] + " |\n"
	}
	return text + "\n"
}
