package run

import (
	"toolpipe/approve"
	"toolpipe/stream/jsontext"
)

// builtinLabels are the labels of a built-in server's tools. Notes may come from an
// earlier run, which may have written there what it had read anywhere. What an agent
// and the search for tools return has the labels of what they met.
func builtinLabels(server string) approve.Labels {
	switch server {
	case "shell", "processes":
		return approve.Exposed | approve.Sends
	case "fetch":
		return approve.Untrusted | approve.Sends
	case "notes":
		return approve.Exposed
	case "agent", finderServer:
		return 0
	}
	return approve.Private // files, which may have any name, and code
}

// label gives all tools their labels: those of the policies' label rules, else those
// that the user's config has for the server or that are built in, else what the
// server hints. Of hints only one that adds labels counts, since servers are not
// trusted.
func (b *toolbox) label(gate *approve.Gate) {
	for _, c := range b.conns {
		for _, t := range c.tools {
			var labels approve.Labels
			switch {
			case c.Labels != nil:
				labels = *c.Labels
			case jsontext.IsTrue(jsontext.Member(t.Annotations, "openWorldHint")):
				labels = approve.Untrusted | approve.Sends
			}
			call := t.call(nil)
			t.labels = gate.Labels(&call, labels)
		}
	}
}
