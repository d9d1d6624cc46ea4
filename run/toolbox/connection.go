package toolbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/lock"
	"toolpipe/run/sandbox"
	"toolpipe/run/servers"
	"toolpipe/stream/goroutine"
)

// A Connection is a server and its session.
type Connection struct {
	servers.Server
	firstStart
	again   *revival       // nil: it is not started again after it was lost
	Listed  []*Tool        // its tools, but for those that its globs leave out
	Exposes approve.Labels // of its resources and prompts

	sandbox     *sandbox.Sandbox // of its program; nil: it has none
	later       *laterStart      // nil: it starts with the run
	slots       chan struct{}    // holds the calls that run at once; nil: no limit
	loginWarned sync.Map         // of which warnings about its login were given
}

// A firstStart is what came of the start of a server with the run.
type firstStart struct {
	Session *mcp.Session // nil: it did not start, or starts later
	Err     error        // why it did not start; nil also of one that starts later
	Took    time.Duration
}

// NewConnection has a server, which it does not start.
func NewConnection(s servers.Server) *Connection {
	c := &Connection{Server: s}
	if c.Parallel > 0 {
		c.slots = make(chan struct{}, c.Parallel)
	}
	return c
}

// connect starts the servers side by side and lists their tools, but for those that
// start later. start starts one, required gets the failure of a server that is not optional, ready the
// name of each server that has started or failed.
func (b *Toolbox) connect(start func(*Connection), required func(error), ready func(name string)) {
	conns := slices.DeleteFunc(slices.Clone(b.Conns), func(c *Connection) bool { return c.later != nil })
	goroutine.SideBySide(len(conns), func(i int) {
		c := conns[i]
		defer func() {
			if c.Err != nil && !c.Optional {
				required(c.Failure())
			}
			ready(c.Name)
		}()
		start(c)
	})
}

// Start starts the server, lists its tools and measures how long that takes.
func (c *Connection) Start(ctx context.Context, procs *config.Processes, hooks mcp.Hooks) {
	began := time.Now()
	defer func() { c.Took = time.Since(began) }()
	if c.Unusable != nil {
		c.Err = c.Unusable
		return
	}
	if c.Session, c.Err = mcp.Connect(ctx, c.Spec, hooks, c.sandbox.Processes(procs)); c.Err != nil {
		return
	}
	for _, t := range c.Session.Tools() {
		c.add(t)
	}
}

// add takes a tool of the server if its globs leave it; else it returns nil.
func (c *Connection) add(definition wire.Tool) *Tool {
	included := c.Server.Tools == nil || config.MatchAny(c.Server.Tools, definition.Name)
	twice := slices.ContainsFunc(c.Listed, func(other *Tool) bool { return other.Name == definition.Name })
	if !included || twice || config.MatchAny(c.Exclude, definition.Name) {
		return nil
	}
	t := &Tool{Tool: definition, Conn: c, ModelName: mcp.OfferedName(c.Name, definition.Name)}
	c.Listed = append(c.Listed, t)
	return t
}

// Use is the session of the server, which starts now if it was to start later, or if it
// was lost and is to be started again; nil if it did not start.
func (c *Connection) Use(ctx context.Context) (session *mcp.Session, err error) {
	session = c.Session
	if c.later != nil {
		session, err = c.later.await(ctx)
	}
	if c.again != nil {
		return c.again.use(ctx, session, err)
	}
	return session, err
}

// current is the session that there is by now; nil for none.
func (c *Connection) current() *mcp.Session {
	if c.again != nil {
		if l := c.again.last(); l != nil {
			return l.session()
		}
	}
	if c.later != nil {
		return c.later.session()
	}
	return c.Session
}

// Begin begins the start of a server that starts at its first call. It does not wait.
func (c *Connection) Begin() {
	if c.later != nil {
		c.later.begin()
	}
}

// NotUsed is why a server that started later is not used; nil of any other.
func (c *Connection) NotUsed() error {
	if c.later == nil || c.later.failed == nil {
		return nil
	}
	return c.later.failed
}

// Slot waits until the server's limit of calls at once leaves room for one, or ctx
// ends.
func (c *Connection) Slot(ctx context.Context) (release func()) {
	if c.slots == nil {
		return func() {}
	}
	select {
	case c.slots <- struct{}{}:
		return func() { <-c.slots }
	case <-ctx.Done():
		return func() {}
	}
}

// maxInstructions is how much of one server's instructions goes into the frame.
const maxInstructions = 4 << 10

// InstructionText is the server's instructions if the user lets them into the
// frame; by default that is so for a trusted server.
func (c *Connection) InstructionText() string {
	allowed := c.Trusted
	if c.Instructions != nil {
		allowed = *c.Instructions
	}
	switch {
	case !allowed:
		return ""
	case c.later != nil:
		return c.later.instructions
	case c.Session == nil:
		return ""
	}
	return toolserver.Cut(c.Session.Instructions(), maxInstructions, "\n[…]")
}

// locked is the instructions of c as the lock has them.
func (c *Connection) locked() lock.Item { return lock.Instructions(c.Name, c.InstructionText()) }
