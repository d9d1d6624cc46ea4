package run

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
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// A laterStart is the start of a server that --start puts off until the first
// request is under way or one of its tools is called. Until then the lock tells its
// tools. What the server itself says is compared with the lock before anything is
// sent that is meant for it.
type laterStart struct {
	instructions string // the instructions of the server, as the lock has them
	begin        func() // starts the server, the first time it is called
	done         chan struct{}
	started      *connection // the server as it is; set when done is closed

	check   func(*connection) *failure.Error
	checked sync.Once
	failed  *failure.Error // why the server is not used; set by checked
}

// laterStarts are the starts that go on beside the run.
type laterStarts struct {
	cancel context.CancelFunc // nil: there are none

	mu    sync.Mutex
	over  bool
	going sync.WaitGroup
}

// begin calls f in a goroutine of its own, unless the run is over.
func (s *laterStarts) begin(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		goroutine.StartIn(&s.going, f)
	}
	return !s.over
}

// end cancels what goes on and waits for it. Nothing begins after it.
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

// pin finds in the lock the tools of the servers that start later. A lock from which a
// tool cannot be offered was not written by --tools-lock-update, and is refused.
func (p *plan) pin() error {
	p.pinned = map[string][]lockedItem{}
	for _, title := range slices.Sorted(maps.Keys(p.locked)) { // each run sends the same list of tools
		l := p.locked[title]
		server := l.text("server")
		switch {
		case l.list == "servers":
		case server == "" || l.name != mcp.OfferedName(server, l.text("tool")):
			return failure.UsageError([]string{"--tools-lock-update writes the file anew"}, "--start %s: %q has no whole definition of the tool %q", p.cfg.Start, p.cfg.ToolsLock, l.name)
		default:
			p.pinned[server] = append(p.pinned[server], l)
		}
	}
	return nil
}

// startsFirst tells whether the run waits for the start of the server s. A server
// in this process costs no time, and of one that the lock does not have nobody
// knows the tools before it has started.
func (p *plan) startsFirst(s config.Server) bool {
	return s.Local != nil || len(p.pinned[s.Name]) == 0
}

// putOff gives the servers that start later the tools that the lock has of them, and
// returns the names of all other servers. ctx is the context of the whole run.
func (k *connector) putOff(ctx context.Context) (first []string) {
	for _, c := range k.box.conns {
		if k.startsFirst(c.Server) {
			first = append(first, c.Name)
			continue
		}
		if k.box.starts.cancel == nil {
			ctx, k.box.starts.cancel = context.WithCancel(ctx)
		}
		for _, l := range k.pinned[c.Name] {
			if t := c.add(l.definition()); t != nil {
				t.pinned = &l
			}
		}
		c.later = k.startLater(ctx, c)
		inLock := k.locked[lockedItem{list: "servers", name: c.Name}.title()]
		c.later.instructions = inLock.text("instructions")
		if k.cfg.Start == "beside" && (k.cfg.Mode == config.Answer || k.cfg.Mode == config.Serve) {
			c.later.begin()
		}
	}
	return first
}

func (k *connector) startLater(ctx context.Context, c *connection) *laterStart {
	l := &laterStart{done: make(chan struct{}), check: func(started *connection) *failure.Error { return k.checkStarted(c, started) }}
	l.begin = sync.OnceFunc(func() {
		l.started = &connection{Server: c.Server, err: errors.New("a defect of toolpipe")} // where the start panics
		begun := k.box.starts.begin(func() {
			defer close(l.done)
			started := &connection{Server: c.Server}
			started.Optional = true // its failure does not end the run, so that no hint need say how to prevent that
			started.start(ctx, k.cfg.Processes, k.hooks(&c.Server))
			l.started = started
		})
		if !begun {
			l.started.err = context.Canceled
			close(l.done)
		}
	})
	return l
}

// definition is the tool that a locked item is about.
func (l lockedItem) definition() wire.Tool {
	return wire.Tool{
		Name: l.text("tool"), Title: l.text("title"), Description: l.text("description"),
		InputSchema: l.member("schema"), OutputSchema: l.member("output_schema"), Annotations: l.member("annotations"), Meta: l.member("meta"),
		ReadOnly: jsontext.IsTrue(jsontext.Member(l.member("annotations"), "readOnlyHint")),
	}
}

// use is the session of the server, which starts now if it was to start later; nil if
// it did not start.
func (c *connection) use(ctx context.Context) (*mcp.Session, error) {
	if c.later == nil {
		return c.session, nil
	}
	return c.later.await(ctx)
}

// await starts the server if that was not done before, waits for it and gives its
// session. The error is a *wire.NoReplyError: nothing was sent to the server.
func (l *laterStart) await(ctx context.Context) (*mcp.Session, error) {
	l.begin()
	select {
	case <-l.done:
	case <-ctx.Done():
		return nil, &wire.NoReplyError{Message: "not sent: " + context.Cause(ctx).Error(), Cause: context.Cause(ctx)}
	}
	l.checked.Do(func() { l.failed = l.check(l.started) })
	if f := l.failed; f != nil {
		what, _, _ := strings.Cut(f.Message, "\n") // the further lines hold words of the server, which only the user gets
		return nil, &wire.NoReplyError{Message: strings.TrimSuffix(what, ":"), Cause: f}
	}
	return l.started.session, nil
}

// session is the session if there is one by now; nil else.
func (l *laterStart) session() *mcp.Session {
	select {
	case <-l.done:
		return l.started.session
	default:
		return nil
	}
}

// checkStarted returns why the server c must not be used as it has started, and warns
// of that; nil if it may be used.
func (k *connector) checkStarted(c, started *connection) *failure.Error {
	if started.err != nil {
		f := started.failure()
		if !failure.IsCancelled(started.err) {
			c.warnOfLogin(k.Emit, started.err, false)
			k.warn("server_lost", c.Name, f.Message)
		}
		return f
	}
	diff := lockDiff(k.inUse(c.Name), k.box.comparable(started))
	if diff == "" {
		return nil
	}
	k.box.starts.begin(func() { started.session.Close() })
	f := &failure.Error{Status: failure.StatusServer, Hints: []string{reviewLock},
		Message: "server " + strconv.Quote(c.Name) + ": its tools are not those of " + strconv.Quote(k.cfg.ToolsLock) + ", so it is not used:" + diff}
	k.warn("lock_mismatch", c.Name, f.Message)
	return f
}

// comparable are the items of a server that has started, for the comparison with the
// lock: without the tools that this run does not offer because of globs, of rules or
// of another server's tool with the same name, which the lock need not have.
func (b *toolbox) comparable(started *connection) (all []lockedItem) {
	if l := started.locked(); !l.isEmpty() {
		all = append(all, l)
	}
	for _, t := range started.tools {
		known := b.byName[t.name]
		if t.passes(b.include, b.exclude) && (known != nil && known.conn.Name == t.conn.Name || known == nil && !b.denies(t)) {
			all = append(all, t.locked())
		}
	}
	return all
}
