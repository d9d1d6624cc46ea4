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
	AutoApprove string      // the origin of a request to allow all calls that rules ask about, such as a flag; "" for none
	Approver    *Approver   // nil: none
	Terminal    *Terminal   // nil: nobody can be asked
	Reviews     bool        // unapproved calls are reviewed elsewhere: a verdict need not say that nobody can be asked

	behind     []Rule       // made by Check from Rules; see standBehind
	allowed    map[any]bool // by a person for the rest of the run: keys of callKey and toolKey
	evaluation evaluation   // of the last call
}

// OtherwiseAsk asks about a call that no rule matches.
var OtherwiseAsk = Rule{Decision: Ask, By: "default"}

// Decide returns the verdict on c, or the question that must be answered first. The error is
// ctx's cause; with an error nothing is allowed.
func (g *Gate) Decide(ctx context.Context, c Call) (Verdict, *Question, error) {
	return g.Answer(ctx, c, nil)
}

// Answer returns the verdict on c after a question about c was asked, which is from Decide or
// Recheck; nil for none. If meanwhile another rule decides, or the decision of Egress changed,
// there is another question.
func (g *Gate) Answer(ctx context.Context, c Call, asked *Question) (Verdict, *Question, error) {
	rule := g.weigh(ctx, &c, nil)
	if err := context.Cause(ctx); err != nil {
		return Verdict{}, nil, err
	}
	if asked != nil && !asked.isAbout(&c, rule) {
		asked = nil
	}
	places := g.evaluation.places
	v, q := g.verdict(&c, rule, asked)
	v.Places, v.rule, v.Egress = places, rule, c.egress
	return v, q, nil
}

// Recheck gives the verdict on c again, immediately before c runs: the calls that ran meanwhile
// may have moved the targets of its paths, and the conversation now holds their results. before
// is the verdict that allowed c. It remains valid, and nobody is asked again, if the paths lead
// to the same targets, and either the same rule decides, or a person allowed c to send and no
// rule denies it now.
func (g *Gate) Recheck(ctx context.Context, c Call, before Verdict) (Verdict, *Question, error) {
	rule := g.weigh(ctx, &c, nil)
	asked := before.Egress == EgressAsk.String()
	same := rule == before.rule || asked && rule.Decision != Deny
	c.pathsMoved = !maps.Equal(g.evaluation.places, before.Places)
	if same && !c.pathsMoved {
		before.Egress = c.egress
		return before, nil, context.Cause(ctx)
	}
	return g.Answer(ctx, c, nil)
}

// evaluate returns the first of the strictest rules that match c, or Otherwise. If x is not
// nil, it gets each rule that matches, and each rule that names the tool of c and does not
// match. If the budget is exhausted or ctx has ended, the rule denies.
//
// A rule that asks restricts, as a deny does: one matching value is enough. If Otherwise denies
// all other calls, an asking rule is also a permission: without it the call is denied. For that
// it must match as an allow must: name the tool in the exact case and test every argument.
//
// An allow that lifts Egress comes before other allows, and an ask with when before other asks.
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

// mayAdmit reports whether the rule can let a call pass to a question although Otherwise denies
// all other calls.
func (g *Gate) mayAdmit(r *Rule) bool { return r.Decision == Ask && g.Otherwise.Decision == Deny }

