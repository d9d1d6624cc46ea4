package run

import (
	"cmp"
	"slices"

	"toolpipe/mcp"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/stream/text/jsontext"
)

// leaveOut does without the servers of which --tools leaves no tool, as the lock
// tells.
func (p *plan) leaveOut() {
	if len(p.cfg.Tools) == 0 || p.cfg.Prompt != "" || len(p.cfg.Resources) > 0 {
		return
	}
	known, chosen := map[string]bool{}, map[string]bool{} // the servers of which the lock has tools, and those of which it has one to offer
	for _, l := range p.locked {
		server := l.text("server")
		known[server] = true
		chosen[server] = chosen[server] || p.chooses(l)
	}
	p.servers = slices.DeleteFunc(p.servers, func(s config.Server) bool {
		out := known[s.Name] && !chosen[s.Name]
		if out {
			p.unused = append(p.unused, s)
		}
		return out
	})
}

// chooses tells whether --tools and --exclude-tools leave a locked tool.
func (p *plan) chooses(l lockedItem) bool {
	server := config.Server{Spec: mcp.Spec{Name: l.text("server")}}
	if s := config.FindServer(p.servers, server.Name); s != nil {
		server = *s
	}
	t := &tool{Tool: wire.Tool{Name: l.text("tool")}, conn: &connection{Server: server}, name: l.name}
	return t.passes(p.cfg.Tools, p.cfg.ExcludeTools)
}

// inUse are the locked items that this run is to offer: neither the tools that
// flags leave out, nor those of servers that are not used. of is the server that they
// are of; "" is any.
func (p *plan) inUse(of string) map[string]lockedItem {
	use := map[string]lockedItem{}
	for title, l := range p.locked {
		server := cmp.Or(l.text("server"), l.name)
		if of != "" && of != server {
			continue
		}
		if config.FindServer(p.unused, server) == nil && (l.list == "servers" || p.chooses(l)) {
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
func (p *plan) checkUsable() error {
	for i := range p.servers {
		if s := &p.servers[i]; s.Unusable != nil && !s.Optional && !p.cfg.ShowsServers() && p.startsFirst(*s) {
			return (&connection{Server: *s, err: s.Unusable}).failure()
		}
	}
	return nil
}
