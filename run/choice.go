package run

import (
	"cmp"
	"slices"

	"toolpipe/mcp"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/stream/jsontext"
)

// leaveOut does without the servers of which --tools leaves no tool, as the lock
// tells.
func (r *runner) leaveOut() {
	if len(r.cfg.Tools) == 0 || r.cfg.Prompt != "" || len(r.cfg.Resources) > 0 {
		return
	}
	known, chosen := map[string]bool{}, map[string]bool{} // the servers of which the lock has tools, and those of which it has one to offer
	for _, l := range r.locked {
		server := l.text("server")
		known[server] = true
		chosen[server] = chosen[server] || r.chooses(l)
	}
	r.servers = slices.DeleteFunc(r.servers, func(s config.Server) bool {
		out := known[s.Name] && !chosen[s.Name]
		if out {
			r.unused = append(r.unused, s)
		}
		return out
	})
}

// chooses tells whether --tools and --exclude-tools leave a locked tool.
func (r *runner) chooses(l lockedItem) bool {
	server := config.Server{Spec: mcp.Spec{Name: l.text("server")}}
	if s := config.FindServer(r.servers, server.Name); s != nil {
		server = *s
	}
	t := &tool{Tool: wire.Tool{Name: l.text("tool")}, conn: &connection{Server: server}, name: l.name}
	return t.passes(r.cfg.Tools, r.cfg.ExcludeTools)
}

// inUse are the locked items that this run is to offer: neither the tools that
// flags leave out, nor those of servers that are not used. of is the server that they
// are of; "" is any.
func (r *runner) inUse(of string) map[string]lockedItem {
	use := map[string]lockedItem{}
	for title, l := range r.locked {
		server := cmp.Or(l.text("server"), l.name)
		if of != "" && of != server {
			continue
		}
		if config.FindServer(r.unused, server) == nil && (l.list == "servers" || r.chooses(l)) {
			use[title] = l
		}
	}
	return use
}

// text is a member of a locked item that is a string.
func (l lockedItem) text(key string) string { return jsontext.Text(l.member(key)) }

// checkUsable gives the error of a required server that cannot be started as it
// is configured, before anything is started. --list-servers shows all of them; of one
// that starts later the calls fail.
func (r *runner) checkUsable() error {
	for i := range r.servers {
		if s := &r.servers[i]; s.Unusable != nil && !s.Optional && !r.cfg.ShowsServers() && r.startsFirst(*s) {
			return (&connection{Server: *s, err: s.Unusable}).failure()
		}
	}
	return nil
}
