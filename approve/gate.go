package approve

import (
	"context"
	"crypto/sha256"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Gate gives verdicts. Fill it, then call Check once before the first Decide.
// Its methods are called from one goroutine at a time.
type Gate struct {
	AutoApprove     string    // the origin of the approval of all that would be asked about, such as a flag; "" for none
	Rules           []Rule    // see Patterns, ParsePolicy
	Otherwise       Decision  // what a call gets that no rule matches: Ask, or Deny; the zero value denies
	OtherwiseOrigin string    // where Otherwise was written, such as "ci.json:2"; "" when nowhere
	Terminal        *Terminal // nil: nobody can be asked
	Approver        Approver  // nil: none
	ApproverOrigin  string    // where Approver was named, such as a flag

	remembered map[[sha256.Size]byte]bool // calls answered with "a" in this run
	scratch    evaluation
}

// Decide gives the verdict on c; it may wait for a person. The error is ctx's
// cause; with an error nothing is allowed.
func (g *Gate) Decide(ctx context.Context, c Call) (Verdict, error) {
	if err := context.Cause(ctx); err != nil {
		return Verdict{}, err
	}
	decision, rule := g.evaluate(ctx, &c, nil)
	if err := context.Cause(ctx); err != nil {
		return Verdict{}, err
	}
	places := g.scratch.places
	v, err := g.settle(ctx, &c, decision, rule)
	v.Places, v.rules = places, decision
	return v, err
}

// Again gives the verdict on a call once more, immediately before it runs,
// when what ran before it may have moved what its paths lead to; first is the
// verdict that allowed it. As long as the rules say the same about the same
// places first holds, and nobody is asked again.
func (g *Gate) Again(ctx context.Context, c Call, first Verdict) (Verdict, error) {
	if decision, _ := g.evaluate(ctx, &c, nil); decision == first.rules && maps.Equal(g.scratch.places, first.Places) {
		return first, context.Cause(ctx)
	}
	c.moved = true
	return g.Decide(ctx, c)
}

// settle asks whom the decision of the rules leaves to be asked.
func (g *Gate) settle(ctx context.Context, c *Call, decision Decision, rule *Rule) (Verdict, error) {
	if decision == Deny {
		return g.denied(rule), nil
	}
	if g.Approver != nil {
		v, decided, err := g.consult(ctx, c, g.soFar(decision, rule))
		if err != nil || decided {
			return v, err
		}
	}
	if decision == Allow {
		return allowed(rule), nil
	}
	if g.AutoApprove != "" {
		return g.autoApproved(), nil
	}
	if g.remembered[g.callKey(c)] {
		return Verdict{Outcome: Allowed, By: "terminal", Rule: "terminal", Reason: "the same call was approved before"}, nil
	}
	return g.ask(ctx, c, rule)
}

// DeniedPaths are the paths, absolute and free of links, that deny rules keep
// the tool of c from by an under test on the argument of that name. A call
// whose own argument leads elsewhere may run, but must leave out what is at
// and below these paths. What cannot be told is the whole file system.
func (g *Gate) DeniedPaths(ctx context.Context, c Call, argument string) (paths []string) {
	e := &g.scratch
	e.begin(ctx, &c)
	for i := range g.Rules {
		r := &g.Rules[i]
		if r.Decision != Deny || r.arguments == nil || !r.concerns(&c) {
			continue
		}
		for j := range r.arguments.tests {
			t := &r.arguments.tests[j]
			if t.under == "" || len(t.path) != 1 || !t.path[0].any && !strings.EqualFold(t.path[0].key, argument) {
				continue
			}
			e.parse()
			if !r.arguments.restrict(e, t) && !e.usedUp() {
				continue
			}
			bases, err := e.bases(t.under)
			if err != nil || e.usedUp() {
				bases = []string{string(filepath.Separator)}
			}
			paths = append(paths, bases...)
		}
	}
	return paths
}

// ask puts the question to the terminal, if there is one.
func (g *Gate) ask(ctx context.Context, c *Call, rule *Rule) (Verdict, error) {
	if g.Terminal == nil {
		return unapproved(rule, "nobody can be asked"), nil
	}
	a, err := g.Terminal.ask(ctx, c, rule)
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{By: "terminal", Rule: "terminal", Reason: a.reason}
	switch a.kind {
	case answerNobody:
		return unapproved(rule, a.reason), nil
	case answerAlways:
		if g.remembered == nil {
			g.remembered = make(map[[sha256.Size]byte]bool)
		}
		g.remembered[g.callKey(c)] = true
		v.Outcome = Allowed
	case answerYes:
		v.Outcome = Allowed
	}
	return v, nil
}

// callKey identifies what an "a" was given for: the tool, the arguments, and
// where the paths in them led when the rules were last evaluated.
func (g *Gate) callKey(c *Call) [sha256.Size]byte {
	h := sha256.New()
	for _, part := range []string{c.Server, c.Tool, c.Name} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(c.Arguments)
	for _, path := range slices.Sorted(maps.Keys(g.scratch.places)) {
		h.Write([]byte("\x00" + path + "\x00" + g.scratch.places[path]))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// denied is the verdict of a rule that denies, or of Otherwise when rule is nil.
func (g *Gate) denied(rule *Rule) Verdict {
	if rule != nil {
		return Verdict{Outcome: Denied, By: rule.By, Rule: rule.Origin, Reason: rule.Reason}
	}
	v := Verdict{Outcome: Denied, By: "default", Rule: g.OtherwiseOrigin, Reason: "no rule allows it"}
	if g.OtherwiseOrigin != "" {
		v.By = "policy"
	}
	return v
}

func allowed(rule *Rule) Verdict {
	return Verdict{Outcome: Allowed, By: rule.By, Rule: rule.Origin, Reason: rule.Reason}
}

func (g *Gate) autoApproved() Verdict {
	return Verdict{Outcome: Allowed, By: "flag", Rule: g.AutoApprove}
}

// unapproved is the verdict when rule (nil: no rule) leaves a call to be asked
// about and nobody can be.
func unapproved(rule *Rule, why string) Verdict {
	v := Verdict{Outcome: Unapproved, By: "default", Reason: why}
	if rule != nil {
		v.By, v.Rule = rule.By, rule.Origin
		if rule.Reason != "" {
			v.Reason = rule.Reason + " (" + why + ")"
		}
	}
	return v
}

// soFar is the verdict before an approver or a person was asked.
func (g *Gate) soFar(decision Decision, rule *Rule) RuleMatch {
	m := RuleMatch{Decision: decision, By: "default"}
	if rule != nil {
		m.By, m.Origin, m.Reason = rule.By, rule.Origin, rule.Reason
	}
	return m
}

// Static gives the verdict that the tool of c would get by rules alone, c's
// arguments not looked at: Denied only if it is denied whatever its
// arguments. It asks nobody. A tool that only rules with argument tests could
// allow is Unapproved. Used to withhold tools and by --list-tools.
func (g *Gate) Static(c Call) Verdict {
	var always, sometimes [Allow + 1]*Rule // by decision: whatever the arguments; for some arguments
	opens := g.Otherwise != Deny           // not all calls are denied for want of a rule
	for i := range g.Rules {
		r := &g.Rules[i]
		if !r.matchesTool(&c) {
			continue
		}
		opens = opens || r.Decision != Deny && r.matchesNames(&c, false)
		into := &always
		if r.arguments != nil {
			into = &sometimes
		}
		if into[r.Decision] == nil {
			into[r.Decision] = r
		}
	}
	switch {
	case always[Deny] != nil:
		return g.denied(always[Deny])
	case !opens:
		return g.denied(nil)
	case always[Allow] != nil && always[Ask] == nil:
		return exceptSome(allowed(always[Allow]), sometimes[Deny], sometimes[Ask])
	case always[Ask] == nil && g.Otherwise == Deny:
		rule := sometimes[Allow]
		if rule == nil {
			rule = sometimes[Ask]
		}
		return Verdict{Outcome: Unapproved, By: rule.By, Rule: rule.Origin, Reason: "it depends on the arguments"}
	case g.AutoApprove != "":
		return exceptSome(g.autoApproved(), sometimes[Deny])
	case always[Ask] == nil && sometimes[Allow] != nil:
		v := unapproved(nil, "it depends on the arguments")
		v.By, v.Rule = sometimes[Allow].By, sometimes[Allow].Origin
		return v
	}
	return unapproved(always[Ask], "somebody must be asked")
}

// exceptSome adds to a verdict which rules can take it back for some arguments.
func exceptSome(v Verdict, rules ...*Rule) Verdict {
	for _, r := range rules {
		if r == nil {
			continue
		}
		does := "denies"
		if r.Decision == Ask {
			does = "asks about"
		}
		v.Reason = strings.TrimPrefix(v.Reason+"; "+r.Origin+" "+does+" some arguments", "; ")
	}
	return v
}

// Explain says, without asking anybody, what Decide would say of c, and every
// rule that matched. The error is ctx's cause.
func (g *Gate) Explain(ctx context.Context, c Call) (Explanation, error) {
	var e Explanation
	decision, rule := g.evaluate(ctx, &c, nil)
	g.evaluate(ctx, &c, func(r *Rule) {
		e.Matched = append(e.Matched, RuleMatch{Decision: r.Decision, By: r.By, Origin: r.Origin, Reason: r.Reason})
	})
	e.Approver = g.Approver != nil && decision != Deny
	switch {
	case decision == Deny:
		e.Verdict = g.denied(rule)
	case decision == Allow:
		e.Verdict = allowed(rule)
	case g.AutoApprove != "":
		e.Verdict = g.autoApproved()
	default:
		e.Ask = true
		e.Verdict = unapproved(rule, "somebody must be asked")
	}
	return e, context.Cause(ctx)
}
