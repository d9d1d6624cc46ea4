package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/toolbox"
	"toolpipe/stream/text/jsontext"
)

// decide gives every call its verdict, in order, before any of them runs. An error ends the run; it
// is about the first unapproved call, with a hint for each.
func (r *round) decide(ctx context.Context) error {
	var stop *failure.Error
	for _, c := range r.calls {
		goesOn, err := r.judge(ctx, c)
		if err != nil {
			return err
		}
		if !goesOn {
			stop = r.unapproved(stop, c, *c.verdict)
		}
		if c.verdict != nil && c.verdict.EndsRun {
			return stop
		}
	}
	if stop != nil {
		return stop
	}
	return nil
}

// judge announces a call and gives it its verdict. goesOn is false if the verdict ends the run.
func (r *round) judge(ctx context.Context, c *call) (goesOn bool, err error) {
	if err := r.announce(c); err != nil {
		return false, err
	}
	if c.task = r.session.TaskOf(c.ID); c.task != nil {
		return true, r.takeUp(c)
	}
	if c.answer != nil {
		return true, nil
	}
	r.lock()
	defer r.unlock()
	v, err := r.decideCall(ctx, c)
	if err != nil {
		return false, err
	}
	if err := r.decided(c, v); err != nil {
		return false, err
	}
	return r.apply(c, v), nil
}

// apply stores the verdict on a call. A call that may not run gets its answer, unless the verdict
// ends the run: then apply returns false.
func (r *round) apply(c *call, v approve.Verdict) bool {
	c.verdict = &v
	switch {
	case v.EndsRun:
		return false
	case v.Outcome == approve.Allowed && (!r.dryRun || c.tool.OnlyReads()):
		r.flow.expect(c)
	case r.dryRun && v.Outcome != approve.Denied:
		c.answer = ownAnswer(event.ResultNotRun, "not run: dry run")
		what := "would be asked"
		if v.Outcome == approve.Allowed {
			what = "would run"
		}
		r.say("dry run: %s %s: %s%s", c.Name, c.args, what, detail(v.Rule))
	case r.stages(c, v):
		c.staged = true
	case v.Outcome == approve.Unapproved && !r.denyUnapproved && !(c.tool.Reader && r.plan.staging != nil):
		return false
	default:
		c.denial = cmp.Or(ApprovalEvent(eventID(c), v).Denial(), denial(v))
		text := "tool call denied: " + denial(v)
		if v.TellsSecret() {
			text = "tool call denied"
		}
		if r.command != nil && !v.TellsSecret() { // its program shows the rule too
			text = "tool call denied: " + c.denial
		}
		if r.serves && v.Outcome == approve.Unapproved {
			text += "; it would run with " + ApprovalHint(c.tool.ModelName, v)
		}
		c.answer = ownAnswer(event.ResultDenied, text)
	}
	return true
}

// decideCall decides a call, or decides it again if it has a verdict. The caller holds the round's
// lock, which is released while somebody is asked.
func (r *round) decideCall(ctx context.Context, c *call) (approve.Verdict, error) {
	v, err := r.verdict(ctx, c)
	if err == nil {
		v, err = r.asRecorded(c, v)
	}
	if v.TellsSecret() && !r.dryRun && r.heldSecrets.Add(1) > 1 {
		v.EndsRun = true
	}
	v.EndsRun = v.EndsRun && !r.serves
	if v.Egress == approve.EgressWarn.String() && v.Outcome == approve.Allowed {
		asked := r.asked(c, c.tool)
		r.warnOfEgress(c, &asked)
	}
	return v, err
}

