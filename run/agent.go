package run

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream"
)

// agent is another model that can be given tasks: the built-in server of one
// --agent, with the tool run. A call of it is a nested run: a loop with the model of
// a profile, over the tools, the gate, the limits and the outputs of the run that
// the call belongs to. It is one level deep.
type agent struct {
	name     string         // the name of its server
	cfg      *config.Config // the flags, as they count for its profile
	limits   limits         // what a call may use up that no loop makes (--call, --serve)
	endpoint *config.Endpoint
	client   *stream.Client // each nested run has a fork of it
}

type nestedRun struct {
	round    *round // the round of the call
	id       string // the id of the call
	progress func(wire.Progress)
	flow     *flow
	tally    tally
}

func (p *plan) addAgents() error {
	for _, value := range p.cfg.Agents {
		name, profile, err := p.settings.ParseAgent(value)
		if err != nil {
			return err
		}
		if config.FindServer(p.servers, name) != nil {
			return failure.UsageError([]string{"--agent NAME=PROFILE gives it another name"}, "--agent: another server is named %q", name)
		}
		a := &agent{name: name, cfg: p.cfg.ForProfile(p.settings, profile), limits: *p.limits()}
		p.agents = append(p.agents, a)
		p.servers = append(p.servers, a.server(p.settings.ProfileModel(profile)))
	}
	return nil
}

// server is the tool server of the agent. What a nested run may do depends on what
// the rules allow it, so its tool promises nothing.
func (a *agent) server(model string) config.Server {
	s := toolserver.New(a.name, a.cfg.Version)
	about := "Gives a task to another model (" + model + "), which works on it by itself with the tools of this run, and returns its answer. " +
		"It knows nothing of this conversation."
	s.AddBuiltin(toolserver.Define("run", about, toolserver.RunsFree,
		toolserver.Parameter{Name: "prompt", Kind: "string", About: "the whole task, with all that has to be known for it", Required: true},
		toolserver.Parameter{Name: "system", Kind: "string", About: "a system message"},
		toolserver.Parameter{Name: "tools", Kind: "strings", About: "which tools it has: patterns over their names, such as files__read_*; [] is none, and without this it has all"},
		toolserver.Parameter{Name: "schema", Kind: "object", About: "a JSON Schema that the answer must fit; the answer is JSON then"},
	), a.run)
	return config.Server{Spec: mcp.Spec{Name: a.name, Local: s.Pipe}, Trusted: true, Labels: new(builtinLabels("agent")), Nest: s.Call}
}

// resolveAgents finds the models of the agents, for a run that may make calls. All
// clients of a run have one recording.
func (p *plan) resolveAgents(ctx context.Context) (err error) {
	for _, a := range p.agents {
		if a.endpoint, err = a.cfg.ResolveModel(ctx, p.settings, p.warn); err != nil {
			return failure.Within("--agent", err)
		}
		if _, err = a.cfg.Request(ctx, a.endpoint); err != nil {
			return failure.Within("--agent", err)
		}
		if a.endpoint.Beside = p.client; p.client == nil {
			a.endpoint.Record = p.cfg.Record
		}
		if a.client, err = newClient(ctx, a.endpoint, p.outputs); err != nil {
			return err
		}
		p.client = cmp.Or(p.client, a.client)
	}
	return nil
}

// unfinished is the answer to the call of a nested run that ended together with the
// run that it belongs to. A later run may take the call up again only if the nested
// run has made none itself.
func (n *nestedRun) unfinished(ctx context.Context, err error) *answer {
	why := failure.Of(err).Message
	switch {
	case n.tally.unknown:
		return ownAnswer(event.ResultUnknown, "outcome unknown: the nested run ended: "+why)
	case n.tally.ran:
		return ownAnswer(event.ResultFailed, "the nested run ended before its answer, and had made calls: "+why)
	}
	return notRun(ctx)
}

