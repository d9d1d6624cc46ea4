// Package run is the program: it takes one invocation as plain data and the
// standard streams, lets a model and tool servers take turns, and says how it
// ended. Only run translates between stream, mcp and approve.
//
// A turn is one reply of the model, a round its calls and their answers.
//
// On every path each call is answered exactly once and in order, or the run ends;
// no tool runs without a verdict that allows it; every wait has a bound, and no
// process that was started outlives the run.
package run

import (
	"context"
	"slices"
	"strconv"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp/confine"
	"toolpipe/mcp/oauth"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/face"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/run/schema"
	"toolpipe/run/session"
	"toolpipe/run/stdio"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
)

// Run does what cfg says. It returns when the end event was written and all that
// was started has ended. The error is nil or a *failure.Error, and was printed.
// ctx cancels the run; for a signal its cause should be *failure.Interrupted.
func Run(ctx context.Context, cfg *config.Config, s stdio.Streams) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &runner{cfg: cfg, began: time.Now(), box: &toolbox{}}
	r.outputs = newOutputs(ctx, cfg, s, r.conversation)
	if r.text == nil || cfg.Log != "" {
		cfg.WatchSignals()
	}
	err := cfg.Validate()
	if err == nil && cfg.Log != "" {
		err = r.openLog(ctx, cfg.Log)
	}
	if cfg.Timeout > 0 {
		defer goroutine.AfterFunc(cfg.Timeout, func() { cancel(&failure.Overtime{Limit: cfg.Timeout, Awaited: r.face.Awaited()}) }).Stop()
	}
	defer goroutine.AfterContext(ctx, r.face.Interrupted)()
	if err == nil {
		err = r.guarded(ctx)
	}
	if err = r.end(ctx, err); err != nil {
		face.PrintError(ctx, r.streams.Err, r.face.Color, err)
	}
	return err
}

// A runner is one run:
//
//	stdin ──► input ──► messages ─┐                        ┌─► text, ndjson,
//	                              ▼                        │   json, messages ──► stdout
//	 stream.Client ◄──── loop ── Emit(event) ──────────────┼─► log
//	                     │  ▲                              └─► face ──► stderr
//	                     ▼  │ one tool message per call, in order
//	                    round ──► approve.Gate ──► /dev/tty
//	                     │
//	                  toolbox ──► mcp.Session ──► child process | HTTP | in-process
type runner struct {
	*outputs
	cfg       *config.Config
	began     time.Time
	box       *toolbox
	messages  []stream.Message // what the conversation begins with
	session   *session.File    // nil: there is none
	system    string           // the system message that the flags give
	ownSystem bool             // the flags give a system message, which may be empty
	loop      *loop            // the turns with the model; nil until the first request
	known     *confine.Known   // the files that the model knows; nil without --refresh
	tally     tally

	// What flags, environment, config and policy come to. Nothing is started for it.
	settings *config.Settings
	servers  []config.Server
	unused   []config.Server // those that flags, profile or files leave out
	store    *oauth.Store    // where the logins at servers are kept
	gate     *approve.Gate
	policy   string                  // SHA-256 over all policy files
	locked   map[string]lockedItem   // nil: there is no lock
	pinned   map[string][]lockedItem // the tools of the servers that start later, by the names of these
	endpoint *config.Endpoint        // of the model, if the mode needs one, as request and client are
	request  *stream.Request
	client   *stream.Client
	agents   []*agent
	schema   *schema.Schema // the schema that the answer must fit; nil: none
}

// guarded does the work of the run and makes a panic its error, so that the run can
// still end in order.
func (r *runner) guarded(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = goroutine.NewPanic(p)
		}
	}()
	if r.cfg.Mode == config.Check {
		return r.check(ctx)
	}
	if err := r.configure(ctx); err != nil {
		return err
	}
	switch r.cfg.Mode {
	case config.SignIn, config.SignOut, config.ListLogins:
		return r.logins(ctx)
	}
	if r.cfg.Session != "" {
		if done, err := r.openSession(ctx); done || err != nil {
			return err
		}
	}
	if err := r.resolve(ctx); err != nil {
		return err
	}
	return r.work(ctx)
}

