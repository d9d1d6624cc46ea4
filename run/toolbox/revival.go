package toolbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"toolpipe/mcp"
	"toolpipe/mcp/wire"
	"toolpipe/run/failure"
	"toolpipe/run/servers"
)

// A revival restarts a command server, or reconnects to a socket, at the first use after each loss.
// If the tools differ from before, the server is not used any more.
type revival struct {
	start func(lost *mcp.Session) *laterStart
	warn  func(code, message string)

	mu    sync.Mutex
	next  *laterStart // the last start; nil before the first loss
	tries int         // starts since the last answered call
	began time.Time   // the last start
	said  bool        // the last loss was reported
}

// A server that dies at every call must not be started for each call without end.
const (
	mostTries  = 3           // starts in a row without an answered call
	triesPause = time.Minute // after them, before each further start
)

// revives reports whether a server is started again after a loss.
func revives(s *servers.Server) bool { return len(s.Command) > 0 || s.AtSocket() }

// reviveLost makes lost servers restart. ctx is the context of their starts.
func (b *Toolbox) reviveLost(ctx context.Context) {
	for _, c := range b.Conns {
		if !revives(&c.Server) {
			continue
		}
		c.again = &revival{warn: func(code, message string) { b.inv.Warn(code, c.Name, message) }}
		c.again.start = func(lost *mcp.Session) *laterStart {
			loss := fmt.Sprintf("server %q was lost", c.Name)
			if lost != nil {
				loss = lost.Lost().Error()
				b.starts.begin(func() { lost.Close() })
			}
			for _, each := range b.sharing(c) {
				defer b.inv.Restarting(each.Name)
			}
			l := b.startLater(ctx, c)
			l.check = func(started *Connection) *failure.Error {
				f := b.checkStarted(c, started)
				if f == nil {
					c.again.warn("server_restarted", loss+"; it was started again")
				}
				return f
			}
			return l
		}
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

func (c *Connection) Answered() {
	if r := c.again; r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tries = 0
	}
}

// use returns the session to use. Before the first loss it is first, with the error of its start. A
// failed start is tried again.
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
	if last, err = r.restart(last, session, err); err != nil {
		return nil, err
	}
	return last.await(ctx)
}

// restart starts the server again, unless another call has done so since last. Too many starts
// without an answered call are an error; then nothing was sent. session is the lost session; nil if
// the last start failed with err.
func (r *revival) restart(last *laterStart, session *mcp.Session, err error) (*laterStart, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next != last {
		return r.next, nil
	}
	if left := triesPause - time.Since(r.began); r.tries >= mostTries && left > 0 {
		if session != nil {
			err = session.Lost()
		}
		message := fmt.Sprintf("%v; it was started %d times and answered no call, so it is not started again for %v", err, r.tries, left.Round(time.Second))
		if !r.said {
			r.said = true
			r.warn("server_lost", message)
		}
		return nil, &wire.NoReplyError{Message: message}
	}
	r.tries, r.began, r.said = r.tries+1, time.Now(), false
	r.next = r.start(session)
	return r.next, nil
}

// settle warns if the server is lost and no call has restarted it. session is the one before the
// first loss, or later its start; both may be nil.
func (r *revival) settle(session *mcp.Session, later *laterStart) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if later = cmp.Or(r.next, later); later != nil {
		session = later.session()
	}
	if session == nil || r.said || later != nil && later.refused() {
		return
	}
	if err := session.Lost(); err != nil {
		r.said = true
		r.warn("server_lost", err.Error())
	}
}
