package approve

import (
	"context"
	"slices"

	"toolpipe/stream/text/jsontext"
)

// An Egress decides about a call that sends while the conversation is private and untrusted,
// unless a rule with when allows it. The zero value denies it.
type Egress uint8

const (
	EgressDeny Egress = iota
	EgressAsk         // only a person can allow it
	EgressWarn        // it is decided as any other call, and the verdict says so
	EgressOff         // it is decided as any other call
)

var egressWords = []string{"deny", "ask", "warn", "off"}

func (e Egress) String() string { return egressWords[e] }

// ParseEgress returns the Egress of that word.
func ParseEgress(word string) (e Egress, ok bool) {
	i := slices.Index(egressWords, word)
	return Egress(max(i, 0)), i >= 0
}

// An EgressRule decides about calls that send. The zero value denies them.
type EgressRule struct {
	Egress       Egress
	EgressBy     string // as Rule.By
	EgressOrigin string // where Egress was written
	Words        string // of the user; a destination in them needs no question; "": none does
	Input        Labels // of attached files and of standard input
	InputSaid    bool   // a policy sets Input
}

// Seen describes the conversation when a call is decided.
type Seen struct {
	Labels             Labels // private and untrusted
	Private, Untrusted string // the source of the label, such as "mail__read (turn 1)"; not escaped
	Secret             string // the source of a secret of this run in the arguments; "" for none
}

func (s *Seen) reason() string {
	const begin = "it may send private data out: the conversation "
	if s.Private == "" {
		return begin + "is private and untrusted"
	}
	return begin + "is private by " + s.Private + " and untrusted by " + s.Untrusted
}

// weigh returns the rule that decides about c, from the rules or from Egress. It sets c.egress
// and c.named. x is passed to evaluate.
func (g *Gate) weigh(ctx context.Context, c *Call, x *Explanation) *Rule {
	c.egress, c.named = "", g.names(c)
	rule := g.evaluate(ctx, c, x)
	if c.tellsSecret() && g.Egress != EgressOff {
		c.egress = egressSecret
		return &Rule{Decision: Deny, By: "default", Origin: g.EgressOrigin, Reason: "its arguments contain a secret of this run: " + c.Seen.Secret}
	}
	if !c.sendsExposed() || g.Egress == EgressOff {
		return rule
	}
	c.egress = g.Egress.String()
	switch {
	case g.evaluation.lifted:
		c.egress = Allow.String()
	case c.named:
		c.egress = egressNamed
	case rule.Decision == Deny:
	case g.Egress == EgressAsk:
		return g.egressRule(c, Ask)
	case g.Egress == EgressDeny:
		return g.egressRule(c, Deny)
	}
	return rule
}

// sendsExposed reports whether c sends private data, and an outsider may have asked for that.
// The data was seen before, or c itself reads it.
func (c *Call) sendsExposed() bool {
	seen := c.Seen.Labels
	return c.Labels.Has(Sends) && seen.Has(Untrusted) && (seen | c.Labels).Has(Private)
}

// egressSecret is the outcome for a call with a secret of this run in its arguments.
const egressSecret = "secret"

// TellsSecret reports whether the verdict denies a call because its arguments hold a secret.
// The model does not get this reason: it could guess the secret piece by piece.
func (v *Verdict) TellsSecret() bool { return v.Egress == egressSecret }

// tellsSecret reports whether c may take out a secret of this run. Assumed effects count, as
// they do for a deny.
func (c *Call) tellsSecret() bool { return c.Seen.Secret != "" && c.Effects()&(Runs|Sends) != 0 }

// asksEgress reports whether only a person may allow the call.
func (c *Call) asksEgress() bool { return c.egress == EgressAsk.String() }

// lifts reports whether the rule, if it matches c, overrides Egress for c.
func (r *Rule) lifts(c *Call) bool {
	return r.Decision == Allow && r.when.Has(Exposed) && c.sendsExposed()
}

func (g *Gate) egressRule(c *Call, d Decision) *Rule {
	return &Rule{Decision: d, By: g.EgressBy, Origin: g.EgressOrigin, Reason: c.Seen.reason()}
}

func (p *policyReader) egress(at int, into *Policy) (err error) {
	var ok bool
	if into.Egress, ok = ParseEgress(jsontext.Text(p.raw(at))); !ok {
		return p.errorAt(p.nodes[at].start, `egress is "off", "warn", "ask" or "deny"`)
	}
	into.EgressOrigin = p.origin(at)
	return nil
}

// when reads the condition of a rule about the conversation.
func (p *policyReader) when(at int) (Labels, error) {
	labels, err := p.labels(at, Exposed)
	if err == nil && labels == 0 {
		err = p.errorAt(p.nodes[at].start, "an empty list of labels has no effect; remove when")
	}
	return labels, err
}
