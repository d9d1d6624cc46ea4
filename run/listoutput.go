package run

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"toolpipe/approve"
)

// listOutput prints lists for people and for cut and awk: one line an item,
// columns separated by tabs; a description in full; a call's result.
type listOutput struct {
	w        *writer
	terminal bool
	full     bool
}

func (o *listOutput) event(e Event) error {
	var line []byte
	switch e := e.(type) {
	case *ToolEvent:
		if o.full {
			return o.describe(e)
		}
		desc, _, _ := strings.Cut(strings.TrimSpace(e.Description), "\n")
		line = tabbed(e.Name, e.Verdict, e.Rule, desc)
	case *ListedServerEvent:
		why := strings.TrimPrefix(e.Message, "server "+strconv.Quote(e.Name)+" ("+e.Transport+"): ") // the row says it
		line = tabbed(e.Name, e.Status, e.Transport, e.Protocol, strconv.Itoa(e.Tools), e.Target, why)
	case *ItemEvent:
		fields := []string{e.Server, e.Name}
		if e.Kind == "resource" {
			fields = []string{e.Server, e.URI, e.Name}
		}
		line = tabbed(append(fields, e.MIME, e.Description, argumentNames(e.Arguments))...)
	case *ExplanationEvent:
		return o.explain(e)
	case *EndEvent:
		if len(e.Text) > 0 {
			text := e.Text
			if o.terminal {
				text = appendLines(nil, text)
			}
			if text[len(text)-1] != '\n' {
				text = append(slices.Clip(text), '\n')
			}
			if err := o.w.write(text); err != nil {
				return err
			}
		}
		return o.w.flush()
	default:
		return nil
	}
	return o.w.write(line)
}

// argumentNames are those of a prompt: WHO, or [WHO] if it may be left out.
func argumentNames(raw json.RawMessage) string {
	if raw == nil {
		return ""
	}
	var names []string
	d := &document{data: raw}
	for _, a := range (value{d, 0, len(raw)}).elements() {
		name, _ := a.get("name")
		required, _ := a.get("required")
		if required.kind() == 't' {
			names = append(names, name.text())
		} else {
			names = append(names, "["+name.text()+"]")
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
		b = approve.AppendEscaped(b, f)
	}
	return append(b, '\n')
}

func (o *listOutput) describe(e *ToolEvent) error {
	var b bytes.Buffer
	b.WriteString("name:        " + approve.Escape(e.Name) + "\nserver:      " + approve.Escape(e.Server) + "\ntool:        " + approve.Escape(e.Tool) +
		"\nverdict:     " + e.Verdict)
	if e.Rule != "" {
		b.WriteString(" (" + approve.Escape(e.Rule) + ")")
	}
	b.WriteString("\n")
	for _, part := range []struct {
		name string
		raw  json.RawMessage
	}{{"annotations", e.Annotations}, {"schema", e.Schema}, {"output", e.OutputSchema}} {
		if part.raw != nil {
			b.WriteString(part.name + ":\n")
			json.Indent(&b, appendJSON(nil, part.raw), "", "  ")
			b.WriteString("\n")
		}
	}
	if e.Description != "" {
		// Each line is indented, so that none of them can pass for a line of ours.
		text := appendLines(nil, []byte(strings.TrimSpace(e.Description)))
		b.WriteString("description:\n  " + strings.ReplaceAll(string(text), "\n", "\n  ") + "\n")
	}
	return o.w.write(b.Bytes())
}

func (o *listOutput) explain(e *ExplanationEvent) error {
	line := e.Decision + "\t" + approve.Escape(e.Name) + "\t" + approve.Escape(string(e.Arguments)) + "\n"
	for _, m := range e.Rules {
		line += "rule\t" + m.Decision + "\t" + approve.Escape(m.Rule) + "\t" + approve.Escape(m.Reason) + "\n"
	}
	if e.Approver {
		line += "approver\tis asked first, and can deny it\n"
	}
	line += "decided\t" + e.By + "\t" + approve.Escape(e.Rule) + "\t" + approve.Escape(e.Reason) + "\n"
	return o.w.write([]byte(line))
}

func (o *listOutput) flush() error { return o.w.flush() }