// configure reads what is configured: the settings, the servers and where their
// logins are.
func (r *runner) configure(ctx context.Context) (err error) {
	c := r.cfg
	if r.settings, err = c.LoadSettings(r.warn); err != nil {
		return err
	}
	note := func(code, server, message string) {
		if code == "server_renamed" { // which is only of interest to a user who wants to know more
			r.face.VerboseLine(message)
		} else {
			r.warn(code, server, message)
		}
	}
	if r.servers, r.unused, err = c.ConfiguredServers(ctx, r.settings, r.streams.In, note); err != nil {
		return err
	}
	c.AddSecrets(r.secrets, r.settings, r.servers)
	r.store, err = c.LoginStore(r.settings, r.secrets, func(code, url, message string) {
		name := ""
		if i := slices.IndexFunc(r.servers, func(s config.Server) bool { return s.URL == url && url != "" }); i >= 0 {
			name = r.servers[i].Name
		}
		r.warn(code, name, message)
	})
	for i := range r.servers {
		if r.servers[i].URL != "" {
			r.servers[i].Logins = r.store
		}
	}
	return err
}

// resolve turns flags, environment, config and policy into what the run
// needs. Nothing is started yet, so that every usage error is cheap.
func (r *runner) resolve(ctx context.Context) (err error) {
	c := r.cfg
	builtins, err := builtinServers(c, r.settings, ownFiles(c, r.settings, r.servers), r.outputs)
	if err != nil {
		return err
	}
	r.servers = append(r.servers, builtins...)
	if err := r.addAgents(); err != nil {
		return err
	}
	if r.gate, r.policy, err = makeGate(c, r.settings, r.servers, r.outputs); err != nil {
		return err
	}
	if c.ToolsLock != "" && c.Mode != config.UpdateLock {
		if r.locked, err = readLock(c.ToolsLock, r.warn); err == nil && c.StartsLater() {
			err = r.pin()
		}
		if err != nil {
			return err
		}
	}
	r.leaveOut()
	if err := r.checkUsable(); err != nil {
		return err
	}
	if c.Mode == config.Answer || c.Mode == config.ListModels {
		if err := r.resolveModel(ctx); err != nil {
			return err
		}
	}
	if !c.MakesCalls() {
		return nil
	}
	return r.resolveAgents(ctx)
}

func (r *runner) resolveModel(ctx context.Context) (err error) {
	c := r.cfg
	if r.endpoint, err = c.ResolveModel(ctx, r.settings, r.warn); err != nil {
		return err
	}
	if r.endpoint.Note != "" {
		r.face.VerboseLine(r.endpoint.Note)
	}
	if r.request, err = c.Request(ctx, r.endpoint); err != nil {
		return err
	}
	if len(r.servers) > 0 && slices.ContainsFunc(r.request.Params, func(p stream.Param) bool { return p.Name == "tools" }) {
		return failure.Usage("param tools: it would replace the tools of the servers")
	}
	if r.schema, err = answerSchema("--schema", r.request.Schema, r.warn); err != nil {
		return err
	}
	r.client, err = newClient(ctx, r.endpoint, r.outputs)
	return err
}

func (r *runner) work(ctx context.Context) error {
	switch r.cfg.Mode {
	case config.Answer:
		return r.ask(ctx)
	case config.ListModels:
		return r.listModels(ctx)
	}
	data, err := r.connectAndRead(ctx)
	if err != nil {
		return err
	}
	if err := r.useServers(); err != nil {
		return err
	}
	if err := r.start(); err != nil {
		return err
	}
	return r.inspect(ctx, data)
}

