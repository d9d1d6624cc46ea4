package approve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
)

// A Gate gives verdicts. Fill it, then call Check once before the first Decide.
// Its methods are called from one goroutine at a time.
type Gate struct {
	Rules       []Rule      // from Patterns and ParsePolicy
	LabelRules  []LabelRule // from ParsePolicy
	EgressRule              // about calls with the label Sends
	Otherwise   Rule        // decides about a call that no other rule matches: OtherwiseAsk, or a policy's; the zero value denies
	AutoApprove string      // the origin of the wish to allow all calls that would be asked about, such as a flag; "" for no such wish
	Approver    *Approver   // nil: none
	Terminal    *Terminal   // nil: nobody can be asked
	Reviews     bool        // what would be asked is reviewed elsewhere, so that nobody is missed at the terminal

	behind     []Rule     // that Check has made of Rules; see standBehind
	allowed               // by a person
	evaluation evaluation // of the last call
}

// allowed is what a person allowed for the rest of the run.
type allowed struct {
	alwaysAllowed map[[sha256.Size]byte]bool // calls, by callKey
	allowedTools  map[[2]string]bool         // tools, by server and tool
}

// OtherwiseAsk leaves a call that no rule matches to be asked about.
var OtherwiseAsk = Rule{Decision: Ask, By: "default"}

// Decide gives the verdict on c, or the question that has to be answered before there is
// one. The error is ctx's cause; with an error nothing is allowed.
func (g *Gate) Decide(ctx context.Context, c Call) (Verdict, *Question, error) {
	return g.decide(ctx, &c, nil)
}

// Answer gives the verdict on c when q, which Decide or Recheck returned about it, was
// asked. What the answer was given to must still hold: where another rule decides by now,
// or the conversation holds more, there is another question.
func (g *Gate) Answer(ctx context.Context, c Call, q *Question) (Verdict, *Question, error) {
	return g.decide(ctx, &c, q)
}

func (g *Gate) decide(ctx context.Context, c *Call, asked *Question) (Verdict, *Question, error) {
	rule := g.weigh(ctx, c, nil)
	if err := context.Cause(ctx); err != nil {
		return Verdict{}, nil, err
	}
	if asked != nil && !asked.isAbout(c, rule) {
		asked = nil
	}
	places := g.evaluation.places
	v, q := g.verdict(c, rule, asked)
	v.Places, v.rule, v.Egress = places, rule, c.egress
	return v, q, nil
}

// Recheck gives the verdict on c again, immediately before c runs: the calls
// that ran meanwhile may have moved what its paths lead to, and what they returned
// is in the conversation. before is the verdict that allowed c. It still holds, and
// nobody is asked again, if the same rule decides and the paths lead to the same
// places, or if a person has allowed it to send what now need not be asked about.
func (g *Gate) Recheck(ctx context.Context, c Call, before Verdict) (Verdict, *Question, error) {
	rule := g.weigh(ctx, &c, nil)
	asked := before.Egress == EgressAsk.String()
	same := rule == before.rule || asked && rule.Decision != Deny
	c.pathsMoved = !maps.Equal(g.evaluation.places, before.Places)
	if same && !c.pathsMoved {
		before.Egress = c.egress
		return before, nil, context.Cause(ctx)
	}
	return g.decide(ctx, &c, nil)
}

// evaluate returns the first of the strictest rules that match c, or Otherwise.
// x, if it is not nil, gets each rule that matches, and each that names the tool of c and
// does not. When the budget is used up or ctx has ended, the rule is one that denies.
//
// A rule that asks restricts, as a deny does: one matching value is enough.
// Where Otherwise denies all other calls, such a rule also lets a call pass. To
// do that it must match as an allow must: name the tool in its own case and
// have a test for every argument.
//
// Of the rules that allow, one that lifts what Egress says comes first; of those that ask,
// one with when.
func (g *Gate) evaluate(ctx context.Context, c *Call, x *Explanation) *Rule {
	var f found
	e := &g.evaluation
	e.begin(ctx, c)
	e.explains = x != nil
	for r := range g.all() {
		place := f.place(r, c)
		mayAdmit := g.mayAdmit(r) && f.admitting == nil
		if decidesNothing := f.deny != nil || *place != nil && !mayAdmit; decidesNothing && x == nil {
			continue
		}
		e.why = r.mismatch(c)
		matches := e.why == "" && r.matchesArguments(e, r.restricts())
		admits := matches && mayAdmit && r.matchesNames(c, false) && r.matchesArguments(e, false)
		if e.exhausted() {
			return &overBudget
		}
		if x != nil {
			x.add(r, c, matches, e.why)
		}
		if matches {
			f.add(r, c, admits)
		}
	}
	e.lifted = f.lifting != nil
	return f.decides(&g.Otherwise)
}

