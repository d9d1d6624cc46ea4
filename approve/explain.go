package approve

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// Explain says how Decide would decide about c, and which rules match. It asks nobody.
// The error is ctx's cause.
func (g *Gate) Explain(ctx context.Context, c Call) (Explanation, error) {
	var x Explanation
	rule := g.weigh(ctx, &c, &x)
	v, decided := g.ruled(&c, rule)
	v.Egress = c.egress
	x.Verdict, x.Ask, x.Approver = v, !decided, g.asksApprover(rule)
	return x, context.Cause(ctx)
}

// add records a rule that matches c, or that names the tool of c and does not match because of
// why.
func (x *Explanation) add(r *Rule, c *Call, matches bool, why string) {
	switch {
	case matches:
		x.Matched = append(x.Matched, r)
	case !r.open && r.behind == nil && r.hasNameOf(c, true):
		x.Others = append(x.Others, Unmatched{r, why})
	}
}

// Denies reports whether rules deny every call of the tool of c. Such a tool need not be
// offered to the model.
func (g *Gate) Denies(c Call) bool {
	v := g.Static(c)
	return v.Outcome == Denied && v.Except == ""
}

// Static returns the verdict of the rules alone on calls of the tool of c. It does not look at
// the arguments of c, and asks nobody. Verdict.Except lists the calls with another verdict. It
// may list too many: two rules may never match the same call.
func (g *Gate) Static(c Call) Verdict {
	var base found // the rules that match every call
	var some [Allow + 1][]*Rule
	for r := range g.all() {
		matches, admits := r.reach(&c, r.restricts()), g.admits(r, &c)
		if matches == allCalls {
			base.add(r, &c, admits == allCalls)
		}
		if matches == someCalls || admits == someCalls {
			some[r.Decision] = append(some[r.Decision], r)
		}
	}
	v, _ := g.ruled(&c, base.decides(&g.Otherwise))
	var except [Allowed + 1][]string // by outcome
	list := func(o Outcome, calls, rule string) {
		text := [...]string{"denied ", "asked about ", "allowed "}[o] + calls
		if o != v.Outcome && !slices.Contains(except[o], text) {
			except[o], v.Rule = append(except[o], text), cmp.Or(v.Rule, rule)
		}
	}
	for _, r := range slices.Concat(some[:]...) {
		f := base
		f.add(r, &c, g.admits(r, &c) != noCalls)
		for _, allow := range some[Allow] {
			if r.Decision == Ask { // it may ask about calls that only this rule allows
				f.add(allow, &c, false)
			}
		}
		other, _ := g.ruled(&c, f.decides(&g.Otherwise))
		list(other.Outcome, r.some(), r.Origin)
	}
	deniesAll := v.Outcome == Denied && len(slices.Concat(except[:]...)) == 0
	switch when := while(Exposed &^ (c.Labels & Private)); {
	case deniesAll || !c.Labels.Has(Sends):
	case g.Egress == EgressDeny:
		list(Denied, when, g.EgressOrigin)
	case g.Egress == EgressAsk:
		list(Unapproved, when, g.EgressOrigin)
	}
	v.Except = strings.Join(slices.Concat(except[:]...), ", ")
	return v
}

// some describes the calls that the rule matches, if it matches only some calls of a tool.
func (r *Rule) some() string {
	var words []string
	switch a := r.arguments; {
	case a == nil:
	case a.path != nil || slices.ContainsFunc(a.tests, func(t argumentTest) bool { return t.under != "" }):
		words = append(words, "for some paths")
	default:
		words = append(words, "for some arguments")
	}
	if r.when != 0 {
		words = append(words, while(r.when))
	}
	return strings.Join(words, " ")
}

// while describes the calls of a conversation with these labels.
func while(labels Labels) string {
	return "while the conversation is " + strings.Join(labels.Words(), " and ")
}

type reach uint8

const (
	noCalls reach = iota
	someCalls
	allCalls
)

// admits says which calls the rule lets pass; see mayAdmit.
func (g *Gate) admits(r *Rule, c *Call) reach {
	if !g.mayAdmit(r) {
		return noCalls
	}
	return r.reach(c, false)
}

// reach says which calls of the tool of c the rule matches.
func (r *Rule) reach(c *Call, wide bool) reach {
	calls := allCalls
	switch {
	case !r.matchesNames(c, wide):
		return noCalls
	case r.when != 0:
		calls = someCalls
	}
	if r.arguments != nil {
		calls = min(calls, r.arguments.reach(c, wide))
	}
	return calls
}

func (a *argumentTests) reach(c *Call, wide bool) reach {
	calls := allCalls
	if a.path != nil {
		calls = a.path.reach(c, wide)
	}
	if len(a.tests) > 0 || !wide && !a.others {
		calls = min(calls, someCalls)
	}
	return calls
}

func (p *placeTest) reach(c *Call, wide bool) reach {
	calls := noCalls
	if c.Reads.Absent != "" && p.effects.Has(Reads) {
		calls = someCalls
	}
	for _, places := range p.places(c, wide) {
		switch {
		case !places.Known || len(places.Paths) > 0:
			calls = max(calls, someCalls)
		case wide: // no argument names the file
			return allCalls
		}
	}
	return calls
}
