package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/run/session"
	"toolpipe/run/turn"
	"toolpipe/stream"
)

// openSession opens the session. If an earlier run was killed before the result of a call came, the
// call gets the result "outcome unknown". done is true if the run only prints the session.
func (v *conversation) openSession(ctx context.Context) (done bool, err error) {
	c := v.inv.Config
	if v.system.Text, v.system.Given, err = input.SystemText(c, ctx); err != nil {
		return false, err
	}
	if v.session, err = session.Open(c, v.inv.Warn); err != nil {
		return false, err
	}
	s, name := v.session, strconv.Quote(c.Session)
	if err := s.Repair(); err != nil {
		return false, err
	}
	if s.Cut > 0 {
		v.inv.Warn("session_repaired", "", "--session: the last line of "+name+" was not complete and is removed: "+strconv.Itoa(s.Cut)+" bytes")
	}
	var lost []string
	for _, call := range s.Unknown {
		if call.Task != nil {
			continue // its server is asked for the result
		}
		lost = append(lost, call.Name+" ("+call.ID+")")
		if err := s.Answer(turn.LostAnswer(&call.Call)); err != nil {
			return false, err
		}
	}
	if len(lost) > 0 {
		v.inv.Warn("outcome_unknown", "", "--session: the run before ended during calls, and their outcome is unknown: "+config.JoinFew(lost))
	}
	if err := v.checkSystem(); err != nil {
		return false, err
	}
	if c.GivesPrompt() || len(s.Messages()) == 0 || s.Unfinished() {
		return false, nil
	}
	if c.Output == "messages" {
		return v.printsSession(ctx)
	}
	if !v.finished() {
		return false, nil
	}
	return true, v.printAnswer(ctx)
}

// checkSystem refuses a system message that differs from the one in the session.
func (v *conversation) checkSystem() error {
	stored := v.session.Messages()
	if !v.system.Given || len(stored) == 0 {
		return nil
	}
	was := ""
	if turn.Instructs(stored[0]) {
		was = turn.TextOf(&stored[0])
		v.system.Given = false
	}
	if was != v.system.Text {
		return failure.UsageError([]string{"leave it out, or begin another session"}, "--session: %q has another system message", v.inv.Config.Session)
	}
	return nil
}

// printsSession reports whether standard input adds nothing to the session. The session is then
// only printed, without a model.
func (v *conversation) printsSession(ctx context.Context) (bool, error) {
	if c := v.inv.Config; c.ReadsInput(v.inv.Streams.InTerminal) {
		in, err := input.Read(ctx, c, v.inv.Streams.In, v.inv.SayWaiting)
		if err != nil {
			return false, err
		}
		if data := in.Data(); len(bytes.TrimSpace(data)) > 0 {
			v.inv.Streams.In, v.inv.Streams.InFile = bytes.NewReader(data), true
			return false, nil
		}
	}
	v.messages = v.session.Messages()
	return true, v.endedBefore()
}

// endedBefore returns the error of the run before, if the session says that its last message is not
// an answer.
func (v *conversation) endedBefore() error {
	ended := v.session.Ended
	if ended == nil {
		return nil
	}
	ended.Hints = []string{"a prompt goes on with the conversation"}
	return ended
}

// begin builds the first messages: the session, and the input that is added to it.
func (v *conversation) begin(in *input.Stdin, attached []stream.Part) (err error) {
	c, data := v.inv.Config, in.Data()
	var added []stream.Message
	if !v.session.Unfinished() || c.GivesPrompt() || len(bytes.TrimSpace(data)) > 0 {
		if added, err = input.Conversation(c, in, v.inv.Streams.InTerminal, attached); err != nil {
			return err
		}
		v.labelInput(added, data)
		if v.inv.Streams.InPipe && c.ReadsInput(false) && c.GivesPrompt() && len(bytes.TrimSpace(data)) == 0 {
			v.inv.Warn("empty_input", "", "standard input is an empty pipe, so only the prompt is sent: the program before it may have failed; --no-stdin says that no input comes")
		}
	}
	stored := v.session.Messages()
	if err := cmp.Or(input.AllSent(stored, v.inv.Model.Endpoint.API, c.Session), input.AllSent(added, v.inv.Model.Endpoint.API, "")); err != nil {
		return err
	}
	if v.messages = added; len(stored) > 0 {
		v.messages = append(stored, added...)
	}
	return nil
}

// finished reports whether the session ends with an answer and the run has no prompt. It is false if
// an empty pipe may come from a program that failed: that must not look like an old answer.
func (v *conversation) finished() bool {
	stored := v.session.Messages()
	return stored[len(stored)-1].Role == stream.Assistant && (v.inv.Config.NoStdin || v.inv.Streams.InNull)
}

// printAnswer ends a run on a finished session. It prints the answer again, without a model.
func (v *conversation) printAnswer(ctx context.Context) error {
	schema, form, err := v.inv.Schema(ctx)
	if err != nil {
		return err
	}
	v.messages = v.session.Messages()
	text, earlier := turn.Answer(v.messages)
	if v.inv.Text != nil {
		v.inv.Text.Stream = false // the text comes with the end event
	}
	if err := v.endedBefore(); err != nil {
		if !earlier {
			v.tally.Text = text
		}
		return err
	}
	if v.tally.Text = text; earlier {
		if err := turn.ReportEmpty(v.inv.Emit, text); err != nil {
			return err
		}
	}
	if schema != nil {
		text, faults := turn.StoredAnswer(schema, form, v.tally.Text.String())
		if len(faults) > 0 {
			return turn.Unfit("--schema", faults)
		}
		v.tally.Text = event.Pieces{text}
	}
	if language, ok := v.inv.Config.Block(); ok {
		return needBlock(v.tally.Text.String(), language)
	}
	return nil
}

// noteEnd marks the last message of the session as not an answer. A later run without a prompt ends
// with the same error.
func (v *conversation) noteEnd(err error) error {
	all := v.loop.Messages()
	if all[len(all)-1].Role != stream.Assistant || session.Unanswered(all) {
		return nil
	}
	return v.session.End(failure.Of(err))
}

func (v *conversation) useSession() {
	if v.session == nil {
		return
	}
	if v.session.Made {
		v.inv.Face.Say("made the session " + config.ShellQuote(v.inv.Config.Session))
	}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(v.session.Tools)) {
		if t := v.plan.Box.Tool(name); t != nil && t.Locked().Digest() != v.session.Tools[name] {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		v.inv.Warn("tool_changed", "", "--session: the definitions of these tools changed since the conversation last called them: "+config.JoinFew(changed)+
			"; --describe-tool shows a definition, --tools-lock refuses a change")
	}
	v.loop.UseSession(v.session)
}

// withResume adds a hint about how to go on to an error that leaves the session unfinished.
func (v *conversation) withResume(err error) error {
	f := *failure.Of(err)
	if v.session == nil || !session.Unanswered(v.loop.Messages()) || f.Status == failure.StatusOutput {
		return err
	}
	if e, ok := errors.AsType[*stream.Error](err); ok && e.Kind == stream.TooLong {
		return err // going on leads to the same refusal
	}
	f.Hints = append(slices.Clone(f.Hints), "without a prompt, --session "+config.ShellQuote(v.inv.Config.Session)+" goes on from here")
	return &f
}
