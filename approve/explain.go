package approve

import (
	"cmp"
	"context"
	"slices"
)

// Explain says how Decide would decide about c, and which rules match. It asks
// nobody. The error is ctx's cause.
func (g *Gate) Explain(ctx context.Context, c Call) (Explanation, error) {
	var x Explanation
	rule := g.weigh(ctx, &c)
	g.evaluate(ctx, &c, func(r *Rule) { x.Matched = append(x.Matched, r) })
	for r := range g.all() {
		if !slices.Contains(x.Matched, r) && r.namesTool(&c) {
			x.Others = append(x.Others, Unmatched{r, r.whyNot(&g.evaluation, &c)})
		}
	}
	x.Approver = g.Approver != nil && rule.Decision != Deny
	switch {
	case rule.Decision == Deny:
		x.Verdict = rule.verdict(Denied)
	case rule.Decision == Allow:
		x.Verdict = rule.verdict(Allowed)
	case g.AutoApprove != "" && !c.asksEgress():
		x.Verdict = g.autoApproved()
	default:
		x.Ask = true
		x.Verdict = unapproved(rule, "somebody must be asked")
	}
	x.Verdict.Egress = c.egress
	return x, context.Cause(ctx)
}

// Static gives the verdict that rules alone give on the tool of c; it does not
// look at c's arguments and asks nobody. Denied means that the tool is denied
// with any arguments, and need not be offered to the model. Unapproved means
// that the verdict depends on the arguments or on a person. If the tool is
// Allowed, stricter rules may still match some arguments.
func (g *Gate) Static(c Call) Verdict {
	var always, sometimes [Allow + 1]*Rule  // by decision, the first rule without argument tests and with them
	mayPass := g.Otherwise.Decision != Deny // not all calls are denied for want of a rule
	for r := range g.all() {
		if !r.matchesTool(&c) {
			continue
		}
		mayPass = mayPass || r.Decision != Deny && r.matchesNames(&c, false)
		into := &always
		if r.arguments != nil || r.when != 0 {
			into = &sometimes
		}
		if into[r.Decision] == nil {
			into[r.Decision] = r
		}
	}
	switch {
	case always[Deny] != nil:
		return always[Deny].verdict(Denied)
	case !mayPass:
		return g.Otherwise.verdict(Denied)
	case always[Allow] != nil && always[Ask] == nil:
		v := always[Allow].verdict(Allowed)
		v.Except = exception(sometimes[Deny], sometimes[Ask])
		return v
	case always[Ask] == nil && g.Otherwise.Decision == Deny:
		return dependsOnArguments(cmp.Or(sometimes[Allow], sometimes[Ask]))
	case g.AutoApprove != "":
		return g.autoApproved()
	case always[Ask] == nil && sometimes[Allow] != nil:
		return dependsOnArguments(sometimes[Allow])
	}
	return unapproved(cmp.Or(always[Ask], &g.Otherwise), "somebody must be asked")
}

// exception says, of a tool that is allowed, when it is not; the rules may be nil.
func exception(deny, ask *Rule) string {
	r, verb := cmp.Or(deny, ask), "asked about for "
	switch {
	case r == nil:
		return ""
	case deny != nil:
		verb = "denied for "
	}
	switch {
	case r.arguments == nil:
		return verb + "what a conversation holds"
	case r.arguments.path != nil || slices.ContainsFunc(r.arguments.tests, func(t argumentTest) bool { return t.under != "" }):
		return verb + "some paths"
	}
	return verb + "some arguments"
}

func dependsOnArguments(rule *Rule) Verdict {
	v := rule.verdict(Unapproved)
	v.Reason = "it depends on the arguments"
	if rule.when != 0 {
		v.Reason = "it depends on what the conversation holds"
	}
	return v
}
