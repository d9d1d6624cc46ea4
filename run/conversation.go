package run

import (
	"context"
	"slices"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/run/config"
	"toolpipe/run/input"
	"toolpipe/run/session"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
)

// A conversation is the mode that asks a model: what the model has been told, and the
// turns that it takes with the tools.
type conversation struct {
	*connector
	tally     *tally           // what the end event tells
	messages  []stream.Message // what it begins with
	session   *session.File    // nil: there is none
	system    string           // the system message that the flags give
	ownSystem bool             // the flags give a system message, which may be empty
	known     *confine.Known   // the files that the model knows; nil without --refresh
	loop      *loop            // the turns with the model; nil until the first request
}

// watchDelay is when a run without servers begins to watch signals. Until then there is
// nothing to end in order, so that a signal may end the process by itself. Watching takes
// two threads, which is a tenth of the time of a run that is answered at once.
const watchDelay = 20 * time.Millisecond

// run puts the conversation's beginning together while the servers start, and lets
// the model answer it.
func (v *conversation) run(ctx context.Context) error {
	c := v.cfg
	if answer := v.finished(); answer != nil {
		return v.printAnswer(answer)
	}
	reads := c.ReadsInput(v.streams.InTerminal)
	if c.Input != "messages" && !reads && !c.GivesPrompt() && !v.session.Unfinished() {
		return input.EmptyPrompt(c, v.streams.InTerminal)
	}
	v.client.Warm(ctx)
	if len(v.servers) == 0 {
		defer goroutine.AfterFunc(watchDelay, c.WatchSignals).Stop()
	} else if !c.NamesServers() { // otherwise Run has begun to watch
		goroutine.Start(c.WatchSignals)
	}
	remember := func(string, []byte) {}
	if c.Refresh {
		v.known = new(confine.Known)
		protected := v.ownFiles()
		remember = func(path string, data []byte) { v.known.Attach(path, data, confine.Spec{Protected: protected}) }
	}
	attached, err := input.Attachments(c, ctx, v.endpoint.API, remember)
	if err != nil {
		return err
	}
	if v.session == nil {
		if v.system, v.ownSystem, err = input.SystemText(c, ctx); err != nil {
			return err
		}
	}
	data, err := v.connectAndRead(ctx)
	if err != nil {
		return err
	}
	inputErr := v.begin(data, attached) // reported only when the servers are in order
	if err := v.useServers(); err != nil {
		return err
	}
	if inputErr != nil {
		return inputErr
	}
	if from := v.client.Adopt(v.request, v.messages); from != "" {
		v.warn("state_dropped", "", "what the conversation keeps for "+from+" is not sent: the endpoint or the model is another one")
	}
	stored := len(v.session.Messages())
	added, err := v.withServerMessages(ctx, v.messages[stored:])
	if err != nil {
		return err
	}
	return v.answer(ctx, slices.Concat(v.messages[:stored], added))
}

// answer lets model and tools take turns until the answer is done.
func (v *conversation) answer(ctx context.Context, msgs []stream.Message) error {
	c := v.cfg
	finder, tools, err := v.startFinder(ctx, msgs)
	if err != nil {
		return err
	}
	v.request.Tools = tools
	frame := 0
	v.request.Messages, frame = withSystem(msgs, v.system, v.ownSystem, func() string { return v.box.frame(c.CmdLines) })
	v.loop = &loop{
		client: v.client, request: v.request, frame: frame, tally: v.tally,
		schema: v.schema, schemaFrom: "--schema",
		joins:   v.text != nil && c.Log == "",
		outside: !slices.ContainsFunc(v.servers, func(s config.Server) bool { return s.Local != nil }),
		resume:  c.Input == "messages" || c.Session != "",
		caller:  v.newCaller(v.known),
		finder:  finder,
	}
	v.loop.limits = v.limits()
	v.loop.flow.begin(msgs, v.box)
	v.useSession()
	// Without tools the first turn is mostly the last, so its text need not be held
	// back for the end; and no copy of it is kept, unless the log or the search for
	// command lines needs one.
	if v.text != nil && len(v.request.Tools) == 0 && v.schema == nil && !c.Holds() {
		v.text.Stream = true
		v.loop.printed = c.Log == "" && !c.CmdLines && c.Session == ""
		v.request.TextPassing = v.loop.printed
	}
	if err := v.emitStart(); err != nil {
		return err
	}
	if err := v.loop.run(ctx); err != nil {
		return v.withResume(v.withModels(ctx, err))
	}
	if language, ok := c.Block(); ok {
		return needBlock(v.tally.text, language)
	}
	return nil
}

// asJSON gives the messages that --output messages prints, as JSON.
func (v *conversation) asJSON(yield func([]byte) bool) {
	all := v.messages
	if v.loop != nil {
		all = v.loop.request.Messages[v.loop.frame:]
	}
	var b []byte
	for i := range all {
		if b = stream.AppendChatMessage(b[:0], &all[i]); !yield(b) {
			return
		}
	}
}
