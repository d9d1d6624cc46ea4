package turn

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
	"toolpipe/run/finder"
	"toolpipe/run/invocation"
	"toolpipe/run/servers"
	"toolpipe/run/settings"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
)

// An Agent is another model that can be given tasks: the built-in server of one
// --agent, with the tool run. A call of it is a nested run: a loop with the model of
// a profile, over the tools, the gate, the limits and the outputs of the run that
// the call belongs to. It is one level deep.
type Agent struct {
	Name     string // of its server
	Endpoint *settings.Endpoint
	Client   *stream.Client // each nested run has a fork of it

	cfg    *config.Config // the flags, as they count for its profile
	limits limits         // what a call may use up that no loop makes (--call, --serve)
}

// A nestedRun is the call of an agent.
type nestedRun struct {
	agent    string
	round    *round // the round of the call
	call     *call
	progress func(wire.Progress)
	tally    Tally
}

func (p *Plan) addAgents() error {
	v := p.Inv
	for _, value := range v.Config.Agents {
		name, profile, err := v.Settings.ParseAgent(value)
		if err != nil {
			return err
		}
		if servers.Find(v.Servers, name) != nil {
			return failure.UsageError([]string{"--agent NAME=PROFILE gives it another name"}, "--agent: another server is named %q", name)
		}
		a := &Agent{Name: name, cfg: settings.ForProfile(v.Config, v.Settings, profile), limits: *p.newLimits()}
		p.Agents = append(p.Agents, a)
		told := a.server(v.Settings.ProfileModel(profile), nil)
		v.Servers = append(v.Servers, servers.Server{
			Spec: mcp.Spec{Name: name, Local: told.Pipe}, Trusted: true, Traits: toolbox.BuiltinTraits(told), Agent: true,
		})
	}
	return nil
}

// ResolveAgents finds the models of the agents, for a run that may make calls. All
// clients of a run have one recording.
func (p *Plan) ResolveAgents(ctx context.Context) (err error) {
	var first *stream.Client
	if p.Inv.Model != nil {
		first = p.Inv.Model.Client
	}
	for _, a := range p.Agents {
		if a.Endpoint, err = settings.ResolveModel(ctx, a.cfg, p.Inv.Settings, p.Inv.Warn); err != nil {
			return failure.Within("--agent", err)
		}
		if _, err = settings.Request(ctx, a.cfg, a.Endpoint); err != nil {
			return failure.Within("--agent", err)
		}
		if a.Endpoint.Beside = first; first == nil {
			a.Endpoint.Record = p.Inv.Config.Record
		}
		if a.Client, err = p.Inv.NewClient(ctx, a.Endpoint); err != nil {
			return err
		}
		first = cmp.Or(first, a.Client)
	}
	return nil
}

// CloseClient ends the recording of the model's client and the agents', which is one.
func (p *Plan) CloseClient() error {
	if m := p.Inv.Model; m != nil && m.Client != nil {
		return m.Client.Close()
	}
	if len(p.Agents) > 0 && p.Agents[0].Client != nil {
		return p.Agents[0].Client.Close()
	}
	return nil
}

// agentOf is the agent whose server a connection is.
func (p *Plan) agentOf(c *toolbox.Connection) *Agent {
	return p.Agents[slices.IndexFunc(p.Agents, func(a *Agent) bool { return a.Name == c.Name })]
}

// server is the tool server of the agent. What a nested run may do depends on what
// the rules allow it, so its tool promises nothing. run makes the calls; nil for a server
// that only tells its tool.
func (a *Agent) server(model string, run toolserver.BuiltinFunc) *toolserver.Server {
	s := toolserver.New(a.Name, a.cfg.Version)
	about := "Gives a task to another model (" + model + "), which works on it by itself with the tools of this run, and returns its answer. " +
		"It knows nothing of this conversation."
	s.AddBuiltin(toolserver.Define("run", about, toolserver.RunsFree, toolserver.Effects{},
		toolserver.Parameter{Name: "prompt", Kind: "string", About: "the whole task, with all that has to be known for it", Required: true},
		toolserver.Parameter{Name: "system", Kind: "string", About: "a system message"},
		toolserver.Parameter{Name: "tools", Kind: "strings", About: "which tools it has: patterns over their names, such as files__read_*; [] is none, and without this it has all"},
		toolserver.Parameter{Name: "schema", Kind: "object", About: "a JSON Schema that the answer must fit; the answer is JSON then"},
	), run)
	return s
}

// call makes a call of the agent's tool, which is a nested run.
func (a *Agent) call(ctx context.Context, r *round, c *call, progress func(wire.Progress)) (*wire.Result, error) {
	n := &nestedRun{agent: a.Name, round: r, call: c, progress: progress}
	return a.server("", func(ctx context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
		return a.run(ctx, n, args)
	}).Call(ctx, c.tool.Name, c.args, progress)
}

