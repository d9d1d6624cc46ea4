package approve

import (
	"context"
	"crypto/sha256"
	"strings"
)

// Gate gives verdicts. Fill it, then call Check once before the first Decide.
// Its methods are called from one goroutine at a time.
type Gate struct {
	AutoApprove     bool
	Rules           []Rule    // see Patterns, LoadPolicy
	Otherwise       Decision  // what a call gets that no rule matches: Ask, or Deny; the zero value denies
	OtherwiseOrigin string    // where Otherwise was written, such as "ci.json:2"; "" when nowhere
	Terminal        *Terminal // nil: nobody can be asked
	Approver        Approver  // nil: none

	remembered map[[sha256.Size]byte]bool // calls answered with "a" in this run
	scratch    evaluation
}

// Decide gives the verdict on c; it may wait for a person. The error is ctx's
// cause; with an error nothing is allowed.
func (g *Gate) Decide(ctx context.Context, c Call) (Verdict, error) {
	if err := context.Cause(ctx); err != nil {
		return Verdict{}, err
	}
	decision, rule := g.evaluate(&c, nil)
	if decision == Deny {
		return g.denied(rule), nil
	}
	if g.Approver != nil {
		v, decided, err := g.consult(ctx, &c, g.soFar(decision, rule))
		if err != nil || decided {
			return v, err
		}
	}
	if decision == Allow {
		return allowed(rule), nil
	}
	if g.AutoApprove {
		return autoApproved(), nil
	}
	if g.remembered[callKey(&c)] {
		return Verdict{Outcome: Allowed, By: "terminal", Rule: "terminal", Reason: "the same call was approved before"}, nil
	}
	return g.ask(ctx, &c, rule)
}

// ask puts the question to the terminal, if there is one.
func (g *Gate) ask(ctx context.Context, c *Call, rule *Rule) (Verdict, error) {
	if g.Terminal == nil {
		return g.unapproved(c, rule, "nobody can be asked"), nil
	}
	a, err := g.Terminal.ask(ctx, c, rule)
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{By: "terminal", Rule: "terminal", Reason: a.reason}
	switch a.kind {
	case answerNobody:
		return g.unapproved(c, rule, a.reason), nil
	case answerAlways:
		if g.remembered == nil {
			g.remembered = make(map[[sha256.Size]byte]bool)
		}
		g.remembered[callKey(c)] = true
		v.Outcome = Allowed
	case answerYes:
		v.Outcome = Allowed
	}
	return v, nil
}

// callKey identifies the tool and the arguments that an "a" was given for.
func callKey(c *Call) [sha256.Size]byte {
	h := sha256.New()
	for _, part := range []string{c.Server, c.Tool, c.Name} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(c.Arguments)
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

func autoApproved() Verdict {
	return Verdict{Outcome: Allowed, By: "flag", Rule: "--auto-approve"}
}

// unapproved is the verdict when rule (nil: no rule) leaves c to be asked
// about and nobody can be.
func (g *Gate) unapproved(c *Call, rule *Rule, why string) Verdict {
	v := Verdict{Outcome: Unapproved, By: "default", Reason: why, Hint: "--allow " + shellQuote(c.Name)}
	if rule != nil {
		// An allow does not outweigh a rule that asks; only an answer does.
		v.By, v.Rule, v.Hint = rule.By, rule.Origin, "--auto-approve"
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
	for i := range g.Rules {
		r := &g.Rules[i]
		if !r.matchesTool(&c) {
			continue
		}
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
	case always[Ask] == nil && always[Allow] == nil && g.Otherwise == Deny && sometimes[Ask] == nil && sometimes[Allow] == nil:
		return g.denied(nil)
	case always[Allow] != nil && always[Ask] == nil:
		return exceptSome(allowed(always[Allow]), sometimes[Deny], sometimes[Ask])
	case always[Ask] == nil && g.Otherwise == Deny:
		rule := sometimes[Allow]
		if rule == nil {
			rule = sometimes[Ask]
		}
		return Verdict{Outcome: Unapproved, By: rule.By, Rule: rule.Origin, Reason: "it depends on the arguments"}
	case g.AutoApprove:
		return exceptSome(autoApproved(), sometimes[Deny])
	case always[Ask] == nil && sometimes[Allow] != nil:
		v := g.unapproved(&c, nil, "it depends on the arguments")
		v.By, v.Rule = sometimes[Allow].By, sometimes[Allow].Origin
		return v
	}
	return g.unapproved(&c, always[Ask], "somebody must be asked")
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
// rule that matched.
func (g *Gate) Explain(c Call) Explanation {
	var e Explanation
	decision, rule := g.evaluate(&c, func(r *Rule) {
		e.Matched = append(e.Matched, RuleMatch{Decision: r.Decision, By: r.By, Origin: r.Origin, Reason: r.Reason})
	})
	e.Approver = g.Approver != nil && decision != Deny
	switch {
	case decision == Deny:
		e.Verdict = g.denied(rule)
	case decision == Allow:
		e.Verdict = allowed(rule)
	case g.AutoApprove:
		e.Verdict = autoApproved()
	default:
		e.Ask = true
		e.Verdict = g.unapproved(&c, rule, "somebody must be asked")
	}
	for i := range e.Matched {
		m := &e.Matched[i]
		if rule != nil && m.Decision == rule.Decision && m.Origin == rule.Origin {
			m.Decided = true
			break
		}
	}
	return e
}

// shellQuote returns s as one word of a POSIX shell.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:@%+,=", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
