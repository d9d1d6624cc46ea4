package modes

import (
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/toolbox"
	"toolpipe/stream/text/jsontext"
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

func traits(t *toolbox.Tool) event.Traits {
	arguments := func(places approve.Places) (all []string) {
		for _, p := range places.Paths {
			all = append(all, p.String())
		}
		return all
	}
	return event.Traits{
		Labels: (t.Labels & (approve.Exposed | approve.Sends)).Words(), Effects: (t.Labels &^ t.Assumed & approve.AllEffects).Words(), Assumed: t.Assumed.Words(), Declared: t.By,
		Reads: arguments(t.Reads), Writes: arguments(t.Writes), Sends: arguments(t.Traits.Sends),
	}
}

// saySkeleton prints, for tools with unknown effects, a part of a policy that declares all effects:
// the user deletes those that the tool does not have.
func (m *mode) saySkeleton() {
	var lines []string
	for _, t := range m.box.All() {
		if t.Assumed&approve.AllEffects == 0 {
			continue
		}
		line := `  {"server":` + string(jsontext.Quoted(t.Conn.Name)) + `,"tool":` + string(jsontext.Quoted(t.Name)) + `,"labels":["` +
			strings.Join(((t.Labels|t.Assumed)&approve.Exposed).Words(), `","`) + `"]`
		for _, effect := range ((t.Labels | t.Assumed) & approve.AllEffects).Words() {
			if effect == "runs" {
				line += `,"runs":true`
			} else {
				line += `,"` + effect + `":[]`
			}
		}
		lines = append(lines, strings.ReplaceAll(line, `[""]`, "[]")+"}")
	}
	if lines == nil {
		return
	}
	m.inv.Face.Say("the effects of these tools are not declared, so they count as able to do everything; to declare them, write these lines into a policy, keep the effects that are true, and name the arguments that are paths or destinations in the lists:")
	m.inv.Face.Lines(`{"version":1,"labels":[` + "\n" + strings.Join(lines, ",\n") + "\n]}")
}
