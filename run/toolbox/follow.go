package toolbox

import (
	"context"
	"slices"
	"strconv"
	"time"

	"toolpipe/mcp"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
)

const (
	relistLimit = 30 * time.Second // for a server to list its tools again

	// announceDelay is how long the announcement of a changed list may come after the result of
	// the call that changed it. The Go SDK sends it 10 ms late (notificationDelay in
	// modelcontextprotocol/go-sdk).
	announceDelay = 25 * time.Millisecond
)

// Follows reports whether the tools of a server follow changes of its list. The server must be
// trusted, and no lock may pin its tools. A replay gets no announcements.
func (b *Toolbox) Follows(c *Connection) bool {
	return c.Trusted && c.Local == nil && c.far == nil && b.inv.Config.ToolsLock == "" && !b.inv.Config.ReplayTools
}

// Follow updates the tools of servers that announced a change, after these calls and before the
// next request, and reports whether tools changed. locked calls a function while no verdict is
// taken.
func (b *Toolbox) Follow(ctx context.Context, calls []stream.Call, locked func(func())) (changed bool) {
	session := func(c *Connection) *mcp.Session {
		if s := c.current(); s != nil && b.Follows(c) {
			return s
		}
		return nil
	}
	mayCome := func(call stream.Call) bool {
		t := b.Tool(call.Name)
		if t == nil {
			return false
		}
		s := session(t.Conn)
		return s != nil && s.AnnouncesTools() && !s.ToolsAnnounced()
	}
	if slices.ContainsFunc(calls, mayCome) {
		goroutine.Await(ctx.Done(), announceDelay)
	}
	for _, c := range b.Conns {
		if s := session(c); s != nil && s.ToolsAnnounced() {
			changed = b.Relist(ctx, c, locked) || changed
		}
	}
	return changed
}

// Relist replaces the tools of a server by its present list, under the same rules, and reports
// whether tools changed. A tool with a changed definition could mislead a model that knows the old
// one. It is removed, and the user is warned. locked calls a function while no verdict is taken.
func (b *Toolbox) Relist(ctx context.Context, c *Connection, locked func(func())) bool {
	ctx, cancel := context.WithTimeout(ctx, relistLimit)
	defer cancel()
	session, err := c.Use(ctx)
	var now []wire.Tool
	if err == nil && session != nil {
		now, err = session.Relist(ctx)
	}
	if err != nil || session == nil {
		return false // keep the offered tools
	}
	before := b.All()
	var changed []string
	locked(func() { changed = b.replace(c, now) })
	if len(changed) > 0 {
		b.inv.Warn("tools_changed", c.Name, "server "+strconv.Quote(c.Name)+" has changed definitions of tools, which are not offered until the next start: "+config.JoinFew(changed))
	}
	return !slices.Equal(before, b.All())
}

// replace replaces the tools of a server by its new list. A new tool gets the same rules as the
// others; a missing tool is withdrawn. A tool with a changed definition is withdrawn until the next
// start, and listed in changed.
func (b *Toolbox) replace(c *Connection, now []wire.Tool) (changed []string) {
	listed := map[string]bool{}
	for i := range now {
		listed[now[i].Name] = true
		if t := b.update(c, &now[i]); t != nil {
			changed = append(changed, t.ModelName)
		}
	}
	for _, t := range c.Listed {
		if !listed[t.Name] {
			b.withdraw(t)
		}
	}
	return changed
}

// update processes one tool of a server's new list, and returns it if its definition has changed.
func (b *Toolbox) update(c *Connection, now *wire.Tool) *Tool {
	i := slices.IndexFunc(c.Listed, func(t *Tool) bool { return t.Name == now.Name })
	if i >= 0 && (c.Listed[i].changed || c.newTool(*now).Locked().Digest() != c.Listed[i].Locked().Digest()) {
		t := c.Listed[i]
		again := t.changed
		t.changed = true
		b.withdraw(t)
		if again {
			return nil
		}
		return t
	}
	var t *Tool
	if i >= 0 {
		t = c.Listed[i]
	} else if t = c.add(*now); t != nil {
		b.labelTool(t)
		t.Withheld = b.Denies(t)
	}
	if t != nil && t.passes(b.inv.Config.Tools, b.inv.Config.ExcludeTools) && b.Tool(t.ModelName) == nil && !b.hides(&t.Tool) {
		b.Offer(t)
	}
	return nil
}
