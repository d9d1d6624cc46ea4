package run

import (
	"strconv"

	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/review"
)

// listTools shows every tool, and what a reviewer would look at in its definition
// where that is wanted: for a list that a person reads in one look, it is not.
func (in *inspection) listTools() {
	var found [][]event.Finding
	if in.cfg.Verbose > 0 || in.cfg.Output != "" && in.cfg.Output != "text" || in.cfg.Log != "" {
		found = in.box.review()
	}
	for i, t := range in.box.all {
		e := in.toolEvent(t)
		if found != nil {
			e.Findings = found[i]
		}
		in.Emit(e)
	}
	if in.cfg.Verbose > 0 {
		in.sayFindings(found)
	}
}

// review gives the findings in the definitions of all tools, in their order.
func (b *toolbox) review() [][]event.Finding {
	tools := make([]review.Tool, len(b.all))
	for i, t := range b.all {
		tools[i] = review.Tool{
			Server: t.conn.Name, Own: t.conn.Local != nil, Name: t.Name, Title: t.Title, Description: t.Description,
			Schema: t.InputSchema, Output: t.OutputSchema, Annotations: t.Annotations,
		}
	}
	return review.Tools(tools)
}

// sayFindings prints a line for each finding in the tools that are shown or locked.
func (in *inspection) sayFindings(all [][]event.Finding) {
	n := 0
	for i, found := range all {
		t := in.box.all[i]
		if t.withheld && in.cfg.Mode == config.UpdateLock {
			continue // it is not in the lock
		}
		for _, f := range found {
			n++
			line := "to review: " + t.name
			for _, part := range [...]string{f.Member, f.What, f.Quote} {
				if part != "" {
					line += ": " + part
				}
			}
			in.face.Say(line)
		}
	}
	if n == 0 {
		in.face.VerboseLine("to review: nothing was found in the definitions, which does not prove them harmless; tools read: " + strconv.Itoa(len(all)))
	}
}
