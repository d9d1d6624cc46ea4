package modes

import (
	"strconv"

	"toolpipe/run/config"
	"toolpipe/run/event"
)

// listTools lists every tool. With -v, another output form or a log it includes the findings in its
// definition; a short list for a person does not.
func (m *mode) listTools() {
	var found [][]event.Finding
	if m.cfg.Verbose > 0 || m.cfg.Output != "" && m.cfg.Output != "text" || m.cfg.Log != "" {
		found = m.box.Review()
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