// mayAdmit reports whether the rule can let a call pass, to be asked about, though Otherwise
// denies all other calls.
func (g *Gate) mayAdmit(r *Rule) bool { return r.Decision == Ask && g.Otherwise.Decision == Deny }

// found are the first rules of each kind that match a call.
type found struct {
	deny, ask, allow *Rule
	lifting          *Rule // an allow that lifts what Egress says; behind it no other allow counts
	asksNow          *Rule // an ask with when
	admitting        *Rule // an ask that lets the call pass though Otherwise denies
}

// decides returns the strictest rule, or otherwise.
func (f *found) decides(otherwise *Rule) *Rule {
	allow, ask := cmp.Or(f.lifting, f.allow), cmp.Or(f.asksNow, f.ask)
	switch {
	case f.deny != nil:
		return f.deny
	case ask != nil && (allow != nil || otherwise.Decision != Deny):
		return ask
	case f.admitting != nil:
		return cmp.Or(f.asksNow, f.admitting)
	}
	return cmp.Or(allow, otherwise)
}

// add notes a rule that matches c.
func (f *found) add(r *Rule, c *Call, admits bool) {
	place := f.place(r, c)
	*place = cmp.Or(*place, r)
	if admits {
		f.admitting = r
	}
}

// place is where r belongs if it matches c.
func (f *found) place(r *Rule, c *Call) **Rule {
	switch {
	case r.Decision == Deny:
		return &f.deny
	case r.Decision == Ask && r.when != 0:
		return &f.asksNow
	case r.Decision == Ask:
		return &f.ask
	case f.lifting != nil || r.lifts(c):
		return &f.lifting
	}
	return &f.allow
}

// ruled is the verdict on c that needs no answer; decided is false if there is none, since
// somebody must be asked. rule is the one that decides.
func (g *Gate) ruled(c *Call, rule *Rule) (v Verdict, decided bool) {
	switch {
	case rule.Decision == Deny:
		return rule.verdict(Denied), true
	case c.asksEgress(): // only a person answers this
	case rule.Decision == Allow:
		return rule.verdict(Allowed), true
	case g.AutoApprove != "":
		return Verdict{Outcome: Allowed, By: "flag", Rule: g.AutoApprove}, true
	}
	return unapproved(rule, "somebody must be asked"), false
}

// verdict is the verdict of the rule that decides, or the question that it leaves: to the
// approver first, then to the person. asked is the question that was answered before.
func (g *Gate) verdict(c *Call, rule *Rule, asked *Question) (Verdict, *Question) {
	if g.Approver != nil && rule.Decision != Deny {
		if asked == nil {
			return Verdict{}, &Question{call: *c, rule: rule, approver: g.Approver}
		}
		v := Verdict{By: "approver", Rule: g.Approver.Origin, Reason: asked.reason}
		switch {
		case asked.decision == Deny:
			return v, nil
		case asked.decision == Allow && !c.asksEgress(): // the approver, too, may be taken in by what an outsider wrote
			v.Outcome = Allowed
			return v, nil
		}
	}
	if v, decided := g.ruled(c, rule); decided {
		return v, nil
	}
	switch {
	case c.asksEgress(): // an answer that was given before does not count
	case g.alwaysAllowed[g.callKey(c)]:
		return Verdict{Outcome: Allowed, By: "terminal", Rule: "terminal", Reason: "the same call was approved before"}, nil
	case g.allowedTools[[2]string{c.Server, c.Tool}] && g.mayAllowTool(rule):
		return Verdict{Outcome: Allowed, By: "terminal", Rule: "terminal", Reason: "the tool was approved for this run"}, nil
	}
	switch {
	case g.Terminal == nil && g.Reviews:
		return rule.verdict(Unapproved), nil
	case g.Terminal == nil:
		return unapproved(rule, "nobody can be asked"), nil
	case asked == nil || asked.terminal == nil:
		q := &Question{call: *c, rule: rule, terminal: g.Terminal, mayAllowTool: g.mayAllowTool(rule)}
		if asked != nil {
			q.decision, q.reason = asked.decision, asked.reason
		}
		return Verdict{}, q
	case asked.nobody != nil:
		return unapproved(rule, asked.nobody.Error()), nil
	}
	return g.answered(c, asked), nil
}

