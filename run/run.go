// Package run is the program: it takes one invocation as plain data and the
// standard streams, lets a model and tool servers take turns, and says how it
// ended.
//
//	stdin ──► input ──► messages ─┐                        ┌─► text, ndjson,
//	                              ▼                        │   json, messages ──► stdout
//	                     ┌────── loop ── emit(Event) ──────┼─► log
//	                     │        │  ▲                     └─► face ──► stderr
//	          stream.Client       ▼  │ one tool message per call, in order
//	                     │     caller ──► approve.Gate ──► /dev/tty
//	                     │        │
//	                     └──── toolbox ──► mcp.Session ──► child process | HTTP | in-process
//
// Its words: a turn is one reply of the model; a round is a turn's calls and
// their answers; an Event is something that happened, and an output turns
// events into bytes. run is the only translator between stream, mcp and
// approve, which know nothing of each other.
//
// What holds on every path: every call is answered exactly once and in order,
// or the run ends; no tool runs without a verdict that allowed it; start is
// the first event and end the last; stdout carries only the answer or events;
// every wait has a bound, and no process that was started outlives the run.
package run

import (
	"context"
	"os"
	"strconv"
	"time"

	"toolpipe/approve"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/face"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/run/stdio"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/secrets"
)

// Run does what cfg says and returns nil or an *Error, which it has printed,
// after the end event was written and everything that was started has ended. It is cancelled by
// ctx, whose cause should be *Interrupted for a signal.
func Run(ctx context.Context, cfg *config.Config, s stdio.Streams) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	set := &secrets.Set{}
	r := &runner{cfg: cfg, began: time.Now(), secrets: set, out: event.NewEmitter(set)}
	if !s.OutFile {
		s.Out = stdio.Bounded(ctx, s.Out, &r.readers)
	}
	s.Err = stdio.Bounded(ctx, s.Err, &r.readers)
	r.streams = s
	err := r.open(ctx)
	if cfg.Timeout > 0 {
		defer goroutine.AfterFunc(cfg.Timeout, func() { cancel(&failure.Overtime{Limit: cfg.Timeout, Awaited: r.face.Awaited()}) }).Stop()
	}
	defer goroutine.AfterContext(ctx, r.face.Interrupted)()
	if err == nil {
		err = r.guarded(ctx)
	}
	if err = r.end(ctx, err); err != nil {
		face.PrintError(ctx, s.Err, face.Colored(cfg.Color, s.ErrTerminal, cfg.Getenv), err)
	}
	return err
}

// runner is one run in progress.
type runner struct {
	cfg      *config.Config
	streams  stdio.Streams
	began    time.Time
	secrets  *secrets.Set // that must not show
	out      *event.Emitter
	readers  stdio.ReaderWaits
	face     *face.Face
	log      *os.File
	settings *config.Settings
	servers  []config.Server
	policy   string // SHA-256 over all policy files
	endpoint *config.Endpoint
	request  *stream.Request
	client   *stream.Client
	gate     *approve.Gate
	locked   map[string]lockedItem // nil: no lock
	box      *toolbox
	loop     *loop
	tally    tally
	messages []stream.Message  // what the run begins with
	text     *event.TextOutput // nil: the output is not text
}

