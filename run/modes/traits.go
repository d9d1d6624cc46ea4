package modes

import (
	"strings"

	"toolpipe/approve"
	"toolpipe/run/event"
	"toolpipe/run/toolbox"
	"toolpipe/stream/text/jsontext"
)

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
