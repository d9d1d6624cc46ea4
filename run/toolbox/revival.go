package toolbox

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"toolpipe/mcp"
	"toolpipe/run/config"
)

// A revival restarts a command server, or reconnects to a socket, at the first use after each loss.
// It is used with --serve, because otherwise the host would have to restart everything. If the
// tools differ from before, the server is not used any more.
type revival struct {
	start func(lost *mcp.Session) *laterStart

	mu   sync.Mutex
	next *laterStart // the last start; nil before the first loss
}

// reviveLost makes lost servers restart with --serve. ctx is the context of their starts.
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

// sharing are the servers that share the session of c: c itself, or all servers of an unnamed
// remote toolpipe.
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

// use returns the session to use. Before the first loss it is first, with the error of its start. A
// failed start is tried once more.
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
	if r.next == last { // otherwise another call has started it
		r.next = r.start(session)
	}
	last = r.next
	r.mu.Unlock()
	return last.await(ctx)
}
