package run

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/schema"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
)

// connection is a server and its session.
type connection struct {
	config.Server
	session *mcp.Session // nil: it did not start
	later   *laterStart  // nil: it starts with the run; else session and err stay nil, and the lock tells tools
	err     error
	took    time.Duration // how long the start took
	tools   []*tool
	exposes approve.Labels // of its resources and prompts
	slots   chan struct{}  // holds the calls that run at once; nil: no limit

	loginWarned sync.Map // of which warnings about its login were given
}

// tool is one tool of a server and the name that the model knows it by.
type tool struct {
	wire.Tool
	conn     *connection
	name     string      // as offered
	withheld bool        // denied with any arguments, and so not offered
	pinned   *lockedItem // what the lock has of it, if its server starts later
	labels   approve.Labels

	compile sync.Once // makes schema, at the first call
	schema  *schema.Schema
}

// toolbox holds all servers, and the table in which the tool of a call is looked
// up by its name. No name is split into server and tool.
type toolbox struct {
	conns  []*connection
	byName map[string]*tool
	all    []*tool // in the order of servers, then of their lists

	include, exclude []string         // globs over the names of tools
	denies           func(*tool) bool // with any arguments

	starts laterStarts
}

// passes tells whether globs leave a tool.
func (t *tool) passes(include, exclude []string) bool {
	return (len(include) == 0 || t.isLike(include)) && !t.isLike(exclude)
}

// index fills the table with the tools that the globs leave.
func (b *toolbox) index(include, exclude []string, warn config.Warner) {
	b.byName, b.include, b.exclude = map[string]*tool{}, include, exclude
	for _, c := range b.conns {
		for _, t := range c.tools {
			if !t.passes(include, exclude) {
				continue
			}
			if other := b.byName[t.name]; other != nil {
				warn("tool_dropped", c.Name, "tool "+strconv.Quote(t.Name)+" of server "+strconv.Quote(c.Name)+" has the same name for the model as "+strconv.Quote(other.Name)+" of "+strconv.Quote(other.conn.Name))
				continue
			}
			b.byName[t.name] = t
			b.all = append(b.all, t)
		}
	}
	for _, f := range []struct {
		flag  string
		globs []string
	}{{"--tools", include}, {"--exclude-tools", exclude}} {
		for _, glob := range f.globs {
			if !b.offers(glob) {
				warn("pattern_unused", "", f.flag+": no tool has a name like "+strconv.Quote(glob))
			}
		}
	}
}

// isLike tells whether a glob matches t's name: the name that the model knows or,
// where that had to be changed, SERVER__TOOL as a user would write it. A tool that
// a user means to exclude must not stay because its name was changed.
func (t *tool) isLike(globs []string) bool {
	return config.MatchAny(globs, t.name) || config.MatchAny(globs, t.conn.Name+"__"+t.Name) ||
		t.conn.Spelling != "" && config.MatchAny(globs, t.conn.Spelling+"__"+t.Name)
}

// offers tells whether any server has a tool whose name matches glob, or may have
// one: of a server that starts later not all tools need be known.
func (b *toolbox) offers(glob string) bool {
	globs := []string{glob}
	return slices.ContainsFunc(b.conns, func(c *connection) bool {
		return c.later != nil && c.MayOffer(globs) || slices.ContainsFunc(c.tools, func(t *tool) bool { return t.isLike(globs) })
	})
}

// withhold keeps back the tools that the rules deny with any arguments.
func (b *toolbox) withhold(gate *approve.Gate) {
	b.denies = func(t *tool) bool { return gate.Static(t.call(nil)).Outcome == approve.Denied }
	for _, t := range b.all {
		t.withheld = b.denies(t)
	}
}

// call is t's call as approvals see it.
func (t *tool) call(args []byte) approve.Call {
	c := approve.Call{
		Server: t.conn.Name, Spelling: t.conn.Spelling, Tool: t.Name, Name: t.name, Arguments: args, Annotations: t.Annotations,
		ReadOnly: t.readOnly(), Root: t.conn.Root, Labels: t.labels,
	}
	if t.conn.Preview != nil {
		c.Change = func(ctx context.Context) (string, []string) { return t.conn.Preview(ctx, t.Name, args) }
	}
	if t.conn.Local != nil && slices.Contains(walkers, t.Name) {
		c.ShowsFilesOf = "read_file"
	}
	return c
}

// walkers are the built-in tools that show parts of the files that read_file reads.
var walkers = []string{"get_file_slice", "grep_files", "get_tree", "search_files", "get_file_summary", "get_git_diff"}

// readOnly tells whether t only reads, as a server says that the user trusts.
func (t *tool) readOnly() bool { return t.ReadOnly && t.conn.Trusted }

// offered are the tools as the model gets them.
func (b *toolbox) offered() []stream.Tool {
	var all []stream.Tool
	for _, t := range b.all {
		if t.withheld {
			continue
		}
		all = append(all, t.offered())
	}
	return all
}

// infos are the servers as the start event lists them.
func (b *toolbox) infos() []event.ServerInfo {
	infos := []event.ServerInfo{}
	for _, c := range b.conns {
		switch {
		case c.later != nil:
			infos = append(infos, event.ServerInfo{Name: c.Name, Tools: len(c.tools)})
		case c.session != nil:
			infos = append(infos, event.ServerInfo{Name: c.Name, Protocol: c.session.Protocol(), Tools: len(c.tools)})
		}
	}
	return infos
}

// known are the servers and tools that a policy may name. A server that starts
// later may have more tools than the lock has of it: those that were denied when the
// lock was written are not in it.
func (b *toolbox) known() []approve.Server {
	var all []approve.Server
	for _, c := range b.conns {
		s := approve.Server{Name: c.Name, Spelling: c.Spelling, Started: c.err == nil && c.later == nil, Root: c.Root}
		for _, t := range c.tools {
			s.Tools = append(s.Tools, t.Name)
			s.Names = append(s.Names, t.name)
		}
		all = append(all, s)
	}
	return all
}

// slot waits until the server's limit of calls at once leaves room for one, or ctx
// ends.
func (c *connection) slot(ctx context.Context) (release func()) {
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

// settle has the sessions warn of a list of tools that is another one by now.
func (b *toolbox) settle() {
	b.eachSession(func(s *mcp.Session) { s.Settle(time.Second) })
}

// close ends all sessions side by side, each of which bounds its own end.
func (b *toolbox) close() {
	b.starts.end()
	b.eachSession(func(s *mcp.Session) { s.Close() })
}

// eachSession does something with all sessions, side by side.
func (b *toolbox) eachSession(do func(*mcp.Session)) {
	var sessions []*mcp.Session
	for _, c := range b.conns {
		session := c.session
		if c.later != nil {
			session = c.later.session()
		}
		if session != nil {
			sessions = append(sessions, session)
		}
	}
	goroutine.SideBySide(len(sessions), func(i int) { do(sessions[i]) })
}
