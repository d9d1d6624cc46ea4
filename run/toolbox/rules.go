package toolbox

import (
	"strconv"

	"toolpipe/run/event"
	"toolpipe/run/failure"
)

// checkServers returns the error of a required server that failed. Only without such an error it
// warns about optional servers: a failing required server cancels those that are still starting,
// which is not their failure. --list servers lists all of them before it fails.
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

// Judged returns the rules that can never decide about a tool of the servers. fires says whether
// the egress rule can ever apply to a tool; why says why not.
func (b *Toolbox) Judged() (idle []string, why string, fires bool) {
	known := b.known()
	why, fires = b.inv.Gate.Fires(known)
	return b.inv.Gate.Idle(known), why, fires
}

// UseServers applies the rules of flags, policy and lock to the tools of the connected servers.
func (b *Toolbox) UseServers() error {
	if err := b.checkServers(); err != nil {
		return err
	}
	c := b.inv.Config
	b.index(c.Tools, c.ExcludeTools, b.inv.Warn)
	b.label()
	warnings, err := b.inv.Gate.Check(b.known())
	if err != nil {
		return failure.Usage("%v", err)
	}
	for _, w := range warnings {
		b.inv.Emit(&event.Warning{Code: w.Code, Message: w.Message, Grave: w.Grave})
	}
	if b.sandbox != nil && !c.ReplayTools {
		if err := b.makeSandbox(b.sandbox, b.sandbox.Root(), ""); err != nil {
			return err
		}
	}
	for _, t := range b.All() {
		t.Withheld = b.Denies(t)
	}
	if b.locked.items == nil {
		return nil
	}
	return b.lockError("the tools", lockDiff(b.inUse(""), b.Locked(b.locked.items)))
}

// lockError is the error for a difference between the lock and what the servers have now.
func (b *Toolbox) lockError(what, diff string) error {
	if diff == "" {
		return nil
	}
	return &failure.Error{Status: failure.StatusServer, Message: what + " differ from " + what + " of " + strconv.Quote(b.inv.Config.ToolsLock) + ":" + diff, Hints: []string{lockReviewHint}}
}