// open makes the outputs. Only what cannot be a mistake in their own flags
// fails before them, so that every other error has its end event.
func (r *runner) open(ctx context.Context) error {
	c := r.cfg
	text := c.Output == "" || c.Output == "text"
	r.face = face.New(face.Options{
		Quiet: c.Quiet, Verbose: c.Verbose, Color: c.Color, Getenv: c.Getenv, Secrets: r.secrets,
		Frames: c.Mode == config.Answer, AnswerAtEnd: text && !c.Stream, DeniesUnapproved: c.Unapproved == "deny",
	}, r.streams)
	w := r.face.Stdout()
	switch c.Output {
	case "ndjson":
		r.out.Outs = append(r.out.Outs, &event.NDJSONOutput{W: w})
	case "json":
		r.out.Outs = append(r.out.Outs, &event.JSONOutput{W: w})
	case "messages":
		r.out.Outs = append(r.out.Outs, &event.MessagesOutput{W: w, Messages: r.conversation})
	default:
		r.out.Outs = append(r.out.Outs, r.textOutputs(w)...)
	}
	r.out.Outs = append(r.out.Outs, r.face) // after stdout, with which it may share a screen
	if r.streams.Suspend != nil {
		goroutine.Start(func() { r.face.Suspend(r.streams.Suspend) })
	}
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Log != "" {
		f, err := os.OpenFile(c.Log, os.O_WRONLY|os.O_APPEND|os.O_CREATE|stdio.OpenNonblock, 0o600)
		if err != nil {
			return config.OpenError("--log", c.Log, err)
		}
		r.log = f
		r.out.Outs = append(r.out.Outs, &event.NDJSONOutput{W: event.NewWriter(stdio.Bounded(ctx, stdio.Blocking(f), &r.readers), "--log "+config.ShellQuote(c.Log))})
	}
	return nil
}

// textOutputs are the answer as text, or what a list prints.
func (r *runner) textOutputs(w *event.Writer) []event.Output {
	terminal := r.streams.OutTerminal
	if r.cfg.Mode != config.Answer {
		return []event.Output{&event.ListOutput{W: w, Terminal: terminal, Full: r.cfg.Mode == config.DescribeTool}}
	}
	r.text = &event.TextOutput{W: w, Terminal: terminal, Stream: r.cfg.Stream || terminal}
	return []event.Output{r.text}
}

// guarded runs, and makes a panic the run's error.
func (r *runner) guarded(ctx context.Context) (err error) {
	defer recoverTo(&err)
	if err := r.resolve(ctx); err != nil {
		return err
	}
	return r.work(ctx)
}

// resolve turns flags, environment, config and policy into what the run
// needs. Nothing is started yet, so that every usage error is cheap.
func (r *runner) resolve(ctx context.Context) (err error) {
	c := r.cfg
	if r.settings, err = c.LoadSettings(); err != nil {
		return err
	}
	for _, w := range r.settings.Warnings {
		r.out.Emit(w)
	}
	if r.servers, err = c.ConfiguredServers(r.settings, r.warn); err != nil {
		return err
	}
	c.AddSecrets(r.secrets, r.settings, r.servers)
	builtins, err := builtinServers(c, r.settings, ownFiles(c, r.settings, r.servers), r.warn)
	if err != nil {
		return err
	}
	r.servers = append(r.servers, builtins...)
	if r.gate, err = r.makeGate(); err != nil {
		return err
	}
	if c.ToolsLock != "" && c.Mode != config.UpdateLock {
		if r.locked, err = readLock(c.ToolsLock, r.warn); err != nil {
			return err
		}
	}
	if c.Mode != config.Answer {
		return nil
	}
	if r.endpoint, err = c.ResolveModel(ctx, r.settings, r.warn); err != nil {
		return err
	}
	if r.request, err = c.Request(ctx, r.endpoint); err != nil {
		return err
	}
	return r.makeClient(ctx)
}

func (r *runner) warn(code, server, message string) {
	r.out.Emit(&event.Warning{Code: code, Server: server, Message: message})
}

