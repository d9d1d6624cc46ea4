package toolbox

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"toolpipe/approve"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/servers"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// The built-in tool that finds tools, and its server.
const (
	finderServer = "tools"
	finderTool   = "find_tools"
)

const (
	manyTools       = 64       // above this number --find-tools auto does not offer all tools
	manyDefinitions = 32 << 10 // bytes
	foundTools      = 8        // how many tools a search finds by default
	mostFoundTools  = 32
)

// A Finder is a server with one tool that finds the tools of all others. A tool that was found or
// called is offered from the next request on, after the earlier ones: endpoints cache that beginning.
type Finder struct {
	box     *Toolbox
	conn    *Connection
	tools   []*Tool // the tools that can be found
	ranking *ranking

	mu      sync.Mutex
	wanted  map[*Tool]bool // found since the last request
	offered map[*Tool]bool
}

// StartFinder sets up the search for tools if it is asked for, and returns the tools of the first
// request: the finder's tool, the readers of resources that the conversation links to, the agents,
// and tools that the conversation has already called. The finder is nil if all tools are offered. A
// nested run has the rules of the outer run.
func StartFinder(ctx context.Context, v *invocation.Invocation, box *Toolbox, msgs []stream.Message, nested bool) (*Finder, []stream.Tool, error) {
	f, all := newFinder(v, box)
	readers := box.OfferReaders(msgs)
	if f == nil {
		return nil, append(all, readers...), nil
	}
	if !nested { // a search reveals only what the request would contain without it
		rules, err := approve.Patterns(finderServer+"__"+finderTool, approve.Allow, "flag", "--find-tools")
		if err != nil {
			return nil, nil, err
		}
		v.Gate.Rules = append(v.Gate.Rules, rules...)
	}
	f.conn = NewConnection(servers.Builtin(f.server(v.Config.Version), ""))
	box.Conns = append(box.Conns, f.conn)
	if box.start(ctx, f.conn); f.conn.Err != nil {
		return nil, nil, f.conn.Failure()
	}
	own := f.conn.Listed[0]
	if f.box.Denies(own) {
		return nil, nil, failure.Usage("--find-tools %s: a rule denies %s, the tool that finds tools for the model", v.Config.FindTools, own.ModelName)
	}
	f.box.Offer(own)
	offered := append([]stream.Tool{f.box.forModel(own)}, readers...)
	for _, t := range f.box.All() {
		if t.Conn.Agent && !t.Withheld {
			offered = append(offered, f.box.forModel(t))
		}
	}
	for i := range msgs {
		offered = append(offered, f.Next(msgs[i].Calls)...)
	}
	return f, offered, nil
}

// Close ends the finder's server, if there is a finder.
func (f *Finder) Close() {
	if f != nil {
		f.conn.Session.Close()
	}
}

// newFinder returns nil if all tools are offered.
func newFinder(v *invocation.Invocation, box *Toolbox) (*Finder, []stream.Tool) {
	all, size := box.Offered(), 0
	for i := range all {
		size += DefinitionSize(all[i])
	}
	if !v.Config.FindsTools() || v.Config.FindTools == "auto" && len(all) <= manyTools && size <= manyDefinitions {
		return nil, all
	}
	f := &Finder{box: box, wanted: map[*Tool]bool{}, offered: map[*Tool]bool{}}
	if f.index(); len(f.tools) == 0 {
		return nil, all
	}
	return f, all
}

// index makes all tools findable. Agents are for every task, so they are always offered.
func (f *Finder) index() {
	f.tools = slices.DeleteFunc(slices.Clone(f.box.All()), func(t *Tool) bool { return t.Withheld || t.Kept || t.Conn.Agent || t.Conn == f.conn })
	f.ranking = newRanking(len(f.tools), func(i int, add func(string, float64)) {
		t := f.tools[i]
		add(t.Conn.Name+" "+t.Name, 3)
		add(t.Title, 2)
		add(t.Description, 1)
		for name := range jsontext.Members(jsontext.Member(t.InputSchema, "properties")) {
			add(jsontext.Unquote(name), 1)
		}
	})
}

// Update indexes the tools of the toolbox anew, and returns the offered tools without the ones that
// the toolbox has no more.
func (f *Finder) Update(offered []stream.Tool) []stream.Tool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.index()
	maps.DeleteFunc(f.offered, func(t *Tool, _ bool) bool { return f.box.Tool(t.ModelName) != t })
	return slices.DeleteFunc(slices.Clone(offered), func(t stream.Tool) bool { return f.box.Tool(t.Name) == nil })
}

func (f *Finder) server(version string) *toolserver.Server {
	s := toolserver.New(finderServer, version)
	about := fmt.Sprintf("Find tools among %d of: %s. The tools found can be called from your next turn on. Use it before you say that you cannot do something.", len(f.tools), f.box.counts(f.tools))
	s.AddBuiltin(toolserver.Define(finderTool, about, toolserver.ReadsOnly, toolserver.Effects{None: true},
		toolserver.Parameter{Name: "query", Kind: "string", About: "words that describe the tool, or words of its name", Required: true},
		toolserver.Parameter{Name: "limit", Kind: "integer", About: fmt.Sprintf("how many tools to find at most (default %d, at most %d)", foundTools, mostFoundTools)},
	), func(_ context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
		return toolserver.TextResult(f.find(args.Text("query"), int(args.Integer("limit", foundTools)))), nil
	})
	return s
}

// find lists the tools that fit the query best, and marks them for the next request.
func (f *Finder) find(query string, limit int) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	best := f.ranking.best(query)
	if len(best) == 0 {
		return "No tool fits. There are tools of: " + f.box.counts(f.tools)
	}
	limit = min(max(limit, 1), mostFoundTools, len(best))
	var b strings.Builder
	for _, i := range best[:limit] {
		t := f.tools[i]
		f.wanted[t] = true
		line, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(t.Description, t.Title)), "\n")
		b.WriteString(t.ModelName + ": " + readable.Cut(line, 200, "…") + "\n")
	}
	if more := len(best) - limit; more > 0 {
		fmt.Fprintf(&b, "(%d more fit less well)\n", more)
	}
	return b.String() + "They can be called from the next turn on."
}

// Next returns the tools to add to the next request: called tools in the order of the calls, then
// found tools in the order of all tools, however many searches ran at once.
func (f *Finder) Next(calls []stream.Call) (more []stream.Tool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	offer := func(t *Tool) {
		if !f.offered[t] {
			f.offered[t] = true
			more = append(more, f.box.forModel(t))
		}
	}
	for _, c := range calls {
		if t := f.box.Tool(c.Name); t != nil && slices.Contains(f.tools, t) {
			offer(t)
		}
	}
	for _, t := range f.tools {
		if f.wanted[t] {
			offer(t)
		}
	}
	clear(f.wanted)
	return more
}
