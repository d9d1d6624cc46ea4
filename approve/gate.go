package approve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// A Gate gives verdicts. Fill it, then call Check once before the first Decide.
// Its methods are called from one goroutine at a time.
type Gate struct {
	Rules        []Rule      // from Patterns and ParsePolicy
	LabelRules   []LabelRule // from ParsePolicy
	Input        Labels      // of attached files and of standard input
	Egress       Egress      // the zero value denies; it matters for calls with the label Sends alone
	EgressBy     string      // as Rule.By
	EgressOrigin string      // where Egress was written
	Otherwise    Rule        // decides about a call that no other rule matches: OtherwiseAsk, or a policy's; the zero value denies
	AutoApprove  string      // the origin of the wish to allow all calls that would be asked about, such as a flag; "" for no such wish
	Approver     *Approver   // nil: none
	Terminal     *Terminal   // nil: nobody can be asked

	alwaysAllowed map[[sha256.Size]byte]bool // calls that a person allowed for the rest of the run, by callKey
	allowedTools  map[[2]string]bool         // tools that a person allowed for the rest of the run, by server and tool
	evaluation    evaluation                 // of the last call
}

// OtherwiseAsk leaves a call that no rule matches to be asked about.
var OtherwiseAsk = Rule{Decision: Ask, By: "default"}

// Decide gives the verdict on c; it may wait for a person. The error is ctx's
// cause; with an error nothing is allowed.
func (g *Gate) Decide(ctx context.Context, c Call) (Verdict, error) {
	rule := g.weigh(ctx, &c)
	if err := context.Cause(ctx); err != nil {
		return Verdict{}, err
	}
	places := g.evaluation.places
	v, err := g.verdict(ctx, &c, rule)
	v.Places, v.rule, v.Egress = places, rule, c.egress
	return v, err
}

// Recheck gives the verdict on c again, immediately before c runs: the calls
// that ran meanwhile may have moved what its paths lead to, and what they returned
// is in the conversation. before is the verdict that allowed c. It still holds, and
// nobody is asked again, if the same rule decides and the paths lead to the same
// places, or if a person has allowed it to send what now need not be asked about.
func (g *Gate) Recheck(ctx context.Context, c Call, before Verdict) (Verdict, error) {
	rule := g.weigh(ctx, &c)
	asked := before.Egress == EgressAsk.String()
	same := rule == before.rule || asked && rule.Decision != Deny
	c.pathsMoved = !maps.Equal(g.evaluation.places, before.Places)
	if same && !c.pathsMoved {
		before.Egress = c.egress
		return before, context.Cause(ctx)
	}
	return g.Decide(ctx, c)
}

// evaluate returns the first of the strictest rules that match c, or Otherwise.
// matched, if it is not nil, is called with each rule that matches. When the budget
// is used up or ctx has ended, the rule is one that denies.
//
// A rule that asks restricts, as a deny does: one matching value is enough.
// Where Otherwise denies all other calls, such a rule also lets a call pass. To
// do that it must match as an allow must: name the tool in its own case and
// have a test for every argument.
//
// Of the rules that allow, one that lifts what Egress says comes first.
func (g *Gate) evaluate(ctx context.Context, c *Call, matched func(*Rule)) *Rule {
	var first [Allow + 1]*Rule // by decision
	var admitting *Rule        // the first rule that asks and lets the call pass though Otherwise denies
	e := &g.evaluation
	e.begin(ctx, c)
	for i := range g.Rules {
		r := &g.Rules[i]
		mayAdmit := r.Decision == Ask && g.Otherwise.Decision == Deny && admitting == nil
		lifts := !e.lifted && r.lifts(c)
		decidesNothing := first[Deny] != nil || first[r.Decision] != nil && !mayAdmit && !lifts
		if decidesNothing && matched == nil || !r.appliesTo(c) {
			continue
		}
		matches := r.matchesArguments(e, r.restricts())
		admits := matches && mayAdmit && r.matchesNames(c, false) && r.matchesArguments(e, false)
		if e.exhausted() {
			return &overBudget
		}
		if !matches {
			continue
		}
		if first[r.Decision] == nil || lifts {
			first[r.Decision] = r
			e.lifted = e.lifted || lifts
		}
		if admits {
			admitting = r
		}
		if matched != nil {
			matched(r)
		}
	}
	switch {
	case first[Deny] != nil:
		return first[Deny]
	case first[Ask] != nil && (first[Allow] != nil || g.Otherwise.Decision != Deny):
		return first[Ask]
	}
	return cmp.Or(admitting, first[Allow], &g.Otherwise)
}