// found holds the first rule of each kind that matches a call.
type found struct {
	deny, ask, allow *Rule
	lifting          *Rule // an allow that lifts Egress; after it no other allow counts
	asksNow          *Rule // an ask with when
	admitting        *Rule // an ask that lets the call pass although Otherwise denies
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

func (f *found) add(r *Rule, c *Call, admits bool) {
	place := f.place(r, c)
	*place = cmp.Or(*place, r)
	if admits {
		f.admitting = r
	}
}

// place returns the field for r, if it matches c.
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

// ruled returns the verdict on c that needs no answer. If decided is false, somebody must be
// asked. rule is the one that decides.
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

func (g *Gate) asksApprover(r *Rule) bool { return g.Approver != nil && r.Decision != Deny }

// verdict returns the verdict of the rule that decides, or the next question: to the approver
// first, then to the person. asked is the question that was answered before, or nil.
func (g *Gate) verdict(c *Call, rule *Rule, asked *Question) (Verdict, *Question) {
	if g.asksApprover(rule) {
		if asked == nil {
			return Verdict{}, &Question{call: *c, rule: rule, approver: g.Approver}
		}
		v := Verdict{By: "approver", Rule: g.Approver.Origin, Reason: asked.reason}
		switch {
		case asked.decision == Deny:
			return v, nil
		case asked.decision == Allow && !c.asksEgress(): // an outsider's text may mislead the approver, too
			v.Outcome = Allowed
			return v, nil
		}
	}
	if v, decided := g.ruled(c, rule); decided {
		return v, nil
	}
	switch {
	case c.asksEgress(): // an earlier answer does not count
	case g.allowed[g.callKey(c)]:
		return Verdict{Outcome: Allowed, By: "terminal", Rule: "terminal", Reason: "the same call was approved before"}, nil
	case g.allowed[toolKey(c)] && g.mayAllowTool(rule):
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

// answered returns the verdict of a person's answer. It remembers an answer that allows more
// than this call.
func (g *Gate) answered(c *Call, asked *Question) Verdict {
	a, by := asked.answer, cmp.Or(asked.by, "terminal")
	v := Verdict{By: by, Rule: by, Reason: a.reason, EndsRun: a.kind == answerQuit}
	if g.allowed == nil {
		g.allowed = map[any]bool{}
	}
	switch a.kind {
	case answerTool:
		g.allowed[toolKey(c)] = true
	case answerAlways:
		g.allowed[g.callKey(c)] = true
	case answerYes:
	default:
		return v
	}
	v.Outcome = Allowed
	return v
}

// mayAllowTool reports whether a person may allow every call of a tool: not if a rule or the
// approver asks about each call.
func (g *Gate) mayAllowTool(rule *Rule) bool { return rule == &g.Otherwise && g.Approver == nil }

// callKey identifies the calls that the answer "a" allows: calls of the same tool with the same
// arguments, while the paths lead to the same targets.
func (g *Gate) callKey(c *Call) [sha256.Size]byte {
	// Package fmt writes a map in the order of its keys.
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %s %q", c.Server, c.Tool, c.Name, c.Arguments, g.evaluation.places))
}

// toolKey identifies the tool that the answer "t" allows.
func toolKey(c *Call) [2]string { return [2]string{c.Server, c.Tool} }

func (r *Rule) verdict(o Outcome) Verdict {
	return Verdict{Outcome: o, By: r.By, Rule: r.Origin, Reason: r.Reason}
}

// unapproved is the verdict if nobody can be asked about a call. rule is the rule that asks.
func unapproved(rule *Rule, why string) Verdict {
	v := rule.verdict(Unapproved)
	if v.Reason = why; rule.Reason != "" {
		v.Reason = rule.Reason + " (" + why + ")"
	}
	return v
}

// A Question must be answered before there is a verdict on a call: first by the approver, if
// there is one, then by the person. Ask it, then pass it to Gate.Answer.
type Question struct {
	call         Call
	rule         *Rule     // the rule that asks
	approver     *Approver // that gets it; nil: the person
	terminal     *Terminal // of the person
	mayAllowTool bool      // the person may allow every call of the tool

	decision Decision // of the approver
	reason   string   // likewise
	by       string   // how the person was asked; "" is on the terminal
	answer   answer   // of the person
	nobody   error    // why no person could be asked
}

// Ask waits for the answer. It does not use the gate, so no lock is needed meanwhile. The error
// is ctx's cause.
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

// OfConversation reports whether Egress or a rule with when asks, because of the conversation.
func (q *Question) OfConversation() bool { return q.call.asksEgress() || q.rule.when != 0 }

// AskThrough is Ask for a person who is not at the terminal. by names the way, as in
// Verdict.By. ask gets the text that the terminal would show. It returns whether the person
// allows the call, or why there is no answer. A call is denied if its arguments do not fit
// completely into a question, or if the file that it changes was changed meanwhile.
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

// isAbout reports whether the question was about c in its present state. rule decides now.
func (q *Question) isAbout(c *Call, rule *Rule) bool {
	was := q.rule
	return was.Decision == rule.Decision && was.By == rule.By && was.Origin == rule.Origin && was.Reason == rule.Reason && q.call.egress == c.egress
}
