package toolbox

import (
	"cmp"
	"slices"
	"strings"

	"toolpipe/mcp"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/servers"
)

// locked is the content of the lock; the zero value means no lock.
type locked struct {
	items     map[string]LockItem   // by title; nil: there is no lock
	tools     map[string][]LockItem // of servers that start later, by server name
	revisions map[string]string     // protocol revisions, by server name
}

// ReadLock reads the lock, if there is one, and drops servers that are not needed according to it.
// The error may also be about a required server that cannot be started with its configuration. All
// servers must be known.
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

// Locked are the items for a lock of these servers, in the order of the file. A tool that the rules
// of this run deny is omitted, unless it is in the lock known.
func (b *Toolbox) Locked(known map[string]LockItem) (all []LockItem) {
	for _, c := range b.Conns {
		all = append(all, c.lockItems(b.All(), func(t *Tool) bool {
			_, is := known[t.ModelName]
			return is || !t.Withheld
		})...)
	}
	slices.SortFunc(all, func(a, b LockItem) int {
		return cmp.Or(strings.Compare(a.List, b.List), strings.Compare(a.Name, b.Name))
	})
	return all
}

// lockItems are the items for the instructions of c, and for its tools that keep accepts.
func (c *Connection) lockItems(tools []*Tool, keep func(*Tool) bool) (all []LockItem) {
	if text := c.InstructionText(); text != "" {
		all = append(all, lockInstructions(c.Name, text))
	}
	for _, t := range tools {
		if t.Conn == c && !t.Reader && keep(t) {
			all = append(all, t.Locked())
		}
	}
	return all
}

// Revisions are the protocol revisions of the servers by name, except built-in servers and servers
// of a remote toolpipe, for which they are unknown.
func (b *Toolbox) Revisions() map[string]string {
	all := map[string]string{}
	for _, c := range b.Conns {
		if c.Session != nil && c.Local == nil && c.far == nil {
			all[c.Name] = c.Session.Protocol()
		}
	}
	return all
}

// leaveOut drops a server if the lock has tools of it and --tools selects none of them.
func (b *Toolbox) leaveOut() {
	if len(b.inv.Config.Tools) == 0 || b.inv.Config.AsksServers() {
		return
	}
	known, chosen := map[string]bool{}, map[string]bool{} // servers with tools in the lock, and servers with a tool to offer
	for _, l := range b.locked.items {
		if l.List != "tools" {
			continue
		}
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

// chooses reports whether --tools and --exclude-tools select a locked tool.
func (b *Toolbox) chooses(l LockItem) bool {
	server := servers.Server{Spec: mcp.Spec{Name: l.Text("server")}}
	if s := servers.Find(b.inv.Servers, server.Name); s != nil {
		server = *s
	}
	t := &Tool{Tool: wire.Tool{Name: l.Text("tool")}, Conn: &Connection{Server: server}, ModelName: l.Name}
	return t.passes(b.inv.Config.Tools, b.inv.Config.ExcludeTools)
}

// inUse are the locked tools and instructions that this run offers: no tools that flags exclude, and
// no items of unused servers. of limits them to one server; "" is any.
func (b *Toolbox) inUse(of string) map[string]LockItem {
	use := map[string]LockItem{}
	for title, l := range b.locked.items {
		server := cmp.Or(l.Text("server"), l.Name)
		if of != "" && of != server || l.List == "skills" {
			continue
		}
		if servers.Find(b.inv.Unused, server) == nil && (l.List == "servers" || b.chooses(l) && !b.hides(new(l.Definition()))) {
			use[title] = l
		}
	}
	return use
}

// checkUsable returns the error of a required server with an unusable configuration, before anything
// starts. --list servers lists such servers, and a server that starts later only fails its calls.
func (b *Toolbox) checkUsable() error {
	for i := range b.inv.Servers {
		if s := &b.inv.Servers[i]; s.Unusable != nil && !s.Optional && !b.inv.Config.ShowsServers() && b.startsFirst(*s) {
			return (&Connection{Server: *s, firstStart: firstStart{Err: s.Unusable}}).Failure()
		}
	}
	return nil
}
