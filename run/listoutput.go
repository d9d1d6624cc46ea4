package run

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/stream/escape"
)

// listOutput prints lists for people and for cut and awk: one line an item,
// columns separated by tabs; a description in full; a call's result.
type listOutput struct {
	w        *event.Writer
	terminal bool
	full     bool
}

func (o *listOutput) Event(e event.Event) error {
	var line []byte
	switch e := e.(type) {
	case *event.Tool:
		if o.full {
			return o.describe(e)
		}
		desc, _, _ := strings.Cut(strings.TrimSpace(e.Description), "\n")
		line = tabbed(e.Name, e.Verdict, e.Rule, desc)
	case *event.Server:
		why := strings.TrimPrefix(e.Message, "server "+strconv.Quote(e.Name)+" ("+e.Transport+"): ") // the row says it
		line = tabbed(e.Name, e.Status, e.Transport, e.Protocol, strconv.Itoa(e.Tools), e.Target, why)
	case *event.Item:
		fields := []string{e.Server, e.Name}
		if e.Kind == "resource" {
			fields = []string{e.Server, e.URI, e.Name}
		}
		line = tabbed(append(fields, e.MIME, e.Description, argumentNames(e.Arguments))...)
	case *event.Explanation:
		return o.explain(e)
	case *event.End:
		if len(e.Text) > 0 {
			text := e.Text
			if o.terminal {
				text = event.AppendLines(nil, text)
			}
			if text[len(text)-1] != '\n' {
				text = append(slices.Clip(text), '\n')
			}
			if err := o.w.WriteAll(text); err != nil {
				return err
			}
		}
		return o.w.Finish()
	default:
		return nil
	}
	return o.w.WriteAll(line)
}

// argumentNames are those of a prompt: WHO, or [WHO] if it may be left out.
func argumentNames(raw json.RawMessage) string {
	if raw == nil {
		return ""
	}
	var names []string
	for _, a := range config.Checked("", raw).Elements() {
		name, _ := a.Get("name")
		required, _ := a.Get("required")
		if required.Kind() == 't' {
			names = append(names, name.Text())
		} else {
			names = append(names, "["+name.Text()+"]")
		}
	}
	return strings.Join(names, " ")
}

// tabbed joins fields by tabs. Every field is escaped, so that none of them can
// hold a tab, begin another row or steer a terminal.
func tabbed(fields ...string) []byte {
	var b []byte
	for i, f := range fields {
		if i > 0 {
			b = append(b, '\t')
		}
		b = escape.AppendEscaped(b, f)
	}
	return append(b, '\n')
}

func (o *listOutput) describe(e *event.Tool) error {
	var b bytes.Buffer
	b.WriteString("name:        " + escape.Escape(e.Name) + "\nserver:      " + escape.Escape(e.Server) + "\ntool:        " + escape.Escape(e.Tool) +
		"\nverdict:     " + e.Verdict)
	if e.Rule != "" {
		b.WriteString(" (" + escape.Escape(e.Rule) + ")")
	}
	b.WriteString("\n")
	for _, part := range []struct {
		name string
		raw  json.RawMessage
	}{{"annotations", e.Annotations}, {"schema", e.Schema}, {"output", e.OutputSchema}} {
		if part.raw != nil {
			b.WriteString(part.name + ":\n")
			json.Indent(&b, event.AppendJSON(nil, part.raw), "", "  ")
			b.WriteString("\n")
		}
	}
	if e.Description != "" {
		// Each line is indented, so that none of them can pass for a line of ours.
		text := event.AppendLines(nil, []byte(strings.TrimSpace(e.Description)))
		b.WriteString("description:\n  " + strings.ReplaceAll(string(text), "\n", "\n  ") + "\n")
	}
	return o.w.WriteAll(b.Bytes())
}

func (o *listOutput) explain(e *event.Explanation) error {
	line := e.Decision + "\t" + escape.Escape(e.Name) + "\t" + escape.Escape(string(e.Arguments)) + "\n"
	for _, m := range e.Rules {
		line += "rule\t" + m.Decision + "\t" + escape.Escape(m.Rule) + "\t" + escape.Escape(m.Reason) + "\n"
	}
	if e.Approver {
		line += "approver\tis asked first, and can deny it\n"
	}
	line += "decided\t" + e.By + "\t" + escape.Escape(e.Rule) + "\t" + escape.Escape(e.Reason) + "\n"
	return o.w.WriteAll([]byte(line))
}

func (o *listOutput) Flush() error { return o.w.Finish() }