// verdict asks the approver and the person about a call, where the rule that decides
// leaves that to be done.
func (g *Gate) verdict(ctx context.Context, c *Call, rule *Rule) (Verdict, error) {
	if rule.Decision == Deny {
		return rule.verdict(Denied), nil
	}
	if g.Approver != nil {
		answer, reason, err := g.Approver.judge(ctx, c, rule)
		v := Verdict{By: "approver", Rule: g.Approver.Origin, Reason: reason}
		switch {
		case err != nil:
			return Verdict{}, err
		case answer == Deny:
			return v, nil
		case answer == Allow && !c.asksEgress(): // the approver, too, may be taken in by what an outsider wrote
			v.Outcome = Allowed
			return v, nil
		}
	}
	switch {
	case c.asksEgress(): // only a person answers this
	case rule.Decision == Allow:
		return rule.verdict(Allowed), nil
	case g.AutoApprove != "":
		return g.autoApproved(), nil
	case g.alwaysAllowed[g.callKey(c)]:
		return Verdict{Outcome: Allowed, By: "terminal", Rule: "terminal", Reason: "the same call was approved before"}, nil
	case g.allowedTools[[2]string{c.Server, c.Tool}] && g.mayAllowTool(rule):
		return Verdict{Outcome: Allowed, By: "terminal", Rule: "terminal", Reason: "the tool was approved for this run"}, nil
	}
	return g.askPerson(ctx, c, rule)
}

// askPerson asks on the terminal, if there is one.
func (g *Gate) askPerson(ctx context.Context, c *Call, rule *Rule) (Verdict, error) {
	if g.Terminal == nil {
		return unapproved(rule, "nobody can be asked"), nil
	}
	a, err := g.Terminal.ask(ctx, c, rule, g.mayAllowTool(rule))
	if nobody, ok := errors.AsType[nobodyError](err); ok {
		return unapproved(rule, nobody.Error()), nil
	}
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{By: "terminal", Rule: "terminal", Reason: a.reason, EndsRun: a.kind == answerQuit}
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
	return v, nil
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

// DeniedPaths returns the paths, absolute and without links, that deny rules
// keep the tool of c from by an under test on the argument of that name. A
// call whose own path lies elsewhere may run, but must leave out the files at
// and below these paths. If a path cannot be found out, the result holds the
// root of the file system.
func (g *Gate) DeniedPaths(ctx context.Context, c Call, argument string) (paths []string) {
	e := &g.evaluation
	e.begin(ctx, &c)
	for i := range g.Rules {
		r := &g.Rules[i]
		if r.Decision != Deny || r.arguments == nil || !r.appliesTo(&c) {
			continue
		}
		for j := range r.arguments.tests {
			t := &r.arguments.tests[j]
			if t.under == "" || len(t.path) != 1 || !t.path[0].any && !strings.EqualFold(t.path[0].key, argument) {
				continue
			}
			if !r.arguments.matchWide(e, t) && !e.exhausted() {
				continue
			}
			directories, err := e.ruleDirectories(t.under)
			if err != nil || e.exhausted() {
				directories = []string{"/"}
			}
			paths = append(paths, directories...)
		}
	}
	return paths
}

// verdict is the verdict that the rule gives.
func (r *Rule) verdict(o Outcome) Verdict {
	return Verdict{Outcome: o, By: r.By, Rule: r.Origin, Reason: r.Reason}
}

func (g *Gate) autoApproved() Verdict {
	return Verdict{Outcome: Allowed, By: "flag", Rule: g.AutoApprove}
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
