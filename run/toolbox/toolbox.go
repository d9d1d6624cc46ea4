// Package toolbox manages the tool servers of a run and their tools: their names for the model, their
// start, and the comparison with the lock. It has the tool that finds tools, the review of definitions,
// the questions that servers ask the user, and the servers of a toolpipe at a socket.
//
// A connection is a server and its session. A server starts with the run, or later: beside the
// first request or at the first call (--start). Its tools then come from the lock.
package toolbox

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/wire"
	"toolpipe/run/builtin"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/servers"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// A Toolbox holds all servers, and a table that maps names in calls to tools. It is empty until the
// servers are about to start. It changes during calls only with --serve (Relist).
type Toolbox struct {
	Conns []*Connection

	inv    *invocation.Invocation
	table  table
	locked locked
	skills []Skill // of --skill
	starts laterStarts
	warned *sync.Once // about servers with unknown effects
	commands
	watch  func() *builtin.Watch // over all sandboxes; waits until its list is made; nil: there are none
	holder builtin.Holder        // of sandboxes
}

func New(inv *invocation.Invocation) *Toolbox {
	return &Toolbox{inv: inv, warned: new(sync.Once), holder: builtin.FindHolder(func() []string { return inv.Config.Environ })}
}

// commands are the surroundings of the commands of built-in tools.
type commands struct {
	sandbox *builtin.Sandbox // nil: none
	path    string           // the directory with the program toolpipe; "": none
}

// With returns a toolbox with tools, in which no server can start.
func With(tools ...*Tool) *Toolbox {
	b := &Toolbox{table: table{byName: map[string]*Tool{}}}
	for _, t := range tools {
		b.Offer(t)
	}
	return b
}

// table contains the tools that --tools and --exclude-tools select.
type table struct {
	mu     sync.RWMutex
	byName map[string]*Tool
	all    []*Tool  // in the order of servers, then of their lists; elements never change
	only   []string // globs of the tools of a nested run; empty: all
}

// Tool finds a tool by its name for the model; nil for none.
func (b *Toolbox) Tool(name string) *Tool {
	b.table.mu.RLock()
	defer b.table.mu.RUnlock()
	return b.table.byName[name]
}

// All returns the tools that --tools and --exclude-tools select, in the order of servers, then of
// their lists. The slice does not change afterwards.
func (b *Toolbox) All() []*Tool {
	b.table.mu.RLock()
	defer b.table.mu.RUnlock()
	return b.table.all
}

// Names are the sorted names of all tools that can be called.
func (b *Toolbox) Names() []string {
	b.table.mu.RLock()
	defer b.table.mu.RUnlock()
	return slices.Sorted(maps.Keys(b.table.byName))
}