// answered is the verdict that a person has given, who may have said more than yes to it.
func (g *Gate) answered(c *Call, asked *Question) Verdict {
	a, by := asked.answer, cmp.Or(asked.by, "terminal")
	v := Verdict{By: by, Rule: by, Reason: a.reason, EndsRun: a.kind == answerQuit}
	switch a.kind {
	case answerTool:
		if g.allowedTools == nil {
			g.allowedTools = make(map[[2]string]bool)
		}
		g.allowedTools[[2]string{c.Server, c.Tool}] = true
		v.Outcome = Allowed
	case answerAlways:
		if g.alwaysAllowed == nil {
			g.alwaysAllowed = make(map[[sha256.Size]byte]bool)
		}
		g.alwaysAllowed[g.callKey(c)] = true
		v.Outcome = Allowed
	case answerYes:
		v.Outcome = Allowed
	}
	return v
}

// mayAllowTool reports whether a person may allow every call of a tool: not where a
// rule or the approver wants each one asked about.
func (g *Gate) mayAllowTool(rule *Rule) bool { return rule == &g.Otherwise && g.Approver == nil }

// callKey identifies the calls that the answer "a" allows: those of the same
// tool with the same arguments, as long as the paths in the arguments lead to
// the same places.
func (g *Gate) callKey(c *Call) [sha256.Size]byte {
	// Package fmt writes a map in the order of its keys.
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %s %q", c.Server, c.Tool, c.Name, c.Arguments, g.evaluation.places))
}

// verdict is the verdict that the rule gives.
func (r *Rule) verdict(o Outcome) Verdict {
	return Verdict{Outcome: o, By: r.By, Rule: r.Origin, Reason: r.Reason}
}

// unapproved is the verdict when nobody can be asked about a call that rule wants
// asked about.
func unapproved(rule *Rule, why string) Verdict {
	v := rule.verdict(Unapproved)
	if v.Reason = why; rule.Reason != "" {
		v.Reason = rule.Reason + " (" + why + ")"
	}
	return v
}

// A Question is what has to be asked about a call before there is a verdict: first the
// approver, where there is one, then the person. Ask it, then give it to Gate.Answer.
type Question struct {
	call         Call
	rule         *Rule     // that wants the call asked about
	approver     *Approver // to whom it goes; nil: to the person
	terminal     *Terminal // of the person
	mayAllowTool bool      // the person may allow every call of the tool

	decision Decision // of the approver
	reason   string   // likewise
	by       string   // how the person was asked; "" is on the terminal
	answer   answer   // of the person
	nobody   error    // why no person could be asked
}

// Ask waits for the answer. No lock need be held meanwhile: it takes nothing from the gate
// and leaves nothing there. The error is ctx's cause.
func (q *Question) Ask(ctx context.Context) (err error) {
	if q.approver != nil {
		q.decision, q.reason, err = q.approver.judge(ctx, &q.call, q.rule)
		return err
	}
	q.answer, err = q.terminal.ask(ctx, &q.call, q.rule, q.mayAllowTool)
	if nobody, ok := errors.AsType[nobodyError](err); ok {
		q.nobody, err = nobody, nil
	}
	return err
}

// ForPerson reports whether the question goes to a person, not to the approver.
func (q *Question) ForPerson() bool { return q.approver == nil }

// OfConversation reports whether Egress or a rule with when asks, for what the conversation
// holds.
func (q *Question) OfConversation() bool { return q.call.asksEgress() || q.rule.when != 0 }

// AskThrough is Ask for a person who is reached otherwise than on the terminal; by names
// the way, as in Verdict.By. ask gets the text that the terminal would show. It returns
// whether the person allows the call, or why there is no answer. A call whose arguments
// do not fit whole into a question is denied, and so is one that changes a file which was
// changed meanwhile.
func (q *Question) AskThrough(ctx context.Context, by string, ask func(ctx context.Context, text string) (allowed bool, err error)) error {
	made := q.call.change(ctx)
	text := newQuestion(&q.call, made, q.rule, false, 100, maxLines, false)
	if q.by = by; text.cut {
		q.answer.reason = "its arguments are too long for the question to the user"
		return context.Cause(ctx)
	}
	allowed, err := ask(ctx, text.body)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	switch {
	case err != nil:
		q.nobody = nobodyError(err.Error())
	case !allowed:
		q.answer.reason = "the user declined it"
	case q.call.change(ctx).diff != made.diff:
		q.answer.reason = "the file was changed while the user was asked"
	default:
		q.answer.kind = answerYes
	}
	return nil
}

// isAbout reports whether the question was about c as it is by now, when rule decides.
func (q *Question) isAbout(c *Call, rule *Rule) bool {
	was := q.rule
	return was.Decision == rule.Decision && was.By == rule.By && was.Origin == rule.Origin && was.Reason == rule.Reason && q.call.egress == c.egress
}