func (r *round) verdict(ctx context.Context, c *call) (approve.Verdict, error) {
	gate := r.plan.Inv.Gate
	if c.tool.Kept {
		if v, denied := r.results.denies(ctx, r.results.read(c)); denied {
			return v, nil
		}
	}
	if r.dryRun { // nobody is asked, except the approver about a call that would run
		if x, err := gate.Explain(ctx, r.asked(c, c.tool)); x.Verdict.Outcome != approve.Allowed || !c.tool.OnlyReads() {
			return x.Verdict, err
		}
	}
	if err := r.flush(); err != nil { // the person must see everything before the question
		return approve.Verdict{}, err
	}
	decide := func() (approve.Verdict, *approve.Question, error) {
		if c.verdict != nil {
			return gate.Recheck(ctx, r.asked(c, c.tool), *c.verdict)
		}
		return gate.Decide(ctx, r.asked(c, c.tool))
	}
	v, q, err := decide()
	if r.planned.reviewed != nil && q == nil && v.Outcome == approve.Unapproved { // the review is the answer
		v.Outcome, v.By, v.Rule, v.Reason = approve.Allowed, "flag", "--apply", ""
	}
	if q == nil || err != nil {
		return v, err
	}
	if !r.isForHost(q) || r.askerOf(c) == nil {
		if err = r.whileUnlocked(func() error { return r.awaitTurn(ctx) }); err != nil {
			return v, err
		}
		defer func() { <-r.plan.asking }()
		v, q, err = decide() // the previous question's answer may be sufficient
	}
	for began := time.Now(); q != nil && err == nil; c.asked = time.Since(began) {
		if err = r.whileUnlocked(func() error { return r.put(ctx, c, q) }); err == nil {
			v, q, err = gate.Answer(ctx, r.asked(c, c.tool), q)
		}
	}
	return v, err
}

