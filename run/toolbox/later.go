package toolbox

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"toolpipe/mcp"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/servers"
	"toolpipe/stream/goroutine"
)

// A laterStart is the start of a server that --start delays until the first request is under way or
// one of its tools is called. Until then its tools come from the lock. The server's answers are
// compared with the lock before any call is sent to it.
type laterStart struct {
	instructions string // instructions from the lock
	begin        func() // starts the server at the first call
	done         chan struct{}
	started      *Connection // the server as started; set when done is closed

	check   func(*Connection) *failure.Error
	checked sync.Once
	failed  *failure.Error // why the server is not used; set by checked
}

// laterStarts are the starts that run in parallel to the run.
type laterStarts struct {
	cancel context.CancelFunc // ends their context; nil: none

	mu    sync.Mutex
	over  bool
	going sync.WaitGroup
}

// begin calls f in a goroutine, unless the run is over.
func (s *laterStarts) begin(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		goroutine.StartIn(&s.going, f)
	}
	return !s.over
}

// end cancels the running starts and waits for them. No start begins after it.
func (s *laterStarts) end() {
	if s.cancel == nil {
		return
	}
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.cancel()
	s.going.Wait()
}

// pin reads the tools of servers that start later from the lock. A lock with an incomplete tool was
// not written by --tools-lock-update, and is refused.
func (b *Toolbox) pin() error {
	b.locked.tools = map[string][]LockItem{}
	for _, title := range slices.Sorted(maps.Keys(b.locked.items)) { // each run sends the tools in the same order
		l := b.locked.items[title]
		server := l.Text("server")
		switch {
		case l.List != "tools":
		case server == "" || l.Name != mcp.OfferedName(server, l.Text("tool")):
			return failure.UsageError([]string{"--tools-lock-update writes the file anew"}, "--start %s: %q has no complete definition of the tool %q", b.inv.Config.Start, b.inv.Config.ToolsLock, l.Name)
		default:
			b.locked.tools[server] = append(b.locked.tools[server], l)
		}
	}
	return nil
}

// startsFirst reports whether the run waits for the start of s. A server in this process costs no
// time. The tools of a server that is not in the lock are unknown before its start.
func (b *Toolbox) startsFirst(s servers.Server) bool {
	return s.Local != nil || len(b.locked.tools[s.Name]) == 0
}

// putOff gives the servers that start later their tools from the lock, and returns the names of all
// other servers. ctx is the context of their starts.
func (b *Toolbox) putOff(ctx context.Context) (first []string) {
	for _, c := range b.Conns {
		if b.startsFirst(c.Server) {
			first = append(first, c.Name)
			continue
		}
		for _, l := range b.locked.tools[c.Name] {
			if t := c.add(l.Definition()); t != nil {
				t.pinned = &l
			}
		}
		c.later = b.startLater(ctx, c)
		inLock := b.locked.items[lockInstructions(c.Name, "").Title()]
		c.later.instructions = inLock.Text("instructions")
		if b.inv.Config.Start == "beside" && (b.inv.Config.Mode == config.Answer || b.inv.Config.Mode == config.Serve) {
			c.later.begin()
		}
	}
	return first
}

func (b *Toolbox) startLater(ctx context.Context, c *Connection) *laterStart {
	l := &laterStart{done: make(chan struct{}), check: func(started *Connection) *failure.Error { return b.checkStarted(c, started) }}
	l.begin = sync.OnceFunc(func() {
		l.started = &Connection{Server: c.Server, firstStart: firstStart{Err: errors.New("a defect of toolpipe")}} // if the start panics
		begun := b.starts.begin(func() {
			defer close(l.done)
			started := &Connection{Server: c.Server, sandbox: c.sandbox}
			started.Optional = true // its failure does not end the run, so no hint about that is needed
			b.start(ctx, started)
			l.started = started
		})
		if !begun {
			l.started.Err = context.Canceled
			close(l.done)
		}
	})
	return l
}

