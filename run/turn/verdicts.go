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

// decide gives every call its verdict, in order, before any is run. The error ends
// the run; it is that of the first unapproved call, with a hint for each.
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

// judge announces a call and gives it its verdict. goesOn is false if that ends the
// run.
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
	if err := r.emit(r.approvalEvent(c, v)); err != nil {
		return false, err
	}
	return r.apply(c, v), nil
}

// apply keeps the verdict on a call. A call that may not run has its answer then,
// unless the verdict ends the run: then apply returns false.
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
	case v.Outcome == approve.Unapproved && !r.denyUnapproved:
		return false
	default:
		c.denial = cmp.Or(ApprovalEvent(eventID(c), v).Denial(), denial(v))
		text := "tool call denied: " + denial(v)
		if v.TellsSecret() {
			text = "tool call denied"
		}
		if r.serves && v.Outcome == approve.Unapproved {
			text += "; it would run with " + ApprovalHint(c.tool.ModelName, v)
		}
		c.answer = ownAnswer(event.ResultDenied, text)
	}
	return true
}

// decideCall takes the verdict on a call, or takes it again if there is one. It is called
// with the round locked, which it is not while somebody is asked.
func (r *round) decideCall(ctx context.Context, c *call) (approve.Verdict, error) {
	v, err := r.verdict(ctx, c)
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
	if r.dryRun { // nobody is asked, but the approver about a call that would run
		if x, err := gate.Explain(ctx, r.asked(c, c.tool)); x.Verdict.Outcome != approve.Allowed || !c.tool.OnlyReads() {
			return x.Verdict, err
		}
	}
	if err := r.flush(); err != nil { // the person reads what came before the question
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
	if r.asksElsewhere(c, q) == nil {
		if err = r.whileUnlocked(func() error { return r.awaitTurn(ctx) }); err != nil {
			return v, err
		}
		defer func() { <-r.plan.asking }()
		v, q, err = decide() // the answer to the question before may be enough
	}
	for began := time.Now(); q != nil && err == nil; c.asked = time.Since(began) {
		if err = r.whileUnlocked(func() error { return r.put(ctx, c, q) }); err == nil {
			v, q, err = gate.Answer(ctx, r.asked(c, c.tool), q)
		}
	}
	return v, err
}

// awaitTurn waits until nobody else is being asked.
func (r *round) awaitTurn(ctx context.Context) error {
	select {
	case r.plan.asking <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lock keeps other verdicts from being taken at the same time: in this round, in that of
// a nested run, and in that of another client.
func (r *round) lock() {
	r.mu.Lock()
	r.plan.verdict.Lock()
}

func (r *round) unlock() {
	r.plan.verdict.Unlock()
	r.mu.Unlock()
}

// whileUnlocked waits for something while other verdicts may be taken.
func (r *round) whileUnlocked(wait func() error) error {
	r.unlock()
	defer r.lock()
	return wait()
}

// recheck takes the verdict on an allowed call again, immediately before it runs:
// the calls before it may have moved the files that its paths lead to. A call
// that may not run any more has its answer then. The bounds hold the tool to the
// files that this verdict was about, and a call of a plan to those that were reviewed.
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
		err = r.emit(r.approvalEvent(c, v))
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
	if reviewed != nil { // the verdict has the places only of paths that a rule looked at
		bounds.Places = maps.Clone(reviewed.Places)
		maps.Copy(bounds.Places, v.Places)
	}
	if c.tool.Conn.Local != nil {
		withheld := r.plan.Inv.Gate.Withheld(ctx, r.asked(c, c.tool))
		bounds.Denied, bounds.Matches = withheld.Paths, withheld.Matches
		if r.known != nil && r.mayRead(ctx, c) {
			bounds.Known, bounds.Call = r.known, c.ID
		}
		bounds.Staged = r.plan.staging.contents()
	}
	return bounds
}

// mayRead reports whether the model may read the file that a call of a built-in tool
// names: what it writes and may not read is not shown to it as a change either.
func (r *round) mayRead(ctx context.Context, c *call) bool {
	return c.tool.ReadOnly || r.readVerdict(ctx, c) != approve.Denied
}

// readVerdict is the outcome if the model read the file that a call of a built-in tool names.
func (r *round) readVerdict(ctx context.Context, c *call) approve.Outcome {
	for _, t := range r.box.All() {
		if t.Declares().Opens && t.Conn.Root == c.tool.Conn.Root {
			asked := r.asked(c, t)
			asked.Open = false // the user has seen the call c, and none of t
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
		hints = append(hints, "nobody says what the tools of "+strconv.Quote(k.tool.Conn.Name)+" do, so they count as able to do everything; --list-tools -v prints what to write into a policy")
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

// ApprovalHint says what would allow the tool's call, which was left unapproved.
func ApprovalHint(tool string, v approve.Verdict) string {
	if v.Egress == approve.EgressAsk.String() {
		way := "--egress warn"
		if v.By == "policy" {
			way = "without " + v.Rule
		}
		return `a --policy rule with "decision": "allow" and "when": ["private", "untrusted"] for such arguments, see --help=egress, or ` +
			way + ", where every such call is sent with a warning"
	}
	hint := "--allow " + config.ShellQuote(tool)
	if v.Rule != "" {
		// --auto-approve would help as well, but it approves every other call too.
		hint += ", with the rule " + v.Rule + " taken out: an allow does not outweigh a rule that asks"
	}
	return hint
}

// form has one required boolean and no default: some hosts accept a form without fields,
// or one that is filled in already, by themselves (openai/codex#17164).
const form = `{"type":"object","properties":{"allow":{"type":"boolean","title":"Allow this call once"}},"required":["allow"]}`

// put asks a question: the user of the host whose call it is, as --ask-host says, or else
// the approver or the person at the terminal.
func (r *round) put(ctx context.Context, c *call, q *approve.Question) error {
	if !r.isForHost(q) {
		return q.Ask(ctx)
	}
	ask := r.asksElsewhere(c, q)
	return q.AskThrough(ctx, "host", func(ctx context.Context, text string) (bool, error) {
		switch {
		case ask == nil:
			return false, errors.New("the host has not declared that it can ask its user (elicitation)")
		case r.silent.Load():
			return false, errors.New("the host did not answer the question before")
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

// isForHost reports whether --ask-host has the host ask its user.
func (r *round) isForHost(q *approve.Question) bool {
	return q.ForPerson() && (r.askHost == "all" || r.askHost == "calls" && !q.OfConversation())
}

// asksElsewhere puts a question to the user of the host; nil where it goes to somebody
// else, or the host cannot ask.
func (r *round) asksElsewhere(c *call, q *approve.Question) toolserver.Asker {
	if !r.isForHost(q) {
		return nil
	}
	return r.askerOf(c)
}

// askerOf asks the user of the host whose call c is, or whose call c is made for by an
// agent; nil: nobody can.
func (r *round) askerOf(c *call) toolserver.Asker {
	if r.nest != nil && r.nest.call != nil {
		return r.nest.round.askerOf(r.nest.call)
	}
	return c.user.ask
}

// asksHost asks the user of the host for a server, which its name in front says; nil
// where c is no call of a host that can.
func (r *round) asksHost(c *call) wire.AskFunc {
	return toolbox.AskHost(r.askerOf(c), c.tool.Conn.Name, func(text string) string { return r.secrets.Message().HideString(text) })
}
