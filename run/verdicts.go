package run

import (
	"context"
	"slices"

	"toolpipe/approve"
	"toolpipe/mcp/confine"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
)

// decide gives every call its verdict, in order, before any is run. stop is
// the error that ends the run when a call is unapproved.
func (c *caller) decide(ctx context.Context, l *loop, all []*pending) (stop *failure.Error, err error) {
	for _, p := range all {
		if err := c.announce(l, p); err != nil {
			return nil, err
		}
		if p.answer != nil {
			continue
		}
		v, err := c.verdict(ctx, p)
		if err != nil {
			return nil, err
		}
		if err := c.emit(approvalEvent(p.ID, v)); err != nil {
			return nil, err
		}
		if !c.heed(p, v) {
			stop = unapproved(stop, p, v)
		}
	}
	return stop, nil
}

// heed keeps the verdict on a call; one that may not run has its answer
// afterwards. It is false for an unapproved call that ends the run.
func (c *caller) heed(p *pending, v approve.Verdict) bool {
	p.verdict = &v
	switch {
	case v.Outcome == approve.Allowed && (!c.dryRun || p.tool.readOnly()):
	case c.dryRun && v.Outcome != approve.Denied:
		p.answer = tell(event.ResultNotRun, "not run: dry run")
		c.note("dry run: %s %s: %s", p.Name, p.args, dryVerdict(v))
	case v.Outcome == approve.Unapproved && !c.goOn:
		return false
	default:
		p.denial = config.FirstNonEmpty(approvalEvent(p.ID, v).Denial(), denial(v))
		p.answer = tell(event.ResultDenied, "tool call denied: "+denial(v))
	}
	return true
}

// verdict is the one on a call, or the one taken again on a call that has one.
func (c *caller) verdict(ctx context.Context, p *pending) (approve.Verdict, error) {
	call := p.tool.call(p.args)
	if c.dryRun { // nobody is asked but the approver, and that only about what would run
		if x, err := c.gate.Explain(ctx, call); err != nil || x.Verdict.Outcome != approve.Allowed || !p.tool.readOnly() {
			return x.Verdict, err
		}
	}
	if err := c.flush(); err != nil { // the person reads what came before the question
		return approve.Verdict{}, err
	}
	if p.verdict != nil {
		return c.gate.Recheck(ctx, call, *p.verdict)
	}
	return c.gate.Decide(ctx, call)
}

// again takes the verdict on an allowed call once more immediately before it
// runs: the calls before it may have moved what its paths lead to. A call that
// may not run any more has its answer afterwards; the bounds hold one that may
// to what this verdict saw.
func (c *caller) again(ctx context.Context, p *pending) (bounds confine.Bounds) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := *p.verdict
	err := c.failed
	if err == nil {
		v, err = c.verdict(ctx, p)
	}
	if err == nil && (v.Outcome != approve.Allowed || v.Rule != p.verdict.Rule) {
		err = c.emit(approvalEvent(p.ID, v))
	}
	if err == nil && !c.heed(p, v) {
		c.failed = unapproved(nil, p, v)
		err = c.failed
	}
	if err != nil {
		p.answer = tell(event.ResultNotRun, "not run: the run ended")
		p.answer.open = true
		return bounds
	}
	bounds.Places = v.Places
	if p.tool.conn.Local != nil {
		bounds.Denied = c.gate.DeniedPaths(ctx, p.tool.call(p.args), "path")
	}
	return bounds
}

func approvalEvent(id string, v approve.Verdict) *event.Approval {
	return &event.Approval{ID: id, Decision: v.Outcome.String(), By: v.By, Rule: v.Rule, Reason: v.Reason}
}

// detail is what follows a message when there is more to say.
func detail(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

func dryVerdict(v approve.Verdict) string {
	if v.Outcome == approve.Allowed {
		return "would run" + detail(v.Rule)
	}
	return "would be asked" + detail(v.Rule)
}

// denial is the reason that the model is told.
func denial(v approve.Verdict) string {
	switch {
	case v.Reason != "":
		return v.Reason
	case v.Outcome == approve.Unapproved:
		return "it needs an approval that nobody can give"
	case v.By == "terminal":
		return "by the user"
	}
	return "by a rule"
}

func unapproved(stop *failure.Error, p *pending, v approve.Verdict) *failure.Error {
	if stop == nil {
		stop = &failure.Error{Status: failure.StatusUnapproved, Message: "unapproved: " + p.tool.name + ": " + config.FirstNonEmpty(v.Reason, "nobody can be asked")}
	}
	if hint := approvalHint(p.tool.name, v); !slices.Contains(stop.Hints, hint) {
		stop.Hints = append(stop.Hints, hint)
	}
	return stop
}

// approvalHint says what would allow the tool's call, which was left unapproved.
func approvalHint(tool string, v approve.Verdict) string {
	hint := "--allow " + config.ShellQuote(tool)
	if v.Rule != "" {
		// --auto-approve would help as well, but it approves every other call too.
		hint += ", with the rule " + v.Rule + " taken out: an allow does not outweigh a rule that asks"
	}
	return hint
}