// run is the tool of an agent. It returns when the nested run has ended: at the latest
// with ctx, and each wait of the nested run has a bound of its own. Failures of the model
// and limits are an error that the calling model can read; what would end a run ends both.
func (a *agent) run(ctx context.Context, args toolserver.Arguments, progress func(wire.Progress)) (*wire.Result, error) {
	made := ctx.Value(madeKey{}).(madeCall)
	n := &nestedRun{round: made.round, id: made.call.ID, progress: progress, flow: made.flow.nested(made.call, a.name)}
	made.call.nested = &n.tally.callTally
	defer func() { made.call.labels, _ = n.flow.before(nil) }()
	l, err := a.loop(ctx, n, args)
	if err != nil {
		return nil, err
	}
	if err = l.run(ctx); err == nil {
		return toolserver.TextResult(l.text), nil
	}
	f := failure.Of(err)
	if ctx.Err() != nil || f.Status != failure.StatusModel && f.Status != failure.StatusLimit {
		made.call.answer = n.unfinished(ctx, err)
		if ctx.Err() == nil {
			made.stop(err)
		}
		return nil, err
	}
	l.emit(&event.Warning{Code: "agent_failed", Server: a.name, Message: strings.Join(append([]string{"agent " + a.name + ": " + f.Message}, f.Hints...), "; ")})
	text := prefix + "the nested run failed: " + f.Message
	if errors.Is(err, failure.ErrLength) && len(l.text) > 0 {
		text += "\nIts text so far:\n" + string(l.text)
	}
	return nil, errors.New(text)
}

func (a *agent) loop(ctx context.Context, n *nestedRun, args toolserver.Arguments) (*loop, error) {
	prompt := args.Text("prompt")
	if strings.TrimSpace(prompt) == "" {
		return nil, errors.New("the prompt is empty")
	}
	cfg := *a.cfg
	cfg.Schema = string(args["schema"])
	request, err := cfg.Request(ctx, a.endpoint)
	if err != nil {
		return nil, err
	}
	calls := *n.round.caller
	calls.agent, calls.outer, calls.emit, calls.serves, calls.flow = a.name, n.round, n.emit(), false, n.flow
	calls.session = nil // the session keeps the call of the agent, and no call that the nested run makes
	calls.limits = cmp.Or(calls.limits, new(a.limits))
	if calls.known != nil { // this conversation knows nothing of the files that the other one read
		calls.known = new(confine.Known)
	}
	calls.maxBytes = cmp.Or(calls.maxBytes, resultBytes) // the results of --call and --serve are whole, but here a model reads them
	if calls.box, err = n.round.box.narrowed(args.List("tools"), args.Has("tools")); err != nil {
		return nil, err
	}
	calls.cmdLines = calls.cmdLines && calls.box.byName[commandTool] != nil
	l := &loop{
		client: a.client.Fork(), request: request, tally: &n.tally, caller: &calls, schemaFrom: "the schema",
	}
	l.schema, err = answerSchema(l.schemaFrom, request.Schema, func(code, server, message string) {
		l.emit(&event.Warning{Code: code, Server: server, Message: message})
	})
	if err != nil {
		return nil, err
	}
	request.Tools = calls.box.offered()
	request.Messages, l.frame = withSystem([]stream.Message{{Role: stream.User, Parts: []stream.Part{{Text: prompt}}}},
		args.Text("system"), args.Has("system"), func() string { return calls.box.frame(calls.cmdLines) })
	return l, nil
}

// emit emits the events of a nested run. Each of its calls is progress of its own call.
func (n *nestedRun) emit() func(event.Event) error {
	made := 0
	return func(e event.Event) error {
		if c, ok := e.(*event.Call); ok {
			made++
			n.progress(wire.Progress{Progress: strconv.AppendInt(nil, int64(made), 10), Message: c.Name})
		}
		return n.round.emit(&event.Nested{Parent: n.id, Event: e})
	}
}

// narrowed is the toolbox of a nested run. It has the tools that the globs match, or
// all if no globs are given, but neither an agent nor the tool that finds tools.
func (b *toolbox) narrowed(globs []string, given bool) (*toolbox, error) {
	n := &toolbox{byName: map[string]*tool{}}
	for _, t := range b.all {
		if t.conn.Nest != nil || t.conn.Name == finderServer || given && !t.isLike(globs) {
			continue
		}
		n.byName[t.name] = t
		n.all = append(n.all, t)
		if !slices.Contains(n.conns, t.conn) {
			n.conns = append(n.conns, t.conn)
		}
	}
	for _, glob := range globs {
		if !slices.ContainsFunc(n.all, func(t *tool) bool { return t.isLike([]string{glob}) }) {
			return nil, errors.New("tools: no tool that a nested run can have is named like " + strconv.Quote(glob))
		}
	}
	return n, nil
}
