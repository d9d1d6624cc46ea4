package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/run/invocation"
	"toolpipe/run/session"
	"toolpipe/run/toolbox"
	"toolpipe/run/turn"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// A conversation is the mode that asks a model: the messages so far, and the turns that the model
// takes with the tools.
type conversation struct {
	inv      *invocation.Invocation
	plan     *turn.Plan
	tally    *turn.Tally      // counts for the end event
	messages []stream.Message // the first messages
	session  *session.File    // nil: there is none
	system   turn.System      // from the flags
	known    *confine.Known   // the files that the model knows; nil without --refresh
	loop     *turn.Loop       // nil until the first request
}

// watchDelay is how long a run without servers waits before it watches signals. Until then there is
// nothing to end in order, so a signal may kill the process. Watching takes two threads, which is a
// tenth of the time of a run that is answered at once.
const watchDelay = 20 * time.Millisecond

// run builds the first messages while the servers start, and then asks the model.
func (v *conversation) run(ctx context.Context) error {
	c := v.inv.Config
	reads := c.ReadsInput(v.inv.Streams.InTerminal)
	if c.Input != "messages" && !reads && !c.GivesPrompt() && !v.session.Unfinished() {
		return input.EmptyPrompt(c, v.inv.Streams.InTerminal)
	}
	v.inv.Model.Client.Warm(ctx)
	if len(v.inv.Servers) == 0 {
		defer goroutine.AfterFunc(watchDelay, c.WatchSignals).Stop()
	} else if !c.NamesServers() { // otherwise Run has begun to watch
		goroutine.Start(c.WatchSignals)
	}
	remember := func(string, []byte) {}
	if c.Refresh {
		v.known = new(confine.Known)
		protected := v.inv.OwnFiles()
		remember = func(path string, data []byte) { v.known.Attach(path, data, confine.Spec{Protected: protected}) }
	}
	attached, err := input.Attachments(c, ctx, remember)
	if err != nil {
		return err
	}
	if v.session == nil {
		if v.system.Text, v.system.Given, err = input.SystemText(c, ctx); err != nil {
			return err
		}
	}
	data, err := v.plan.Box.ConnectAndRead(ctx)
	if err != nil {
		return err
	}
	inputErr := v.begin(data, attached) // reported only after the servers are in order
	if err := v.plan.Box.UseServers(); err != nil {
		return err
	}
	if inputErr != nil {
		return inputErr
	}
	if err := v.plan.BeginStaging(ctx); err != nil {
		return err
	}
	if from := v.inv.Model.Client.Adopt(v.inv.Model.Request, v.messages); from != "" {
		v.inv.Warn("state_dropped", "", "the state that the conversation keeps for "+from+" is not sent: the endpoint or the model is a different one")
	}
	stored := len(v.session.Messages())
	added, err := v.withServerMessages(ctx, v.messages[stored:])
	if err != nil {
		return err
	}
	if stored > 0 {
		added = append(v.messages[:stored], added...)
	}
	return v.answer(ctx, added)
}

// answer lets model and tools take turns until there is an answer.
func (v *conversation) answer(ctx context.Context, msgs []stream.Message) error {
	c, request, text := v.inv.Config, v.inv.Model.Request, v.inv.Text
	find, tools, err := toolbox.StartFinder(ctx, v.inv, v.plan.Box, msgs, false)
	if err != nil {
		return err
	}
	frame := 0
	request.Tools = tools
	request.Messages, frame = v.plan.WithSystem(msgs, v.system, v.plan.Box, c.CmdLines)
	v.loop = v.plan.NewLoop(v.tally, find, v.known, frame)
	v.messages = nil // the loop has them
	v.useSession()
	// Without tools the first turn is mostly the last one, so its text is written as it comes. No
	// copy of it is kept unless the log, the session or the search for command lines needs one.
	if text != nil && len(request.Tools) == 0 && v.inv.Model.Schema == nil && !c.Holds() {
		text.Stream = true
		if c.Log == "" && !c.CmdLines && c.Session == "" {
			v.loop.PassText()
		}
	}
	if err := v.plan.Box.EmitStart(); err != nil {
		return err
	}
	if err := v.emitInput(msgs); err != nil {
		return err
	}
	if err := v.loop.Run(ctx); err != nil {
		return cmp.Or(v.noteEnd(err), v.withResume(v.withModels(ctx, err)))
	}
	if language, ok := c.Block(); ok {
		return needBlock(v.tally.Text.String(), language)
	}
	return nil
}