// await starts the server if necessary, waits for it and returns its session. The error is a
// *wire.NoReplyError: nothing was sent to the server.
func (l *laterStart) await(ctx context.Context) (*mcp.Session, error) {
	l.begin()
	select {
	case <-l.done:
	case <-ctx.Done():
		return nil, &wire.NoReplyError{Message: "not sent: " + context.Cause(ctx).Error(), Cause: context.Cause(ctx)}
	}
	l.checked.Do(func() { l.failed = l.check(l.started) })
	if f := l.failed; f != nil {
		what, _, _ := strings.Cut(f.Message, "\n") // further lines contain words of the server, only for the user
		return nil, &wire.NoReplyError{Message: strings.TrimSuffix(what, ":"), Cause: f}
	}
	return l.started.Session, nil
}

// refused reports whether the server has started but must not be used. It is called after await.
func (l *laterStart) refused() bool { return l.failed != nil && l.started.Err == nil }

// session is the session if the server has started; else nil.
func (l *laterStart) session() *mcp.Session {
	select {
	case <-l.done:
		return l.started.Session
	default:
		return nil
	}
}

// checkStarted says why the started server must not be used, and warns about it; nil if it may be
// used.
func (b *Toolbox) checkStarted(c, started *Connection) *failure.Error {
	if started.Err != nil {
		f := started.Failure()
		if !failure.IsCancelled(started.Err) {
			c.WarnOfLogin(b.inv.Emit, started.Err, false)
			b.inv.Warn("server_lost", c.Name, f.Message)
		}
		return f
	}
	was, is, of := map[string]LockItem{}, []LockItem(nil), "the tools of "+strconv.Quote(b.inv.Config.ToolsLock)
	for _, before := range b.sharing(c) {
		maps.Copy(was, b.inUse(before.Name))
		if b.locked.items == nil {
			for _, l := range before.lockItems(b.All(), func(t *Tool) bool { return !t.Withheld }) {
				was[l.Title()] = l
			}
		}
		if now := started.as(before); now != nil {
			is = append(is, b.comparable(now)...)
		}
	}
	if b.locked.items == nil {
		of = "the tools that were offered"
		is = slices.DeleteFunc(is, func(item LockItem) bool { _, known := was[item.Title()]; return !known })
		if b.Follows(c) { // a tool that is gone is withdrawn when the list is read again
			maps.DeleteFunc(was, func(title string, _ LockItem) bool {
				return !slices.ContainsFunc(is, func(item LockItem) bool { return item.Title() == title })
			})
			started.Session.DoubtTools()
		}
	}
	diff := lockDiff(was, is)
	if diff == "" {
		return nil
	}
	b.starts.begin(func() { started.Session.Close() })
	f := &failure.Error{Status: failure.StatusServer, Hints: []string{lockReviewHint},
		Message: "server " + strconv.Quote(c.Name) + ": its tools are not " + of + ", so it is not used:" + diff}
	b.inv.Warn("lock_mismatch", c.Name, f.Message)
	return f
}

// as finds the server before in a restarted connection c. It is nil if c is a remote toolpipe that
// no longer has the server, or has it with other properties such as another directory.
func (c *Connection) as(before *Connection) *Connection {
	if before.far == nil {
		return c
	}
	behind, _ := farServers(c.Session.About())
	i := slices.Index(behind, *before.far)
	if i < 0 {
		return nil
	}
	return c.part(behind[i])
}

// comparable are the items of a started server that the lock must contain: no tools that this run does
// not offer because of globs, rules or an equal name at another server.
func (b *Toolbox) comparable(started *Connection) []LockItem {
	return started.lockItems(started.Listed, func(t *Tool) bool {
		known := b.Tool(t.ModelName)
		return t.passes(b.inv.Config.Tools, b.inv.Config.ExcludeTools) && !b.hides(&t.Tool) && (known != nil && known.Conn.Name == t.Conn.Name || known == nil && !b.Denies(t))
	})
}
