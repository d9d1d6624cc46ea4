package modes

import (
	"strconv"

	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/review"
)

// listTools lists every tool. With -v, another output form or a log it includes the findings in its
// definition; a short list for a person does not.
func (m *mode) listTools() {
	var found [][]event.Finding
	if m.cfg.Verbose > 0 || m.cfg.Output != "" && m.cfg.Output != "text" || m.cfg.Log != "" {
		found = m.review()
	}
	for i, t := range m.box.All() {
		e := m.toolEvent(t)
		if found != nil {
			e.Findings = found[i]
		}
		m.inv.Emit(e)
	}
	if m.cfg.Verbose > 0 {
		m.sayFindings(found)
		m.saySkeleton()
	}
}

// review returns the findings in the definitions of all tools, in their order.
func (m *mode) review() [][]event.Finding {
	tools := make([]review.Tool, len(m.box.All()))
	for i, t := range m.box.All() {
		tools[i] = review.Tool{
			Server: t.Conn.Name, Own: t.Conn.Local != nil, Name: t.Name, Title: t.Title, Description: t.Description,
			Schema: t.InputSchema, Output: t.OutputSchema, Annotations: t.Annotations,
		}
	}
	return review.Tools(tools)
}

// sayFindings prints a line for each finding in the tools that are listed or locked.
func (m *mode) sayFindings(all [][]event.Finding) {
	n := 0
	for i, found := range all {
		t := m.box.All()[i]
		if t.Withheld && m.cfg.Mode == config.UpdateLock {
			continue // it is not in the lock
		}
		for _, f := range found {
			n++
			line := "to review: " + t.ModelName
			for _, part := range [...]string{f.Member, f.What, f.Quote} {
				if part != "" {
					line += ": " + part
				}
			}
			m.inv.Face.Say(line)
		}
	}
	if n == 0 {
		m.inv.Face.VerboseLine("to review: nothing was found in the definitions, which does not prove them harmless; tools read: " + strconv.Itoa(len(all)))
	}
}