// work connects to the servers while standard input is read, then does what
// the mode says.
func (r *runner) work(ctx context.Context) error {
	c := r.cfg
	var attached []stream.Part
	var system string
	var systemGiven bool
	var err error
	if c.Mode == config.Answer {
		if c.Input != "messages" && !c.ReadsInput(r.streams.InTerminal) && len(c.Args) == 0 && len(c.Files)+len(c.Resources) == 0 && c.Prompt == "" {
			return input.EmptyPrompt(c, r.streams.InTerminal)
		}
		if attached, err = input.Attachments(c, ctx); err != nil {
			return err
		}
		if system, systemGiven, err = input.SystemText(c, ctx); err != nil {
			return err
		}
		if len(r.servers) > 0 || c.ReadsInput(r.streams.InTerminal) && !r.streams.InFile {
			r.client.Warm(ctx) // there is something to wait for meanwhile
		}
	}
	data, err := r.connectAndRead(ctx)
	if err != nil {
		return err
	}
	var bad error
	if c.Mode == config.Answer {
		if r.messages, bad = input.Conversation(c, data, r.streams.InTerminal, attached); bad == nil {
			bad = input.AllSent(r.messages, r.endpoint.API)
		}
	}
	if err := r.checkServers(); err != nil {
		return err
	}
	r.box.index(c, r.warn)
	warnings, err := r.gate.Check(r.box.known())
	if err != nil {
		return failure.Usage("%v", err)
	}
	for _, w := range warnings {
		r.warn("pattern_unused", "", w)
	}
	r.box.withhold(r.gate)
	if r.locked != nil && c.Mode != config.UpdateLock {
		if err := r.checkLock(r.locked); err != nil {
			return err
		}
	}
	if c.Mode != config.Answer {
		return r.inspect(ctx, data)
	}
	if bad != nil {
		return bad
	}
	msgs, err := r.serverMessages(ctx, r.messages)
	if err != nil {
		return err
	}
	return r.answer(ctx, msgs, system, systemGiven)
}

// answer is the main job.
func (r *runner) answer(ctx context.Context, msgs []stream.Message, system string, systemGiven bool) error {
	c := r.cfg
	r.request.Tools = r.box.offered()
	if n := len(r.request.Tools); n > 128 {
		r.warn("many_tools", "", strconv.Itoa(n)+" tools are offered; some endpoints take 128 at most, --tools and --exclude-tools choose")
	}
	frame := 0
	msgs, frame = r.withSystem(msgs, system, systemGiven)
	r.request.Messages = msgs
	rounds := 8
	if c.MaxRounds != nil {
		rounds = *c.MaxRounds
	} else if r.settings.MaxRounds != nil {
		rounds = *r.settings.MaxRounds
	}
	r.loop = &loop{
		client: r.client, request: r.request, emit: r.out.Emit, flush: r.out.Flush, frame: frame, tally: &r.tally,
		limits: limits{rounds, c.MaxTotalTokens},
		schema: c.SchemaFile != "",
		resume: c.Input == "messages",
		calls:  r.newCaller(),
	}
	// Without tools the first turn is mostly the last, so its text need not wait;
	// and a second copy of what went out already is not kept, unless it is read.
	if r.text != nil && len(r.request.Tools) == 0 && c.SchemaFile == "" {
		r.text.Stream = true
		r.loop.printed = c.Log == "" && !c.CmdLines
		r.request.TextPassing = r.loop.printed
	}
	if err := r.start(); err != nil {
		return err
	}
	return r.loop.run(ctx)
}

func (r *runner) newCaller() *caller {
	c := r.cfg
	k := &caller{
		box: r.box, gate: r.gate, emit: r.out.Emit, flush: r.out.Flush, parallel: c.Parallel, maxBytes: int(c.MaxResultBytes),
		wholeResults: c.Output == "ndjson" || c.Log != "", dryRun: c.DryRun, denyUnapproved: c.Unapproved == "deny", cmdLines: c.CmdLines, say: r.face.Notef,
	}
	if k.parallel == 0 {
		k.parallel = 8
	}
	if k.maxBytes == 0 {
		k.maxBytes = 256 << 10
	}
	return k
}

// start emits the start event with what is known.
func (r *runner) start() error {
	e := &event.Start{Version: r.cfg.Version, Policy: r.policy, Servers: []event.ServerInfo{}}
	if r.endpoint != nil {
		e.Model, e.API = r.endpoint.Model, r.endpoint.API
	}
	if r.box != nil {
		e.Servers = r.box.infos()
	}
	if r.settings != nil {
		e.ConfigRules = len(r.settings.Rules)
	}
	return r.out.Emit(e)
}

// conversation gives the messages that --output messages prints, as JSON.
func (r *runner) conversation(yield func([]byte) bool) {
	all := r.messages
	if r.loop != nil {
		all = r.loop.conversation()
	}
	var b []byte
	for i := range all {
		if b = stream.AppendChatMessage(b[:0], &all[i]); !yield(b) {
			return
		}
	}
}