// unfinished is the answer to the call of a nested run that ended together with the
// run that it belongs to. A later run may take the call up again only if the nested
// run has made none itself.
func (n *nestedRun) unfinished(ctx context.Context, err error) *answer {
	why := failure.Of(err).Message
	switch {
	case n.tally.Unknown:
		return ownAnswer(event.ResultUnknown, "outcome unknown: the nested run ended: "+why)
	case n.tally.Ran:
		return ownAnswer(event.ResultFailed, "the nested run ended before its answer, and had made calls: "+why)
	}
	return notRun(ctx)
}

// run is the tool of an agent. It returns when the nested run has ended: at the latest
// with ctx, and each wait of the nested run has a bound of its own. Failures of the model
// and limits are an error that the calling model can read; what would end a run ends both.
func (a *Agent) run(ctx context.Context, n *nestedRun, args toolserver.Arguments) (*wire.Result, error) {
	n.call.nested = &n.tally.CallTally
	flow := n.round.flow.nested(n.call, a.Name)
	defer func() { n.call.labels, _ = flow.before(nil) }()
	l, err := a.loop(ctx, n, flow, args)
	if err != nil {
		return nil, err
	}
	defer l.finder.Close()
	if err = l.Run(ctx); err == nil {
		return toolserver.TextResult(l.Text.String()), nil
	}
	f := failure.Of(err)
	if ctx.Err() != nil || f.Status != failure.StatusModel && f.Status != failure.StatusLimit {
		n.call.answer = n.unfinished(ctx, err)
		if ctx.Err() == nil {
			n.round.stop(err)
		}
		return nil, err
	}
	l.emit(&event.Warning{Code: "agent_failed", Server: a.Name, Message: strings.Join(append([]string{"agent " + a.Name + ": " + f.Message}, f.Hints...), "; ")})
	text := Prefix + "the nested run failed: " + f.Message
	if errors.Is(err, failure.ErrLength) && len(l.Text) > 0 {
		text += "\nIts text so far:\n" + l.Text.String()
	}
	return nil, errors.New(text)
}

func (a *Agent) loop(ctx context.Context, n *nestedRun, flow *flow, args toolserver.Arguments) (*Loop, error) {
	prompt := args.Text("prompt")
	if strings.TrimSpace(prompt) == "" {
		return nil, errors.New("the prompt is empty")
	}
	cfg := *a.cfg
	cfg.Schema = string(args["schema"])
	request, err := settings.Request(ctx, &cfg, a.Endpoint)
	if err != nil {
		return nil, err
	}
	calls, err := n.caller(flow, cmp.Or(n.round.limits, new(a.limits)), args)
	if err != nil {
		return nil, err
	}
	l := &Loop{model: &invocation.Model{Endpoint: a.Endpoint, Request: request, Client: a.Client.Fork()}, form: answerForm{from: "the schema"}, Tally: &n.tally, caller: calls}
	l.model.Schema, err = invocation.AnswerSchema(l.form.from, request.Schema, func(code, server, message string) {
		l.emit(&event.Warning{Code: code, Server: server, Message: message})
	})
	if err != nil {
		return nil, err
	}
	l.finder, request.Tools, err = finder.StartNested(ctx, n.round.plan.Inv, calls.box)
	if err != nil {
		return nil, err
	}
	frame := 0
	request.Messages, frame = n.round.plan.WithSystem([]stream.Message{{Role: stream.User, Parts: []stream.Part{{Text: prompt}}}},
		System{args.Text("system"), args.Has("system")}, calls.box, calls.lines.enabled)
	l.useTrimmer(frame)
	l.trimmer.Drops = true
	return l, nil
}

// caller answers the calls of the nested run: with the gate, the options and the outputs
// of the run that it is nested in, and with tools of its own.
func (n *nestedRun) caller(flow *flow, limits *limits, args toolserver.Arguments) (*caller, error) {
	box, err := n.round.box.Narrowed(args.List("tools"), args.Has("tools"))
	if err != nil {
		return nil, err
	}
	c := *n.round.caller
	c.nest, c.emit, c.flow, c.limits, c.box = n, n.emit(), flow, limits, box
	c.session = nil // the session keeps the call of the agent, and no call that the nested run makes
	c.serves = false
	c.maxBytes = cmp.Or(c.maxBytes, resultBytes) // the results of --call and --serve are whole, but here a model reads them
	c.lines.enabled = c.lines.enabled && box.Tool(commandTool) != nil
	if c.known != nil { // this conversation knows nothing of the files that the other one read
		c.known = new(confine.Known)
	}
	return &c, nil
}

// emit emits the events of a nested run. Each of its calls is progress of its own call.
func (n *nestedRun) emit() func(event.Event) error {
	made := 0
	return func(e event.Event) error {
		if c, ok := e.(*event.Call); ok {
			made++
			n.progress(wire.Progress{Progress: strconv.AppendInt(nil, int64(made), 10), Message: c.Name})
		}
		return n.round.emit(&event.Nested{Parent: n.call.ID, Event: e})
	}
}
