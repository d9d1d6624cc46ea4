package run

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/face"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/run/session"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// openSession opens the session. A call that an earlier run sent, which was killed before
// the result came, gets the result that its outcome is unknown. done is true when the
// run only has to print the session.
func (v *conversation) openSession(ctx context.Context) (done bool, err error) {
	c := v.cfg
	if v.system, v.ownSystem, err = input.SystemText(c, ctx); err != nil {
		return false, err
	}
	if v.session, err = session.Open(c, v.warn); err != nil {
		return false, err
	}
	s, name := v.session, strconv.Quote(c.Session)
	if err := s.Repair(); err != nil {
		return false, err
	}
	if s.Cut > 0 {
		v.warn("session_repaired", "", "--session: the last line of "+name+" was not whole and is taken away: "+strconv.Itoa(s.Cut)+" bytes")
	}
	var lost []string
	for _, call := range s.Unknown {
		lost = append(lost, call.Name+" ("+call.ID+")")
		a := ownAnswer(event.ResultUnknown, "outcome unknown: the run that sent the call ended before its result came")
		if err := s.Answer(a.message(&call)); err != nil {
			return false, err
		}
	}
	if len(lost) > 0 {
		v.warn("outcome_unknown", "", "--session: the run before ended with calls under way, whose outcome is unknown: "+face.JoinFew(lost))
	}
	if err := v.checkSystem(); err != nil {
		return false, err
	}
	if c.Output != "messages" || c.GivesPrompt() || len(s.Messages()) == 0 || s.Unfinished() {
		return false, nil
	}
	return v.printsSession(ctx)
}

// checkSystem refuses a system message that is not the one of the session.
func (v *conversation) checkSystem() error {
	stored := v.session.Messages()
	if !v.ownSystem || len(stored) == 0 {
		return nil
	}
	was := ""
	if instructs(stored[0]) {
		was = textOf(&stored[0])
		v.ownSystem = false
	}
	if was != v.system {
		return failure.UsageError([]string{"leave it out, or begin another session"}, "--session: %q has another system message", v.cfg.Session)
	}
	return nil
}

// printsSession tells whether standard input adds nothing to the session, which then
// only has to be printed, without a model.
func (v *conversation) printsSession(ctx context.Context) (bool, error) {
	if v.cfg.ReadsInput(v.streams.InTerminal) {
		data, err := input.Read(ctx, v.streams.In, v.sayWaiting)
		if err != nil {
			return false, err
		}
		if len(bytes.TrimSpace(data)) > 0 {
			v.streams.In, v.streams.InFile = bytes.NewReader(data), true
			return false, nil
		}
	}
	v.messages = v.session.Messages()
	v.session.Close()
	return true, nil
}

// begin puts what the conversation begins with together: the session, and what the
// input adds to it.
func (v *conversation) begin(data []byte, attached []stream.Part) (err error) {
	c := v.cfg
	var added []stream.Message
	if !v.session.Unfinished() || c.GivesPrompt() || len(bytes.TrimSpace(data)) > 0 {
		if added, err = input.Conversation(c, v.endpoint.API, data, v.streams.InTerminal, attached); err != nil {
			return err
		}
		v.labelInput(added, data)
		if v.streams.InPipe && c.ReadsInput(false) && c.GivesPrompt() && len(bytes.TrimSpace(data)) == 0 {
			v.warn("empty_input", "", "standard input is an empty pipe, so the prompt goes alone: perhaps the program before it failed; --no-stdin says that nothing comes")
		}
	}
	stored := v.session.Messages()
	if err := cmp.Or(input.AllSent(stored, v.endpoint.API, c.Session), input.AllSent(added, v.endpoint.API, "")); err != nil {
		return err
	}
	v.messages = slices.Concat(stored, added)
	return nil
}

// finished is the last answer of a session that a run without a prompt has nothing to
// add to; nil if there is something to do, or perhaps should be: an empty pipe may come
// from a program that failed, which must not look like an old answer.
func (v *conversation) finished() *stream.Message {
	stored := v.session.Messages()
	if len(stored) == 0 || v.cfg.GivesPrompt() || v.session.Unfinished() || !v.cfg.NoStdin && !v.streams.InNull {
		return nil
	}
	if last := &stored[len(stored)-1]; last.Role == stream.Assistant {
		return last
	}
	return nil
}

// printAnswer ends a run on a finished session: its answer is printed again, without a
// model.
func (v *conversation) printAnswer(answer *stream.Message) error {
	v.messages = v.session.Messages()
	v.tally.text = []byte(textOf(answer))
	if v.text != nil {
		v.text.Stream = false // the text comes with the end event
	}
	if v.schema != nil {
		if faults, _ := v.schema.Check(bytes.TrimSpace(v.tally.text)); len(faults) > 0 {
			return unfit("--schema", faults)
		}
	}
	if language, ok := v.cfg.Block(); ok {
		return needBlock(v.tally.text, language)
	}
	return nil
}

func (k *connector) sayWaiting() {
	k.face.Say("waiting for standard input; --no-stdin or < /dev/null keeps it from being read")
}

// useSession has the loop go on with the session.
func (v *conversation) useSession() {
	if v.session == nil {
		return
	}
	if v.session.Made {
		v.face.Say("made the session " + config.ShellQuote(v.cfg.Session))
	}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(v.session.Tools)) {
		if t := v.box.byName[name]; t != nil && t.digest() != v.session.Tools[name] {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		v.warn("tool_changed", "", "--session: these tools are not defined as when the conversation last called them: "+face.JoinFew(changed)+
			"; --describe-tool shows a definition, --tools-lock refuses a change")
	}
	l := v.loop
	l.session = v.session
	l.saved = l.frame + len(v.session.Messages())
	l.later = l.request.Messages[l.saved:]
	l.request.Messages = l.request.Messages[:l.saved:l.saved] // results go between
}

// withResume is an error of the loop with the way to go on, if it leaves something open.
func (v *conversation) withResume(err error) error {
	f := *failure.Of(err)
	if v.session == nil || !session.Unanswered(v.loop.request.Messages[v.loop.frame:]) || f.Status == failure.StatusOutput {
		return err
	}
	f.Hints = append(slices.Clone(f.Hints), "without a prompt, --session "+config.ShellQuote(v.cfg.Session)+" goes on from here")
	return &f
}

func (t *tool) digest() string { return t.locked().digest() }

// definitions are the digests of the tools that messages call.
func (c *caller) definitions(messages []stream.Message) map[string]string {
	digests := map[string]string{}
	for i := range messages {
		for _, call := range messages[i].Calls {
			if t := c.box.byName[call.Name]; t != nil {
				digests[t.name] = t.digest()
			}
		}
	}
	return digests
}

// note writes to the session that c is about to be sent. Where that cannot be written,
// c does not run, and the run ends.
func (r *round) note(ctx context.Context, c *call) bool {
	err := r.session.Sending(c.ID)
	c.noted = err == nil
	if err != nil {
		r.stop(err)
		c.answer = notRun(ctx)
	}
	return err == nil
}

// keep writes the result of c to the session.
func (r *round) keep(c *call) {
	var err error
	if !c.answer.keepsOpen {
		err = r.session.Add(nil, c.answer.message(&c.Call))
	} else if c.noted {
		err = r.session.NotSent(c.ID)
	}
	r.stop(err)
}

// stop ends the run after the calls that are under way, if err is not nil.
func (r *round) stop(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = cmp.Or(r.stopped, err)
}

func textOf(m *stream.Message) (text string) {
	for _, p := range m.Parts {
		text += p.Text + jsontext.Text(p.JSON)
	}
	return text
}
