package toolbox

import (
	"slices"
	"strconv"

	"toolpipe/approve"
	"toolpipe/mcp/toolserver"
	"toolpipe/run/config"
	"toolpipe/stream/text/jsontext"
)

// builtinTraits converts the declared effects of a built-in tool to traits.
func builtinTraits(e toolserver.Effects) approve.Traits {
	if e == (toolserver.Effects{}) {
		return approve.Traits{BuiltIn: true, Assumed: approve.Exposed | approve.AllEffects}
	}
	t := approve.Traits{BuiltIn: true, Shows: e.Shows, By: "built in"}
	declare := func(has bool, label approve.Labels, arguments ...string) {
		arguments = slices.DeleteFunc(arguments, func(name string) bool { return name == "" })
		if has && label&(approve.Reads|approve.Writes|approve.Sends) != 0 {
			t.Declare(label, arguments)
		} else if has {
			t.Labels |= label
		}
	}
	declare(e.Private, approve.Private)
	declare(e.Untrusted, approve.Untrusted)
	declare(e.Runs, approve.Runs)
	declare(e.Reads, approve.Reads, e.Path, e.To)
	declare(e.Writes, approve.Writes, e.Path, e.To)
	declare(e.Sends, approve.Sends, e.Destination)
	if e.Reads {
		t.Reads.Absent = "."
	}
	return t
}

// traits returns the traits of a tool without policies: built in, or from the user's config, else
// from its server. The annotations of a trusted server are believed; a missing one is false. From a
// server that is not trusted, only the annotation that a tool reaches out is used.
func (b *Toolbox) traits(t *Tool) approve.Traits {
	if t.Conn.Own != nil {
		return b.sandbox.Held(builtinTraits(t.Declares()))
	}
	if t.Conn.Traits != nil {
		return *t.Conn.Traits
	}
	if t.far != nil && t.Conn.Trusted {
		return t.far.Traits
	}
	open := jsontext.IsTrue(jsontext.Member(t.Annotations, "openWorldHint"))
	traits := approve.Traits{Assumed: approve.Exposed | approve.AllEffects}
	switch {
	case t.OnlyReads():
		traits = approve.Traits{Labels: approve.Reads, By: "annotations"}
	case t.Conn.Trusted:
		traits = approve.Traits{Assumed: approve.Reads | approve.Writes | approve.Runs, By: "annotations"}
	}
	if open {
		traits.Labels |= approve.Untrusted | approve.Sends
	}
	return traits
}

// count returns traits as --egress uses them: if calls may be stopped, assumed labels count too.
func count(gate *approve.Gate, t approve.Traits) approve.Traits {
	if gate.Egress <= approve.EgressAsk {
		t.Labels |= t.Assumed & (approve.Exposed | approve.Sends)
	}
	return t
}

// label sets the traits of all tools: from label rules of policies, else from Toolbox.traits. Resources
// and prompts of a server get the labels of all its tools, or of the tool that it could have.
func (b *Toolbox) label() {
	gate := b.inv.Gate
	for _, c := range b.Conns {
		if len(c.Listed) == 0 {
			none := approve.Call{Server: c.Name, Spelling: c.Spelling}
			c.Exposes = count(gate, gate.TraitsOf(&none, b.traits(&Tool{Conn: c}))).Labels & approve.Exposed
		}
		for _, t := range c.Listed {
			b.labelTool(t)
			c.Exposes |= t.Labels & approve.Exposed
		}
	}
}

func (b *Toolbox) labelTool(t *Tool) {
	call := t.Call(nil)
	t.Traits = count(b.inv.Gate, b.inv.Gate.TraitsOf(&call, b.traits(t)))
}

// unjudged reports whether --egress warn ignores calls of the tool although they may send: its
// effects are unknown.
func (t *Tool) unjudged() bool {
	return t.Assumed.Has(approve.Sends) && !t.Labels.Has(approve.Sends)
}

// Unjudged lists, once, the servers that --egress cannot judge, before the first call of one of
// their tools; else it is "".
func (b *Toolbox) Unjudged(t *Tool) (what string) {
	if b.inv == nil || b.inv.Gate.Egress != approve.EgressWarn || !t.unjudged() {
		return ""
	}
	b.warned.Do(func() {
		var names []string
		for _, c := range b.Conns {
			if slices.ContainsFunc(b.All(), func(t *Tool) bool { return t.Conn == c && t.unjudged() }) {
				names = append(names, strconv.Quote(c.Name))
			}
		}
		what = "--egress cannot judge the data sent by " + config.JoinWords(names) +
			", because the effects of its tools are not declared; --list-tools -v prints the lines for a policy, and --egress ask counts them as able to do everything"
	})
	return what
}
