package run

import (
	"cmp"
	"strings"

	"toolpipe/approve"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
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
// trusted. The resources and prompts of a server have the labels of the results of
// all its tools, or those that its tools would have if there are none.
func (b *toolbox) label(gate *approve.Gate) {
	for _, c := range b.conns {
		own := *cmp.Or(c.Labels, new(approve.Labels))
		if len(c.tools) == 0 {
			c.exposes = gate.Labels(&approve.Call{Server: c.Name, Spelling: c.Spelling}, own) & approve.Exposed
		}
		for _, t := range c.tools {
			labels := own
			switch {
			case c.Local != nil && (c.Name == "notes" && !t.ReadOnly || t.Name == "write_file"): // its result holds no text of a note or a file
				labels = 0
			case c.Local != nil && c.Name == "processes" && t.ReadOnly: // it reads what a program has written, and sends nothing
				labels = approve.Exposed
			case c.Labels == nil && jsontext.IsTrue(jsontext.Member(t.Annotations, "openWorldHint")):
				labels = approve.Untrusted | approve.Sends
			}
			call := t.call(nil)
			t.labels = gate.Labels(&call, labels)
			c.exposes |= t.labels & approve.Exposed
		}
	}
}

// labelInput labels the last message, which holds attached files or standard input. Beside
// a prompt in the arguments, standard input is data, which anybody may have written.
// A conversation that is read from there has its labels in its messages.
func (v *conversation) labelInput(msgs []stream.Message, data []byte) {
	var labels approve.Labels
	reads := len(data) > 0 && v.cfg.Input != "messages"
	if reads || len(v.cfg.Files) > 0 {
		labels = v.gate.Input
	}
	if reads && strings.Join(v.cfg.Args, "") != "" {
		labels |= approve.Untrusted
	}
	addLabels(msgs, labels)
}

// addLabels adds labels to the last message.
func addLabels(msgs []stream.Message, labels approve.Labels) {
	if n := len(msgs) - 1; n >= 0 && labels != 0 {
		own, _ := approve.ParseLabels(msgs[n].Labels, approve.Exposed)
		msgs[n].Labels = (own | labels&approve.Exposed).Words()
	}
}
