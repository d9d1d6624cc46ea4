package toolbox

import (
	"cmp"
	"strconv"

	"toolpipe/approve"
	"toolpipe/run/failure"
	"toolpipe/run/lock"
	"toolpipe/stream/text/jsontext"
)

// checkServers gives the error of a required server that failed. Only if there is
// none it warns about the optional servers: when a required server fails, those
// that are still starting are cancelled, which is no failure of theirs.
// --list-servers shows all of them before it fails.
func (b *Toolbox) checkServers() error {
	for _, c := range b.Conns {
		switch {
		case c.Err == nil || c.Optional:
		case failure.IsCancelled(c.Err):
			return c.Err
		case !b.inv.Config.ShowsServers():
			return c.Failure()
		}
	}
	for _, c := range b.Conns {
		if c.Err != nil && c.Optional && !b.inv.Config.ShowsServers() && !failure.IsCancelled(c.Err) {
			b.inv.Warn("server_failed", c.Name, c.Failure().Message)
		}
	}
	return nil
}

// UseServers puts the tools of the connected servers under the rules that flags,
// policy and lock make.
func (b *Toolbox) UseServers() error {
	if err := b.checkServers(); err != nil {
		return err
	}
	c := b.inv.Config
	b.index(c.Tools, c.ExcludeTools, b.inv.Warn)
	warnings, err := b.inv.Gate.Check(b.known())
	if err != nil {
		return failure.Usage("%v", err)
	}
	for _, w := range warnings {
		b.inv.Warn("pattern_unused", "", w)
	}
	for _, t := range b.All {
		t.Withheld = b.Denies(t)
	}
	b.label()
	if b.locked == nil {
		return nil
	}
	diff := lock.Diff(b.inUse(""), b.Locked(b.locked))
	if diff == "" {
		return nil
	}
	return &failure.Error{Status: failure.StatusServer, Message: "the tools are not those of " + strconv.Quote(c.ToolsLock) + ":" + diff, Hints: []string{lock.ReviewHint}}
}

// label gives all tools their labels: those of the policies' label rules, else those
// that the user's config has for the server or that are built in, else what the
// server hints. Of hints only one that adds labels counts, since servers are not
// trusted. The resources and prompts of a server have the labels of the results of
// all its tools, or those that its tools would have if there are none.
func (b *Toolbox) label() {
	gate := b.inv.Gate
	for _, c := range b.Conns {
		own := *cmp.Or(c.Labels, new(approve.Labels))
		if len(c.Listed) == 0 {
			c.Exposes = gate.Labels(&approve.Call{Server: c.Name, Spelling: c.Spelling}, own) & approve.Exposed
		}
		for _, t := range c.Listed {
			labels := own
			switch {
			case c.Local != nil && (c.Name == "notes" && !t.ReadOnly || t.Name == "write_file"): // its result holds no text of a note or a file
				labels = 0
			case c.Local != nil && c.Name == "processes" && t.ReadOnly: // it reads what a program has written, and sends nothing
				labels = approve.Exposed
			case c.Labels == nil && jsontext.IsTrue(jsontext.Member(t.Annotations, "openWorldHint")):
				labels = approve.Untrusted | approve.Sends
			}
			call := t.Call(nil)
			t.Labels = gate.Labels(&call, labels)
			c.Exposes |= t.Labels & approve.Exposed
		}
	}
}