// emitInput writes the event that reports what the model is asked. Secrets are hidden before the
// text is cut, because a secret that was cut in two is not found.
func (v *conversation) emitInput(msgs []stream.Message) error {
	const looked = 16 * event.MaxInput
	c, e := v.inv.Config, &event.Input{Messages: len(msgs)}
	if c.Output != "ndjson" && c.Log == "" {
		return nil
	}
	for _, m := range slices.Backward(msgs) {
		if m.Role != stream.User || m.Output {
			continue
		}
		for _, p := range m.Parts {
			text := p.Text
			if p.JSON != nil {
				text = jsontext.Unquote(p.JSON)
			}
			e.Bytes += len(text)
			e.Text += text[:min(len(text), max(0, looked-len(e.Text)))]
		}
		break
	}
	e.Text = v.inv.Secrets.Content().HideString(e.Text)
	e.Text = strings.ToValidUTF8(e.Text[:min(len(e.Text), event.MaxInput)], "")
	return v.inv.Emit(e)
}

// asJSON yields the JSON messages that --output messages prints. Parts that were left out of
// requests are no longer in memory; they are read from the session.
func (v *conversation) asJSON(yield func([]byte, bool) bool) error {
	all := v.all()
	for i := range all {
		m, err := v.session.Whole(i, &all[i])
		if err != nil {
			return err
		}
		for piece, last := range stream.ChatMessage(m) {
			if !yield(piece, last) {
				return nil
			}
		}
	}
	return nil
}

// warnOfLength warns about an output that is too long for --input messages.
func (v *conversation) warnOfLength() {
	if v.inv.Config.Output != "messages" || v.inv.Config.Mode != config.Answer {
		return
	}
	size := v.session.Size()
	for i, all := 0, v.all(); v.session == nil && i < len(all); i++ {
		size += all[i].Size()
	}
	if size > config.MaxInput {
		v.inv.Warn("conversation_long", "", fmt.Sprintf("the conversation has about %d MiB, and --input messages reads at most %d MiB; --session FILE has no such limit", size>>20, config.MaxInput>>20))
	}
}

// all returns the messages so far.
func (v *conversation) all() []stream.Message {
	if v.loop != nil {
		return v.loop.Messages()
	}
	return v.messages
}

// needBlock is the error for an answer without a block to print. Prose must not replace the block,
// because the output may go to a shell.
func needBlock(answer, language string) error {
	if _, ok := event.FencedBlock(answer, language); ok {
		return nil
	}
	what := "no fenced block"
	if language != "" {
		what += " of the language " + strconv.Quote(language)
	}
	return &failure.Error{Status: failure.StatusModel, Message: "model: the answer has " + what, Hints: []string{"-o text shows the answer; the prompt can ask for one fenced block"}}
}

// withModels adds the models that the endpoint has to an error about a model that it does not have.
func (v *conversation) withModels(ctx context.Context, err error) error {
	refused, ok := errors.AsType[*stream.Error](err)
	if !ok || refused.Kind != stream.NoSuchModel || ctx.Err() != nil || v.inv.Config.Replay != "" {
		return err
	}
	asked := v.inv.Model.Request.Model
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	names, failed := v.inv.Model.Client.Models(ctx)
	if failed != nil || len(names) == 0 || slices.Contains(names, asked) {
		return err
	}
	e := *failure.Of(err)
	e.Hints = config.DidYouMean("-m ", config.NearestPart(asked, names), "the endpoint has: "+config.JoinFew(names)+"; --list models shows all")
	return &e
}
