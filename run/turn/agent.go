package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/shell"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/servers"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
)

// An Agent is another model that accepts tasks: the built-in server of one --agent, with the tools
// run and continue. A call of run is a nested run: a loop with the model of a profile that uses the
// tools, gate, limits and outputs of the outer run. It is only one level deep. A call of continue
// continues its conversation, under the current limits and labels.
type Agent struct {
	Name     string // of its server
	Endpoint *invocation.Endpoint
	Client   *stream.Client // each nested run uses a fork of it

	cfg *config.Config // the flags for its profile
}

type nestedRun struct {
	agent    string
	round    *round // round of the call
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
		a := &Agent{Name: name, cfg: invocation.ForProfile(v.Config, v.Settings, profile)}
		p.Agents = append(p.Agents, a)
		told := a.server(v.Settings.ProfileModel(profile), nil, nil)
		s := servers.Builtin(told, "")
		s.Agent, s.Parallel = true, v.Settings.ProfileParallel(profile)
		v.Servers = append(v.Servers, s)
	}
	return nil
}

// ResolveAgents resolves the models of the agents, for a run that may make calls. All clients of a
// run share one recording.
func (p *Plan) ResolveAgents(ctx context.Context) (err error) {
	var first *stream.Client
	if p.Inv.Model != nil {
		first = p.Inv.Model.Client
	}
	for _, a := range p.Agents {
		if a.Endpoint, err = invocation.ResolveModel(ctx, a.cfg, p.Inv.Settings, p.Inv.Warn); err != nil {
			return failure.Within("--agent", err)
		}
		if _, err = invocation.RequestOf(ctx, a.cfg, a.Endpoint); err != nil {
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

// CloseClient ends the shared recording of the model's and the agents' clients.
func (p *Plan) CloseClient() error {
	if m := p.Inv.Model; m != nil && m.Client != nil {
		return m.Client.Close()
	}
	if len(p.Agents) > 0 && p.Agents[0].Client != nil {
		return p.Agents[0].Client.Close()
	}
	return nil
}

func (p *Plan) agentOf(c *toolbox.Connection) *Agent {
	return p.Agents[slices.IndexFunc(p.Agents, func(a *Agent) bool { return a.Name == c.Name })]
}

// server is the tool server of the agent. The effects of a nested run depend on the rules, so its
// tools declare none. run and goOn make the calls; nil for a server that only lists its tools.
func (a *Agent) server(model string, run, goOn toolserver.BuiltinFunc) *toolserver.Server {
	s := toolserver.New(a.Name, a.cfg.Version)
	about := "Gives a task to another model (" + model + "), which works on it by itself with the tools of this run, and returns its answer and an id. " +
		"It knows nothing of this conversation. Tasks that do not need each other's answers can be given in one reply."
	s.AddBuiltin(toolserver.Define("run", about, toolserver.RunsFree, toolserver.Effects{None: true},
		toolserver.Parameter{Name: "prompt", Kind: "string", About: "the complete task, with all information that it needs", Required: true},
		toolserver.Parameter{Name: "system", Kind: "string", About: "a system message"},
		toolserver.Parameter{Name: "tools", Kind: "strings", About: "the tools it has: patterns of their names, such as files__read_*; [] is none; all tools when absent"},
		toolserver.Parameter{Name: "schema", Kind: "object", About: "a JSON Schema that the answer must fit; the answer is JSON then"},
	), run)
	s.AddBuiltin(toolserver.Define("continue", "Sends one more message to the model that worked on a task of run, and returns its answer. The model still knows the earlier conversation.", toolserver.RunsFree, toolserver.Effects{None: true},
		toolserver.Parameter{Name: "id", Kind: "string", About: "id from the end of the answer of run", Required: true},
		toolserver.Parameter{Name: "prompt", Kind: "string", About: "the message: a question, a correction, the next part of the task", Required: true},
	), goOn)
	return s
}

// call makes a call of an agent's tool: a nested run, or its continuation.
func (a *Agent) call(ctx context.Context, r *round, c *call, progress func(wire.Progress)) (*wire.Result, error) {
	n := &nestedRun{agent: a.Name, round: r, call: c, progress: progress}
	with := func(do func(context.Context, *nestedRun, toolserver.Arguments) (*wire.Result, error)) toolserver.BuiltinFunc {
		return func(ctx context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
			if strings.TrimSpace(args.Text("prompt")) == "" {
				return nil, errors.New("the prompt is empty")
			}
			return do(ctx, n, args)
		}
	}
	return a.server("", with(a.run), with(a.goOn)).Call(ctx, c.tool.Name, c.args, progress)
}

// unfinished is the answer to the call of a nested run that ended together with the outer run. A
// later run may make the call again only if the nested run made no calls.
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

func (a *Agent) run(ctx context.Context, n *nestedRun, args toolserver.Arguments) (*wire.Result, error) {
	l, err := a.loop(ctx, n, args)
	if err != nil {
		return nil, err
	}
	return a.take(ctx, n, l, n.call.ID)
}

// goOn is the tool continue of an agent.
func (a *Agent) goOn(ctx context.Context, n *nestedRun, args toolserver.Arguments) (*wire.Result, error) {
	id := args.Text("id")
	if n.round.nested == nil {
		return nil, errors.New("this run makes only one call, so it has no nested run to continue")
	}
	l, state := n.round.nested.Lend(id)
	switch {
	case state == lruLent:
		return nil, fmt.Errorf("the nested run %.100q is working at this moment: wait for its answer", id)
	case state == lruDropped:
		return nil, fmt.Errorf("the conversation of the nested run %.100q was dropped: only the last %d used ones are kept, with at most %d MiB, and no interrupted one; begin a new one with all information that it needs", id, keptRuns, keptRunBytes>>20)
	case state != lruKept:
		return nil, fmt.Errorf("no nested run of this run has the id %.100q: ids are at the end of the answers of %s__run, and work until the run or the connection ends", id, a.Name)
	case l.nest.agent != a.Name:
		n.round.nested.Keep(id, l, l.weight())
		return nil, fmt.Errorf("the nested run %.100q is one of the agent %s: %s__continue goes on with it", id, l.nest.agent, l.nest.agent)
	}
	if err := a.prepareAgain(ctx, n, l, args.Text("prompt")); err != nil {
		n.round.nested.Drop(id)
		return nil, err
	}
	return a.take(ctx, n, l, id)
}

// take runs the loop of a nested run, stores its conversation under id, and answers the call. It
// returns when the nested run has ended, with ctx at the latest; every wait of the nested run has a
// limit. Failures of the model and limits of the nested run are errors that the calling model can
// read. Any other failure, or an exhausted shared budget, ends both runs.
func (a *Agent) take(ctx context.Context, n *nestedRun, l *Loop, id string) (*wire.Result, error) {
	n.call.nested = &n.tally.CallTally
	defer func() { n.call.labels, _ = l.flow.before(nil) }()
	defer l.finder.Close()
	err := l.Run(ctx)
	if err == nil {
		return n.told(l, id, l.Text.String()), nil
	}
	f := failure.Of(err)
	shared := n.round.budget != nil && errors.Is(err, errUsedUp)
	replay := f.Model.Kind == string(stream.Mismatch) // it does not fit the recording
	if ctx.Err() != nil || shared || replay || f.Status != failure.StatusModel && f.Status != failure.StatusLimit {
		n.call.answer = n.unfinished(ctx, err)
		if ctx.Err() == nil {
			n.round.stop(err)
		}
		if n.round.nested != nil {
			n.round.nested.Drop(id)
		}
		return nil, err
	}
	l.emit(&event.Warning{Code: "agent_failed", Server: a.Name, Message: strings.Join(append([]string{"agent " + a.Name + ": " + f.Message}, f.Hints...), "; ")})
	text := Prefix + "the nested run failed: " + f.Message
	if errors.Is(err, failure.ErrLength) && len(l.Text) > 0 {
		text += "\nIts text so far:\n" + l.Text.String()
	}
	result := n.told(l, id, text)
	result.IsError = true
	return result, nil
}

func (a *Agent) loop(ctx context.Context, n *nestedRun, args toolserver.Arguments) (*Loop, error) {
	cfg := *a.cfg
	cfg.Schema = string(args["schema"])
	request, err := invocation.RequestOf(ctx, &cfg, a.Endpoint)
	if err != nil {
		return nil, err
	}
	box, err := n.round.box.Narrowed(args.List("tools"), args.Has("tools"))
	if err != nil {
		return nil, err
	}
	l := &Loop{model: &invocation.Model{Endpoint: a.Endpoint, Request: request, Client: a.Client.Fork()}, form: answerForm{from: "the schema"}, Tally: &n.tally, caller: n.caller(box)}
	l.lines.enabled = l.lines.enabled && box.Tool(shell.CommandTool) != nil
	l.model.Schema, err = invocation.AnswerSchema(l.form.from, request.Schema, func(code, server, message string) {
		l.emit(&event.Warning{Code: code, Server: server, Message: message})
	})
	if err != nil {
		return nil, err
	}
	l.finder, request.Tools, err = toolbox.StartFinder(ctx, n.round.plan.Inv, box, nil, true)
	if err != nil {
		return nil, err
	}
	frame := 0
	request.Messages, frame = n.round.plan.WithSystem([]stream.Message{userMessage(args.Text("prompt"))},
		System{args.Text("system"), args.Has("system")}, box, l.lines.enabled)
	l.useTrimmer(frame)
	l.trimmer.Drops = true
	l.stored.resumes = true // if it is continued, with calls that a limit left open
	return l, nil
}

func userMessage(text string) stream.Message {
	return stream.Message{Role: stream.User, Parts: []stream.Part{{Text: text}}}
}

// prepareAgain prepares the loop of a nested run that has ended for another run n with one more
// message. Its tools, its schema and its knowledge of files stay; the labels of both conversations
// are combined. Nothing is allowed by the earlier run: each call is decided again.
func (a *Agent) prepareAgain(ctx context.Context, n *nestedRun, l *Loop, prompt string) (err error) {
	before := l.caller
	l.caller = n.caller(before.box)
	l.results, l.known, l.lines = before.results, before.known, before.lines
	l.flow.join(before.flow)
	l.Tally, l.trimmer.Emit = &n.tally, l.emit
	l.form.told, l.paused, l.text = false, paused{}, textUse{}
	l.stored.later = []stream.Message{userMessage(prompt)}
	l.finder, l.model.Request.Tools, err = toolbox.StartFinder(ctx, n.round.plan.Inv, before.box, l.Messages(), true)
	l.model.Request.Tools = l.results.offer(l.model.Request.Tools, false)
	return err
}

// caller answers the calls of the nested run, with the gate, options and outputs of the outer run
// but its own tools.
func (n *nestedRun) caller(box *toolbox.Toolbox) *caller {
	c := *n.round.caller
	c.nest, c.emit, c.box = n, n.emit(), box
	c.flow = n.round.flow.nested(n.call, n.agent)
	c.rounds = cmp.Or(c.rounds, n.round.plan.newRounds()) // for a call without a loop
	c.budget = cmp.Or(c.budget, n.round.plan.newBudget()) // for a call of a host
	c.memory = memory{}                                   // the session stores the agent's call, but not the calls of the nested run
	c.serves, c.command = false, nil
	c.maxBytes = cmp.Or(c.maxBytes, resultBytes)
	if n.round.known != nil { // this conversation does not know the files that the outer one read
		c.known = new(confine.Known)
	}
	return &c
}

// emit emits the events of a nested run. Each of its calls is progress of the agent's call.
func (n *nestedRun) emit() func(event.Event) error {
	made := 0
	return func(e event.Event) error {
		if c, ok := e.(*event.Call); ok {
			made++
			n.progress(wire.Progress{Progress: strconv.AppendInt(nil, int64(made), 10), Message: c.Name})
		}
		return n.round.emit(event.Inside(eventID(n.call), e))
	}
}

// mayNestBeside reports whether c is a nested run that may run in parallel to others. A plan and a
// recording need a fixed order. With --egress ask or deny, the labels of one also apply to the next.
func (r *round) mayNestBeside(c *call) bool {
	o := r.plan.Inv.Config
	return c.tool.Conn.Agent && c.tool.Conn.Parallel != 1 && !r.flow.strict && r.plan.staging == nil && o.Record == "" && o.Replay == ""
}

// besideNested waits, if c may change something, until no other nested run makes such a call.
// Within one conversation such calls already run alone.
func (r *round) besideNested(ctx context.Context, c *call) (release func()) {
	if r.nest == nil || r.command != nil || c.tool.ReadOnly { // a command has acquired it for its programs
		return func() {}
	}
	return toolbox.Acquire(ctx, r.plan.changes)
}
