package toolbox

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"toolpipe/mcp"
	"toolpipe/run/config"
)

// A revival starts a server that is a command again, or connects to a socket again, at the next use after it was lost,
// as often as that happens. So it is behind --serve, where a host would have to start
// everything anew. A server whose tools are others than before is used no more.
type revival struct {
	start func(lost *mcp.Session) *laterStart

	mu   sync.Mutex
	next *laterStart // the last start; nil before the first loss
}

// reviveLost has the servers started again that are lost behind --serve. ctx is the
// context of their starts.
func (b *Toolbox) reviveLost(ctx context.Context) {
	if b.inv.Config.Mode != config.Serve {
		return
	}
	for _, c := range b.Conns {
		if len(c.Command) == 0 && !c.AtSocket() {
			continue
		}
		c.again = &revival{start: func(lost *mcp.Session) *laterStart {
			if lost != nil {
				b.starts.begin(func() { lost.Close() })
			}
			for _, each := range b.sharing(c) {
				defer b.inv.Restarting(each.Name)
			}
			b.inv.Warn("server_restarted", c.Name, "server "+strconv.Quote(c.Name)+" was lost and is started again")
			return b.startLater(ctx, c)
		}}
	}
}

// sharing are the servers that are used over the session of c: c itself or, where it is a
// toolpipe at a socket that has no name of its own, the servers there.
func (b *Toolbox) sharing(c *Connection) []*Connection {
	if !c.Far || c.again == nil {
		return []*Connection{c}
	}
	return slices.DeleteFunc(slices.Clone(b.Conns), func(other *Connection) bool { return other.again != c.again })
}

// last is the last start; nil before the first loss.
func (r *revival) last() *laterStart {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next
}

// use gives the session to use, which is first, with the error of its start, before the
// first loss. A start that failed is tried once more.
func (r *revival) use(ctx context.Context, first *mcp.Session, err error) (*mcp.Session, error) {
	session, last := first, r.last()
	if last != nil {
		session, err = last.await(ctx)
	}
	switch {
	case session != nil && session.Lost() == nil, ctx.Err() != nil:
		return session, err
	case last == nil && session == nil, last != nil && last.refused():
		return session, err
	}
	r.mu.Lock()
	if r.next == last { // else another call has started it
		r.next = r.start(session)
	}
	last = r.next
	r.mu.Unlock()
	return last.await(ctx)
}

// offeredOf are the items that a lock would have of a server, by their titles.
func (b *Toolbox) offeredOf(c *Connection) map[string]LockItem {
	was := map[string]LockItem{}
	if l := c.locked(); !l.IsEmpty() {
		was[l.Title()] = l
	}
	for _, t := range b.All() {
		if l := t.Locked(); t.Conn == c && !t.Withheld {
			was[l.Title()] = l
		}
	}
	return was
}
