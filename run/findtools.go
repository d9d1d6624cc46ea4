package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/failure"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

const (
	manyTools       = 64       // above which --find-tools auto does not offer all of them
	manyDefinitions = 32 << 10 // bytes
	foundTools      = 8        // how many tools a search finds, if the model does not say
	mostFoundTools  = 32
)

// The built-in tool that finds tools, and its server.
const (
	finderServer = "tools"
	finderTool   = "find_tools"
)

// A finder is a server with one tool, which finds the tools of all others. What is
// found or called is offered from the next request on, behind what was offered
// before, so that an endpoint can use what it has stored of the earlier requests.
type finder struct {
	box     *toolbox
	tools   []*tool // the tools that can be found
	ranking *ranking

	mu      sync.Mutex
	wanted  map[*tool]bool // found since the last request
	offered map[*tool]bool
}

// startFinder has the model find its tools, if that is asked for, and returns the
// tools of the first request: those that the conversation has calls of, since an
// earlier run found them.
func (v *conversation) startFinder(ctx context.Context, msgs []stream.Message) (*finder, []stream.Tool, error) {
	all := v.box.offered()
	size := 0
	for i := range all {
		size += definitionSize(all[i])
	}
	if !v.cfg.FindsTools() || len(all) == 0 || v.cfg.FindTools == "auto" && len(all) <= manyTools && size <= manyDefinitions {
		return nil, all, nil
	}
	f := newFinder(v.box)
	c := &connection{Server: builtin(finderServer, f.server(v.cfg.Version), "")}
	v.box.conns = append(v.box.conns, c)
	if c.start(ctx, v.cfg.Processes, v.hooks(&c.Server)); c.err != nil {
		return nil, nil, c.failure()
	}
	own := c.tools[0]
	rules, err := approve.Patterns(own.name, approve.Allow, "flag", "--find-tools") // a search tells only what the request would hold without it
	if err != nil {
		return nil, nil, err
	}
	v.gate.Rules = append(v.gate.Rules, rules...)
	if v.box.denies(own) {
		return nil, nil, failure.Usage("--find-tools %s: a rule denies %s, by which the model finds its tools", v.cfg.FindTools, own.name)
	}
	v.box.byName[own.name] = own
	v.box.all = append(v.box.all, own)
	offered := []stream.Tool{own.offered()}
	for i := range msgs {
		offered = append(offered, f.next(msgs[i].Calls)...)
	}
	return f, offered, nil
}

func newFinder(box *toolbox) *finder {
	f := &finder{box: box, wanted: map[*tool]bool{}, offered: map[*tool]bool{}}
	for _, t := range box.all {
		if !t.withheld {
			f.tools = append(f.tools, t)
		}
	}
	f.ranking = newRanking(len(f.tools), func(i int, add func(string, float64)) {
		t := f.tools[i]
		add(t.conn.Name+" "+t.Name, 3)
		add(t.Title, 2)
		add(t.Description, 1)
		for name := range jsontext.Members(jsontext.Member(t.InputSchema, "properties")) {
			add(jsontext.Unquote(name), 1)
		}
	})
	return f
}

func (f *finder) server(version string) *toolserver.Server {
	s := toolserver.New(finderServer, version)
	about := fmt.Sprintf("Find tools among %d of: %s. The tools found can be called from your next turn on. Use it before you say that you cannot do something.", len(f.tools), f.servers())
	s.AddBuiltin(&toolserver.Builtin{Name: finderTool, About: about, Params: []toolserver.Parameter{
		{Name: "query", Kind: "string", About: "words of what the tool does, or of its name", Required: true},
		{Name: "limit", Kind: "integer", About: fmt.Sprintf("how many tools to find at most (default %d, at most %d)", foundTools, mostFoundTools)},
	}, Annotations: toolserver.ReadsOnly}, func(_ context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
		return toolserver.TextResult(f.find(args.Text("query"), int(args.Integer("limit", foundTools)))), nil
	})
	return s
}

// servers names the servers that have tools, with how many.
func (f *finder) servers() string {
	count := map[*connection]int{}
	for _, t := range f.tools {
		count[t.conn]++
	}
	var names []string
	for _, c := range f.box.conns {
		if n := count[c]; n > 0 {
			names = append(names, c.Name+" ("+strconv.Itoa(n)+")")
		}
	}
	return strings.Join(names, ", ")
}

// find lists the tools that fit the query best, and has them offered.
func (f *finder) find(query string, limit int) string {
	best := f.ranking.best(query)
	if len(best) == 0 {
		return "No tool fits. There are tools of: " + f.servers()
	}
	limit = min(max(limit, 1), mostFoundTools, len(best))
	var b strings.Builder
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range best[:limit] {
		t := f.tools[i]
		f.wanted[t] = true
		line, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(t.Description, t.Title)), "\n")
		b.WriteString(t.name + ": " + toolserver.Cut(line, 200, "…") + "\n")
	}
	if more := len(best) - limit; more > 0 {
		fmt.Fprintf(&b, "(%d more fit less well)\n", more)
	}
	return b.String() + "They can be called from the next turn on."
}

// next are the tools to offer from the next request on: those called, in the order of
// the calls, and those that were found meanwhile, in the order of all tools, however
// many searches ran at the same time.
func (f *finder) next(calls []stream.Call) (more []stream.Tool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	offer := func(t *tool) {
		if !f.offered[t] {
			f.offered[t] = true
			more = append(more, t.offered())
		}
	}
	for _, c := range calls {
		if t := f.box.byName[c.Name]; t != nil && slices.Contains(f.tools, t) {
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

// offered is the tool as the model gets it.
func (t *tool) offered() stream.Tool {
	schema, note := mcp.OfferedSchema(t.InputSchema)
	d := t.Description + note
	if t.Description != "" && note != "" {
		d = t.Description + "\n" + note
	}
	return stream.Tool{Name: t.name, Description: d, Schema: schema}
}

// definitionSize is about how many bytes of a request a tool takes.
func definitionSize(t stream.Tool) int { return len(t.Name) + len(t.Description) + len(t.Schema) }