func (b *Toolbox) index(include, exclude []string, warn config.Warner) {
	b.table.byName = map[string]*Tool{}
	for _, c := range b.Conns {
		for _, t := range c.Listed {
			if !t.passes(include, exclude) || b.hides(&t.Tool) {
				continue
			}
			if other := b.Tool(t.ModelName); other != nil {
				warn("tool_dropped", c.Name, "tool "+strconv.Quote(t.Name)+" of server "+strconv.Quote(c.Name)+" has the same name for the model as "+strconv.Quote(other.Name)+" of "+strconv.Quote(other.Conn.Name))
				continue
			}
			b.Offer(t)
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

// hides reports whether a tool is not offered because it is only for web pages of a host. With
// --serve the host hides it, so the lock contains it.
func (b *Toolbox) hides(t *wire.Tool) bool {
	return t.ForPages() && b.inv.Config.Mode != config.Serve && b.inv.Config.Mode != config.UpdateLock
}

func (b *Toolbox) Offer(t *Tool) {
	b.table.mu.Lock()
	defer b.table.mu.Unlock()
	b.table.byName[t.ModelName] = t
	b.table.all = append(b.table.all, t)
}

func (b *Toolbox) withdraw(t *Tool) {
	b.table.mu.Lock()
	defer b.table.mu.Unlock()
	if b.table.byName[t.ModelName] == t {
		delete(b.table.byName, t.ModelName)
		b.table.all = slices.DeleteFunc(slices.Clone(b.table.all), func(other *Tool) bool { return other == t })
	}
}

// offers reports whether glob matches a tool of a server, or may match one: the tools of a server
// that starts later may be incomplete.
func (b *Toolbox) offers(glob string) bool {
	globs := []string{glob}
	return slices.ContainsFunc(slices.Concat(b.Conns, b.kept(Results{})), func(c *Connection) bool {
		return c.later != nil && c.MayOffer(globs) || slices.ContainsFunc(c.Listed, func(t *Tool) bool { return t.IsLike(globs) })
	})
}

// Denies reports whether the rules deny a tool with any arguments, so that it is not offered. A
// replay offers the tools of the recorded run: a new deny then fails at the call that it is about,
// which says more than a request that differs.
func (b *Toolbox) Denies(t *Tool) bool {
	tape := b.inv.Tape()
	withheld := func() []byte { return append(jsontext.AppendQuoted([]byte(`{"withheld":`), t.ModelName), '}') }
	if tape.Replays() {
		return tape.Has(withheld())
	}
	denies := b.inv.Gate.Denies(t.Call(nil))
	if denies && tape != nil {
		tape.Keep(withheld(), []byte("true"))
	}
	return denies
}

func (b *Toolbox) Offered() []stream.Tool {
	var all []stream.Tool
	for _, t := range b.Direct() {
		all = append(all, b.forModel(t))
	}
	return all
}

// forModel is a tool in a request. It is required if --tools names it without a wildcard.
func (b *Toolbox) forModel(t *Tool) stream.Tool {
	m := t.ForModel()
	m.Description += b.inCommands(t)
	m.Required = slices.ContainsFunc(config.Elements(b.inv.Config.Tools), func(pattern string) bool {
		return !strings.ContainsAny(pattern, "*?") && t.IsLike([]string{pattern})
	})
	return m
}

func (b *Toolbox) infos() []event.ServerInfo {
	infos := []event.ServerInfo{}
	for _, c := range b.Conns {
		switch {
		case c.later != nil:
			infos = append(infos, event.ServerInfo{Name: c.Name, Tools: len(c.Listed), Sandbox: c.Held()})
		case c.Session != nil:
			infos = append(infos, event.ServerInfo{Name: c.Name, Protocol: c.Session.Protocol(), Tools: len(c.Listed), Sandbox: c.Held()})
		}
	}
	return infos
}

// EmitStart emits the start event with the information that is available.
func (b *Toolbox) EmitStart() error {
	e := &event.Start{Version: b.inv.Config.Version, Policy: b.inv.Policy, Servers: b.infos(), Trace: b.inv.Config.Trace().ID(),
		Identity: event.Identity{ID: b.inv.Config.ID, Preset: b.inv.Config.Preset.Name, Time: b.inv.Began.UTC().Format("2006-01-02T15:04:05.000Z07:00")}}
	if m := b.inv.Model; m != nil {
		e.Model, e.API = m.Endpoint.Model, m.Endpoint.API
	}
	e.Limits = event.Limits{Sandbox: b.sandbox.Says(), SandboxPartial: b.sandbox.Partial(), FilesAnyway: b.inv.Config.FilesAnyway}
	if b.inv.Settings != nil {
		e.ConfigRules = len(b.inv.Settings.Rules)
	}
	return b.inv.Emit(e)
}

// known are the servers and tools that a policy may name. A server that starts later may have more
// tools than the lock: tools that were denied when the lock was written are not in it. A rule for
// an unused server is no mistake. The finder and the readers of resources and of results are added
// here, because they are offered later.
func (b *Toolbox) known() []approve.Server {
	var all []approve.Server
	for _, c := range slices.Concat(b.Conns, b.kept(Results{})) {
		s := approve.Server{Name: c.Name, Spelling: c.Spelling, Started: c.Err == nil && c.later == nil, Root: c.Root}
		for _, t := range c.Listed {
			call := t.Call(nil)
			if t.Kept { // a rule about a kind of tools is to match others too
				call = approve.Call{Server: call.Server, Tool: call.Tool, Name: call.Name}
			}
			s.Tools = append(s.Tools, approve.Tool{Call: call, Schema: t.InputSchema, Scripts: t.Scripts(), Opens: t.Declares().Opens})
		}
		if t := b.reader(c); t != nil {
			call := t.Call(nil)
			call.By = "toolpipe" // --list-tools -v has no line that declares its effects
			s.Tools = append(s.Tools, approve.Tool{Call: call, Schema: t.InputSchema})
		}
		all = append(all, s)
	}
	for _, s := range b.inv.Unused {
		all = append(all, approve.Server{Name: s.Name, Spelling: s.Spelling, Root: s.Root})
	}
	if b.inv.Config.FindsTools() {
		all = append(all, approve.Server{Name: finderServer, Started: true, Tools: []approve.Tool{{Call: approve.Call{Server: finderServer, Tool: finderTool, Name: finderServer + "__" + finderTool}}}})
	}
	return all
}

// Narrowed is the toolbox of a nested run: the tools that match the globs, or all if no globs are
// given, except agents and the tool that finds tools.
func (b *Toolbox) Narrowed(globs []string, given bool) (*Toolbox, error) {
	n := With()
	n.inv, n.warned, n.sandbox, n.watch, n.skills = b.inv, b.warned, b.sandbox, b.watch, b.skills
	n.table.only = globs
	for _, t := range b.All() {
		if t.Conn.Agent || t.Kept || t.Conn.Name == finderServer || given && !t.IsLike(globs) {
			continue
		}
		n.Offer(t)
		if !slices.Contains(n.Conns, t.Conn) {
			n.Conns = append(n.Conns, t.Conn)
		}
	}
	for _, glob := range globs {
		if !slices.ContainsFunc(n.All(), func(t *Tool) bool { return t.IsLike([]string{glob}) }) {
			return nil, errors.New("tools: no tool of a nested run has a name like " + strconv.Quote(glob))
		}
	}
	return n, nil
}

// ServerOf finds the server in the value of a flag. The value has the form NAME:REST; of names the
// rest.
func (b *Toolbox) ServerOf(ctx context.Context, flag, of, value string) (c *Connection, session *mcp.Session, rest string, err error) {
	name, rest, ok := strings.Cut(value, ":")
	if !ok || name == "" || rest == "" {
		return nil, nil, "", failure.Usage("%s: %q is not of the form NAME:%s", flag, value, of)
	}
	for _, c := range b.Conns {
		if c.Name != name && c.Spelling != name {
			continue
		}
		session, err := c.Use(ctx)
		if err != nil {
			return nil, nil, "", err
		}
		if session == nil {
			return nil, nil, "", &failure.Error{Status: failure.StatusServer, Message: flag + ": server " + strconv.Quote(name) + " did not start"}
		}
		return c, session, rest, nil
	}
	return nil, nil, "", failure.UsageError(servers.Known(b.inv.Servers), "%s: no server is named %q", flag, name)
}

// Items visits the items of a server's list. If the server cannot answer, it warns and returns
// false.
func (b *Toolbox) Items(ctx context.Context, c *Connection, l mcp.List, visit func(item []byte)) bool {
	session, _ := c.Use(ctx)
	if session == nil {
		return false // it failed, and the user knows
	}
	if all := visit; c.far != nil {
		visit = func(item []byte) {
			if own, is := c.farItem(item); is {
				all(own)
			}
		}
	}
	err := session.Items(ctx, l, visit)
	if err != nil && !failure.IsCancelled(err) {
		b.inv.Warn("server_failed", c.Name, WithHint(err.Error(), &c.Server, err))
	}
	return err == nil
}

// Settle warns about changes that the run has not used: lists of tools that changed, except where
// the tools follow the list, and servers that were lost after their last call.
func (b *Toolbox) Settle() {
	b.EachSession(func(c *Connection, s *mcp.Session) {
		if !b.Follows(c) {
			s.Settle(time.Second)
		}
	})
	for _, c := range b.Conns {
		if c.again != nil && c.NotUsed() == nil {
			c.again.settle(c.Session, c.later)
		}
	}
}

// Close ends all sessions in parallel. Each session limits the time of its end.
func (b *Toolbox) Close() {
	b.starts.end()
	b.EachSession(func(_ *Connection, s *mcp.Session) { s.Close() })
	b.sandbox.Close()
	if b.path != "" {
		_ = confine.RemoveTree(b.path)
	}
	for _, c := range b.Conns {
		c.sandbox.Close()
	}
}

// EachSession calls do with all servers that have a session, in parallel.
func (b *Toolbox) EachSession(do func(*Connection, *mcp.Session)) {
	goroutine.SideBySide(len(b.Conns), func(i int) {
		if session := b.Conns[i].current(); session != nil {
			do(b.Conns[i], session)
		}
	})
}