func (r *round) awaitTurn(ctx context.Context) error {
	select {
	case r.plan.asking <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lock prevents other verdicts: in this round, in the round of a nested run, and in the round of
// another client.
func (r *round) lock() {
	r.mu.Lock()
	r.plan.verdict.Lock()
}

func (r *round) unlock() {
	r.plan.verdict.Unlock()
	r.mu.Unlock()
}

// whileUnlocked calls wait while other verdicts may be taken.
func (r *round) whileUnlocked(wait func() error) error {
	r.unlock()
	defer r.lock()
	return wait()
}

// recheck decides an allowed call again immediately before it runs: earlier calls may have moved
// the files to which its paths lead. A call that may not run any more gets its answer. The bounds
// limit the tool to the files of this verdict, and a planned call to the reviewed files.
func (r *round) recheck(ctx context.Context, c *call) (bounds confine.Bounds) {
	r.lock()
	defer r.unlock()
	v := *c.verdict
	err := r.stopped
	if err == nil {
		v, err = r.decideCall(ctx, c)
	}
	reviewed := r.planned.reviewed
	if err == nil && reviewed != nil && v.Outcome == approve.Allowed {
		if why := reviewed.Misfit(); why != "" {
			v = approve.Verdict{Outcome: approve.Denied, By: "default", Reason: why}
		}
	}
	if err == nil && (v.Outcome != c.verdict.Outcome || v.Rule != c.verdict.Rule) {
		err = r.decided(c, v)
	}
	if err == nil && !r.apply(c, v) {
		r.stopped = r.unapproved(nil, c, v)
		err = r.stopped
	}
	if err != nil {
		c.answer = notRun(ctx)
		return bounds
	}
	bounds.Places, bounds.Client = v.Places, r.client.ctx
	if reviewed != nil { // the verdict contains only paths that a rule checked
		bounds.Places = maps.Clone(reviewed.Places)
		maps.Copy(bounds.Places, v.Places)
	}
	if c.tool.Conn.Local != nil {
		withheld := r.plan.Inv.Gate.Withheld(ctx, r.asked(c, c.tool))
		bounds.Denied, bounds.Matches = withheld.Paths, withheld.Matches
		if r.known != nil && r.mayRead(ctx, c) {
			bounds.Known, bounds.Call = r.known, c.ID
		}
		if s := r.plan.staging; s != nil {
			bounds.Staged = &s.files
		}
	}
	return bounds
}

// mayRead reports whether the model may read the file of a built-in tool's call. A change of a file
// that the model may write but not read is not shown to it.
func (r *round) mayRead(ctx context.Context, c *call) bool {
	return c.tool.ReadOnly || r.readVerdict(ctx, c) != approve.Denied
}

// readVerdict is the outcome if the model read the file of a built-in tool's call.
func (r *round) readVerdict(ctx context.Context, c *call) approve.Outcome {
	for _, t := range r.box.All() {
		if t.Declares().Opens && t.Conn.Root == c.tool.Conn.Root {
			asked := r.asked(c, t)
			asked.Open = false // the user has seen the call c, but no call of t
			x, err := r.plan.Inv.Gate.Explain(ctx, asked)
			if err != nil {
				return approve.Denied
			}
			return x.Verdict.Outcome
		}
	}
	return approve.Denied
}

func (c *caller) unapproved(stop *failure.Error, k *call, v approve.Verdict) *failure.Error {
	what := k.tool.ModelName
	if c.nest != nil {
		what += " (asked for by the agent " + c.nest.agent + ")"
	}
	if c.command != nil {
		what += " (in the command " + c.command.call.ID + ")"
	}
	if v.TellsSecret() {
		return &failure.Error{Status: failure.StatusUnapproved, Message: "ended at a second call with a secret in its arguments: " + what + ": " + v.Reason, Hints: []string{"--egress off lets such calls run"}}
	}
	if v.EndsRun {
		return &failure.Error{Status: failure.StatusUnapproved, Message: "ended by the user at the question about " + what}
	}
	if stop == nil {
		stop = &failure.Error{Status: failure.StatusUnapproved, Message: "unapproved: " + what + ": " + v.Reason}
	}
	hints := []string{ApprovalHint(k.tool.ModelName, v)}
	if v.Egress == approve.EgressAsk.String() && k.tool.Assumed.Has(approve.Sends) {
		hints = append(hints, "the effects of the tools of "+strconv.Quote(k.tool.Conn.Name)+" are not declared, so they count as able to do everything; --list-tools -v prints the lines for a policy")
	}
	if in := c.plan.Inv; in.IgnoredAllows(k.tool.Call(nil)) {
		hints = append(hints, in.IgnoredNote())
	}
	for _, hint := range hints {
		if !slices.Contains(stop.Hints, hint) {
			stop.Hints = append(stop.Hints, hint)
		}
	}
	return stop
}

// ApprovalHint says how to allow an unapproved call of the tool.
func ApprovalHint(tool string, v approve.Verdict) string {
	if v.Egress == approve.EgressAsk.String() {
		way := "--egress warn"
		if v.By == "policy" {
			way = "without " + v.Rule
		}
		return `a --policy rule with "decision": "allow" and "when": ["private", "untrusted"] for such arguments, see --help=egress, or ` +
			way + ", which sends every such call with a warning"
	}
	hint := "--allow " + config.ShellQuote(tool)
	if v.Rule != "" {
		// --auto-approve would help too, but it approves every other call as well.
		hint += ", with the rule " + v.Rule + " removed: an allow does not outweigh a rule that asks"
	}
	return hint
}

// form has one required boolean without a default: some hosts accept a form that has no fields or
// is already filled in, without asking (openai/codex#17164).
const form = `{"type":"object","properties":{"allow":{"type":"boolean","title":"Allow this call once"}},"required":["allow"]}`

// put asks a question: the user of the calling host, as --ask-host says, or else the approver or
// the person at the terminal.
func (r *round) put(ctx context.Context, c *call, q *approve.Question) error {
	if !r.isForHost(q) {
		return q.Ask(ctx)
	}
	ask := r.askerOf(c)
	return q.AskThrough(ctx, "host", func(ctx context.Context, text string) (bool, error) {
		switch {
		case ask == nil:
			return false, errors.New("the host has not declared that it can ask its user (elicitation)")
		case r.silent.Load():
			return false, errors.New("the host did not answer the previous question")
		}
		limited, cancel := context.WithTimeoutCause(ctx, toolbox.HostPatience, fmt.Errorf("the host gave no answer in %v", toolbox.HostPatience))
		defer cancel()
		answer, err := ask(limited, wire.Form{Message: text, Schema: []byte(form)})
		if limited.Err() != nil && ctx.Err() == nil && !errors.Is(err, toolserver.ErrNotBack) {
			r.silent.Store(true)
		}
		return answer.Action == "accept" && string(jsontext.Member(answer.Content, "allow")) == "true", err
	})
}

// isForHost reports whether --ask-host sends this question to the host's user.
func (r *round) isForHost(q *approve.Question) bool {
	return q.ForPerson() && (r.askHost == "all" || r.askHost == "calls" && !q.OfConversation())
}

// askerOf returns a function that asks the user of the host that made c, or that called the agent
// that made c; nil: nobody can be asked.
func (r *round) askerOf(c *call) toolserver.Asker {
	if r.command != nil {
		return r.command.round.askerOf(r.command.call)
	}
	if r.nest != nil && r.nest.call != nil {
		return r.nest.round.askerOf(r.nest.call)
	}
	return c.user.ask
}

// asksHost asks the host's user questions of a server, prefixed with the server's name; nil if c
// does not come from a host that can ask.
func (r *round) asksHost(c *call) wire.AskFunc {
	return toolbox.AskHost(r.askerOf(c), c.tool.Conn.Name, func(text string) string { return r.plan.Inv.Secrets.Message().HideString(text) })
}