// ask puts the conversation's beginning together while the servers start, and lets
// the model answer it.
func (r *runner) ask(ctx context.Context) error {
	c := r.cfg
	reads := c.ReadsInput(r.streams.InTerminal)
	if c.Input != "messages" && !reads && !c.GivesPrompt() && !r.session.Unfinished() {
		return input.EmptyPrompt(c, r.streams.InTerminal)
	}
	if len(r.servers) > 0 || len(c.Files) > 0 || reads && !r.streams.InFile { // the request has to wait
		goroutine.Start(c.WatchSignals)
	}
	remember := func(string, []byte) {}
	if c.Refresh {
		r.known = new(confine.Known)
		protected := ownFiles(c, r.settings, r.servers)
		remember = func(path string, data []byte) { r.known.Attach(path, data, confine.Spec{Protected: protected}) }
	}
	attached, err := input.Attachments(c, ctx, r.endpoint.API, remember)
	if err != nil {
		return err
	}
	if r.session == nil {
		if r.system, r.ownSystem, err = input.SystemText(c, ctx); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(r.servers, r.startsFirst) || reads && !r.streams.InFile {
		r.client.Warm(ctx)
	}
	data, err := r.connectAndRead(ctx)
	if err != nil {
		return err
	}
	inputErr := r.begin(data, attached) // reported only when the servers are in order
	if err := r.useServers(); err != nil {
		return err
	}
	if inputErr != nil {
		return inputErr
	}
	if from := r.client.Adopt(r.request, r.messages); from != "" {
		r.warn("state_dropped", "", "what the conversation keeps for "+from+" is not sent: the endpoint or the model is another one")
	}
	stored := len(r.session.Messages())
	added, err := r.withServerMessages(ctx, r.messages[stored:])
	if err != nil {
		return err
	}
	return r.answer(ctx, slices.Concat(r.messages[:stored], added))
}

// useServers puts the tools of the connected servers under the rules that flags,
// policy and lock make.
func (r *runner) useServers() error {
	if err := r.checkServers(); err != nil {
		return err
	}
	r.box.index(r.cfg.Tools, r.cfg.ExcludeTools, r.warn)
	known := r.box.known()
	for _, s := range r.unused { // a rule for a server that this run does not use is no mistake
		known = append(known, approve.Server{Name: s.Name, Spelling: s.Spelling, Root: s.Root})
	}
	if r.cfg.FindsTools() { // its server starts when the tools of all others are known
		known = append(known, approve.Server{Name: finderServer, Started: true, Tools: []string{finderTool}})
	}
	warnings, err := r.gate.Check(known)
	if err != nil {
		return failure.Usage("%v", err)
	}
	for _, w := range warnings {
		r.warn("pattern_unused", "", w)
	}
	r.box.withhold(r.gate)
	r.box.label(r.gate)
	if r.locked == nil {
		return nil
	}
	diff := lockDiff(r.inUse(""), r.box.locks(r.locked))
	if diff == "" {
		return nil
	}
	return &failure.Error{Status: failure.StatusServer, Message: "the tools are not those of " + strconv.Quote(r.cfg.ToolsLock) + ":" + diff, Hints: []string{reviewLock}}
}

// answer lets model and tools take turns until the answer is done.
func (r *runner) answer(ctx context.Context, msgs []stream.Message) error {
	c := r.cfg
	finder, tools, err := r.startFinder(ctx, msgs)
	if err != nil {
		return err
	}
	r.request.Tools = tools
	frame := 0
	r.request.Messages, frame = withSystem(msgs, r.system, r.ownSystem, func() string { return r.box.frame(c.CmdLines) })
	r.loop = &loop{
		client: r.client, request: r.request, frame: frame, tally: &r.tally,
		schema: r.schema, schemaFrom: "--schema",
		joins:   r.text != nil && c.Log == "",
		outside: !slices.ContainsFunc(r.servers, func(s config.Server) bool { return s.Local != nil }),
		resume:  c.Input == "messages" || c.Session != "",
		caller:  r.newCaller(),
		finder:  finder,
	}
	r.loop.limits = r.limits()
	r.loop.flow.begin(msgs, r.box)
	r.useSession()
	// Without tools the first turn is mostly the last, so its text need not be held
	// back for the end; and no copy of it is kept, unless the log or the search for
	// command lines needs one.
	if r.text != nil && len(r.request.Tools) == 0 && r.schema == nil && !c.Holds() {
		r.text.Stream = true
		r.loop.printed = c.Log == "" && !c.CmdLines && c.Session == ""
		r.request.TextPassing = r.loop.printed
	}
	if err := r.start(); err != nil {
		return err
	}
	goroutine.Start(c.WatchSignals) // beside the request: they take the time in which it is answered
	if err := r.loop.run(ctx); err != nil {
		return r.withResume(r.withModels(ctx, err))
	}
	if language, ok := c.Block(); ok {
		return needBlock(r.tally.text, language)
	}
	return nil
}

// start emits the start event with what is known by now.
func (r *runner) start() error {
	e := &event.Start{Version: r.cfg.Version, Policy: r.policy, Servers: r.box.infos()}
	if r.endpoint != nil {
		e.Model, e.API = r.endpoint.Model, r.endpoint.API
	}
	if r.settings != nil {
		e.ConfigRules = len(r.settings.Rules)
	}
	return r.Emit(e)
}

// conversation gives the messages that --output messages prints, as JSON.
func (r *runner) conversation(yield func([]byte) bool) {
	all := r.messages
	if r.loop != nil {
		all = r.loop.request.Messages[r.loop.frame:]
	}
	var b []byte
	for i := range all {
		if b = stream.AppendChatMessage(b[:0], &all[i]); !yield(b) {
			return
		}
	}
}
