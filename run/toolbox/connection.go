package toolbox

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/wire"
	"toolpipe/run/builtin"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/servers"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// A Connection is a server and its session.
type Connection struct {
	servers.Server
	firstStart
	again   *revival       // nil: never restarted after a loss
	Listed  []*Tool        // the server's tools that its globs select
	Exposes approve.Labels // labels of its resources and prompts

	sandbox     *builtin.Sandbox // sandbox of its program; nil: none
	later       *laterStart      // nil: it starts with the run
	slots       chan struct{}    // one element for each running call; nil: no limit
	loginWarned sync.Map         // login warnings already given
	far         *FarServer       // description from the toolpipe at the socket, if this is one of its servers; else nil
}

type firstStart struct {
	Session *mcp.Session // nil: not started, or starts later
	Err     error        // why it did not start; nil if it starts later
	Took    time.Duration
}

// NewConnection wraps a server, without starting it.
func NewConnection(s servers.Server) *Connection {
	c := &Connection{Server: s}
	if c.Parallel > 0 {
		c.slots = make(chan struct{}, c.Parallel)
	}
	return c
}

// connect starts the servers in parallel and lists their tools, except servers that start later.
// start starts one server. required gets the failure of a server that is not optional. ready gets
// the name of each server that has started or failed.
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

// Start starts the server, lists its tools and measures the time.
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

// add adds a tool of the server if its globs select it; else it returns nil.
func (c *Connection) add(definition wire.Tool) *Tool {
	if !c.selects(definition.Name) || slices.ContainsFunc(c.Listed, func(other *Tool) bool { return other.Name == definition.Name }) {
		return nil
	}
	t := c.newTool(definition)
	c.Listed = append(c.Listed, t)
	return t
}

// newTool makes a tool of the server, without adding it.
func (c *Connection) newTool(definition wire.Tool) *Tool {
	t := &Tool{Tool: definition, Conn: c, ModelName: mcp.OfferedName(c.Name, definition.Name)}
	if c.AtSocket() {
		if said, own, is := readFarTool(definition.Meta); is {
			t.far, t.Meta = &said, own
		}
	}
	return t
}

func (c *Connection) selects(tool string) bool {
	return (c.Server.Tools == nil || config.MatchAny(c.Server.Tools, tool)) && !config.MatchAny(c.Exclude, tool)
}

// Use returns the session of the server. It starts the server if it was to start later, or was lost
// and can be restarted. The session is nil if the server did not start.
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

// current is the present session; nil for none.
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

// Begin starts a server that starts at its first call, without waiting.
func (c *Connection) Begin() {
	if c.later != nil {
		c.later.begin()
	}
}

// NotUsed says why a server that started later is not used; nil for any other server.
func (c *Connection) NotUsed() error {
	if c.later == nil || c.later.failed == nil {
		return nil
	}
	return c.later.failed
}

// Slot waits until the server's limit of parallel calls permits one more, or ctx ends.
func (c *Connection) Slot(ctx context.Context) (release func()) {
	if c.slots == nil {
		return func() {}
	}
	return Acquire(ctx, c.slots)
}

// Acquire waits until there is room for an element in slots, or ctx ends. release removes it.
func Acquire(ctx context.Context, slots chan struct{}) (release func()) {
	select {
	case slots <- struct{}{}:
		return func() { <-slots }
	case <-ctx.Done():
		return func() {}
	}
}

// maxInstructions is how many bytes of a server's instructions the system message contains.
const maxInstructions = 4 << 10

// InstructionText is the server's instructions if the user allows them in the system message; the
// default is yes for a trusted server.
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
	case c.far != nil:
		return readable.Cut(c.far.Instructions, maxInstructions, "\n[…]")
	case c.Session == nil:
		return ""
	}
	return readable.Cut(c.Session.Instructions(), maxInstructions, "\n[…]")
}

// FarName is the name of a tool or prompt in requests. A remote toolpipe expects its name with the
// name of its server as prefix.
func (c *Connection) FarName(name string) string {
	if c.far == nil {
		return name
	}
	return mcp.OfferedName(c.far.Name, name)
}

// farItem restores a list item of a remote toolpipe to the form at its server, and reports whether
// the item belongs to this server.
func (c *Connection) farItem(item []byte) ([]byte, bool) {
	name, is := strings.CutPrefix(jsontext.Text(jsontext.Member(item, "name")), c.far.Name+"__")
	own := []byte{'{'}
	for key, value := range jsontext.Members(item) {
		if jsontext.Is(key, "name") {
			value = jsontext.Quoted(name)
		}
		own = jsontext.AppendMember(own, jsontext.Unquote(key), value)
	}
	return append(own, '}'), is
}

// splitFar replaces every unnamed toolpipe socket by the servers of that toolpipe. They keep their
// names and share its session.
func (b *Toolbox) splitFar() error {
	trust := map[string]bool{}
	for i := 0; i < len(b.Conns); {
		c := b.Conns[i]
		for _, name := range c.FarTrust {
			trust[name] = trust[name] || b.named(name)
		}
		if !c.Far || c.Session == nil {
			i++
			continue
		}
		behind, is := farServers(c.Session.About())
		if !is {
			return failure.UsageError([]string{"--mcp NAME=" + config.ShellQuote(c.Target())}, "--mcp %s: the server there is not a toolpipe, so it needs a name", c.Target())
		}
		var parts []*Connection
		var entries []servers.Server
		for _, s := range behind {
			if b.named(s.Name) && s.Name != c.Name || servers.CheckName(s.Name, s.Name) != nil {
				return failure.UsageError([]string{"--mcp NAME=" + config.ShellQuote(c.Target()) + " gives its tools different names"}, "--mcp %s: its server %q has the name of another server", c.Target(), s.Name)
			}
			part := c.part(s)
			if slices.Contains(c.FarTrust, s.Name) {
				trust[s.Name] = true
			}
			parts, entries = append(parts, part), append(entries, part.Server)
		}
		b.Conns = slices.Replace(b.Conns, i, i+1, parts...)
		if at := slices.IndexFunc(b.inv.Servers, func(s servers.Server) bool { return s.Name == c.Name }); at >= 0 {
			b.inv.Servers = slices.Replace(b.inv.Servers, at, at+1, entries...)
		}
		i += len(parts)
	}
	for name, found := range trust {
		if !found {
			return failure.UsageError(servers.Known(b.inv.Servers), "--trust: no server is named %q", name)
		}
	}
	return nil
}

func (b *Toolbox) named(name string) bool {
	return slices.ContainsFunc(b.Conns, func(c *Connection) bool { return c.Name == name })
}

// part is a connection for one server of a remote toolpipe.
func (c *Connection) part(s FarServer) *Connection {
	own := c.Server
	own.Name, own.Far = s.Name, false
	if own.Trusted = c.Trusted || slices.Contains(c.FarTrust, s.Name); own.Trusted {
		own.Root = s.Root
	}
	part := NewConnection(own)
	part.firstStart, part.again, part.far, part.sandbox = c.firstStart, c.again, &s, c.sandbox
	for _, definition := range c.Session.Tools() {
		if said, _, is := readFarTool(definition.Meta); is && said.Server == s.Name {
			definition.Name = said.Name
			part.add(definition)
		}
	}
	return part
}
