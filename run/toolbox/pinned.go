package toolbox

import (
	"slices"

	"toolpipe/mcp"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/servers"
)

// locked is what the lock says; the zero value is that of no lock.
type locked struct {
	items     map[string]LockItem   // by their titles; nil: there is no lock
	tools     map[string][]LockItem // of the servers that start later, by the names of these
	revisions map[string]string     // that servers spoke, by their names
}

// ReadLock reads the lock, if the invocation has one, and does without the servers that it
// shows not to be needed. The error is also that of a required server that cannot be
// started as it is configured. All servers must be known.
func (b *Toolbox) ReadLock() (err error) {
	c := b.inv.Config
	if c.ToolsLock != "" && c.Mode != config.UpdateLock {
		if b.locked.items, b.locked.revisions, err = readLock(c, c.ToolsLock, b.inv.Warn); err == nil && c.StartsLater() {
			err = b.pin()
		}
		if err != nil {
			return err
		}
	}
	b.leaveOut()
	return b.checkUsable()
}

// Locked are the items that a lock of these servers has, in the order of the file. A
// tool that the rules of this run deny is left out, unless it is in the lock known.
func (b *Toolbox) Locked(known map[string]LockItem) []LockItem {
	var all []LockItem
	for _, c := range b.Conns {
		if l := c.locked(); !l.IsEmpty() {
			all = append(all, l)
		}
	}
	for _, t := range b.All() {
		if _, is := known[t.ModelName]; is || !t.Withheld {
			all = append(all, t.Locked())
		}
	}
	slices.SortFunc(all, LockItem.Compare)
	return all
}

// Revisions are those that the servers speak, by their names, but for the servers of
// toolpipe itself and those behind one, of which they are not known.
func (b *Toolbox) Revisions() map[string]string {
	all := map[string]string{}
	for _, c := range b.Conns {
		if c.Session != nil && c.Local == nil && c.far == nil {
			all[c.Name] = c.Session.Protocol()
		}
	}
	return all
}

// leaveOut does without the servers of which --tools leaves no tool, as the lock
// tells.
func (b *Toolbox) leaveOut() {
	if len(b.inv.Config.Tools) == 0 || b.inv.Config.Prompt != "" || len(b.inv.Config.Resources) > 0 {
		return
	}
	known, chosen := map[string]bool{}, map[string]bool{} // the servers of which the lock has tools, and those of which it has one to offer
	for _, l := range b.locked.items {
		server := l.Text("server")
		known[server] = true
		chosen[server] = chosen[server] || b.chooses(l)
	}
	b.inv.Servers = slices.DeleteFunc(b.inv.Servers, func(s servers.Server) bool {
		out := known[s.Name] && !chosen[s.Name]
		if out {
			b.inv.Unused = append(b.inv.Unused, s)
		}
		return out
	})
}

// chooses reports whether --tools and --exclude-tools leave a locked tool.
func (b *Toolbox) chooses(l LockItem) bool {
	server := servers.Server{Spec: mcp.Spec{Name: l.Text("server")}}
	if s := servers.Find(b.inv.Servers, server.Name); s != nil {
		server = *s
	}
	t := &Tool{Tool: wire.Tool{Name: l.Text("tool")}, Conn: &Connection{Server: server}, ModelName: l.Name}
	return t.passes(b.inv.Config.Tools, b.inv.Config.ExcludeTools)
}

// inUse are the locked items that this run is to offer: neither the tools that
// flags leave out, nor those of servers that are not used. of is the server that they
// are of; "" is any.
func (b *Toolbox) inUse(of string) map[string]LockItem {
	use := map[string]LockItem{}
	for title, l := range b.locked.items {
		server := l.Server()
		if of != "" && of != server {
			continue
		}
		if servers.Find(b.inv.Unused, server) == nil && (l.List == "servers" || b.chooses(l) && !b.hides(new(l.Definition()))) {
			use[title] = l
		}
	}
	return use
}

// checkUsable gives the error of a required server that cannot be started as it
// is configured, before anything is started. --list servers shows all of them; of one
// that starts later the calls fail.
func (b *Toolbox) checkUsable() error {
	for i := range b.inv.Servers {
		if s := &b.inv.Servers[i]; s.Unusable != nil && !s.Optional && !b.inv.Config.ShowsServers() && b.startsFirst(*s) {
			return (&Connection{Server: *s, firstStart: firstStart{Err: s.Unusable}}).Failure()
		}
	}
	return nil
}
