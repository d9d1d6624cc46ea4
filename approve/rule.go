package approve

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Rule matches calls and says what becomes of them. Patterns and ParsePolicy
// make rules; the zero Rule matches nothing.
type Rule struct {
	Decision Decision
	By       string // "flag", "policy", "config"
	Origin   string // "--allow fs__*", "ci.json:12"
	Reason   string // shown to the model and the person

	NotServers []string // servers of whose tools it does not speak

	names     []glob // a flag's pattern: NAME__TOOL as the model knows it
	servers   []glob // a policy rule's
	tools     []glob
	readOnly  bool // every tool that is ReadOnly
	optional  bool // may name a server or tool that does not exist
	arguments *argumentTests
}

// readOnlyTools is the pattern that stands for all tools annotated read-only
// by servers that the user trusts.
const readOnlyTools = "@read-only"

// Patterns makes one rule of each element of a comma list. An element is a
// glob (* and ?) over NAME__TOOL, or @read-only, which a deny cannot use: a
// deny must not hang on what a server claims. The origin of each rule is
// origin, or, when origin ends in a blank, origin and the element.
func Patterns(list string, d Decision, by, origin string) ([]Rule, error) {
	var rules []Rule
	for element := range strings.SplitSeq(list, ",") {
		element = strings.TrimSpace(element)
		r := Rule{Decision: d, By: by, Origin: origin}
		if strings.HasSuffix(origin, " ") {
			r.Origin += element
		}
		switch {
		case element == "":
			return nil, fmt.Errorf("empty pattern in %q", list)
		case element == readOnlyTools && d == Deny:
			return nil, fmt.Errorf("%s cannot be denied: name the tools", readOnlyTools)
		case element == readOnlyTools:
			r.readOnly = true
		case element[0] == '@':
			return nil, fmt.Errorf("unknown word %q; the only one is %s", element, readOnlyTools)
		case strings.ContainsFunc(element, notInPattern):
			return nil, fmt.Errorf("%q is not a pattern of NAME__TOOL with * and ?", element)
		default:
			r.names = []glob{newGlob(element)}
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func notInPattern(r rune) bool {
	return r <= ' ' || r == 0x7f || Unsafe(r) || strings.ContainsRune("()[]{}\"'`\\|&;<>!$", r)
}

// matchesTool reports whether the rule speaks of the tool of c, its arguments
// not looked at.
func (r *Rule) matchesTool(c *Call) bool { return r.matchesNames(c, r.restricts()) }

// concerns is matchesTool, but a deny by an under test on the tool that c shows
// the files of holds for c as well.
func (r *Rule) concerns(c *Call) bool {
	if r.matchesTool(c) {
		return true
	}
	if c.ShowsFilesOf == "" || r.Decision != Deny || r.arguments == nil ||
		!slices.ContainsFunc(r.arguments.tests, func(t argumentTest) bool { return t.under != "" }) {
		return false
	}
	other := *c
	other.Tool = c.ShowsFilesOf
	return r.matchesTool(&other)
}

// restricts reports whether the rule denies or asks, and is so read wide.
func (r *Rule) restricts() bool { return r.Decision != Allow }

// matchesNames is matchesTool for a rule that is read wide or not. Wide, names
// match without regard to case, lest *delete* miss bulkDelete, and a name that
// was mapped to suit the model matches in its unmapped form, too.
func (r *Rule) matchesNames(c *Call, wide bool) bool {
	switch {
	case slices.Contains(r.NotServers, c.Server):
		return false
	case r.readOnly:
		return c.ReadOnly
	case r.names != nil:
		return matchesAny(r.names, c.Name, wide) || wide && matchesAny(r.names, c.Server+"__"+c.Tool, wide)
	}
	return matchesAny(r.servers, c.Server, wide) && matchesAny(r.tools, c.Tool, wide)
}

func matchesAny(globs []glob, s string, fold bool) bool {
	for i := range globs {
		if globs[i].matches(s, fold) {
			return true
		}
	}
	return false
}

// evaluate gives the strictest decision of all rules that match c and the
// first rule that decided so; rule is nil when Otherwise decided. Each rule
// that matched is handed to matched, if that is not nil. When the work of a
// decision is used up, or ctx has ended, the decision is Deny.
//
// An ask restricts like a deny: one matching value is enough. Where the rest
// is denied by Otherwise it also opens, and then it must name the tool as it is
// written and account for every argument, as an allow must.
func (g *Gate) evaluate(ctx context.Context, c *Call, matched func(*Rule)) (Decision, *Rule) {
	var first [Allow + 1]*Rule
	var opening *Rule // an ask that accounts for every argument
	e := &g.scratch
	e.begin(ctx, c)
	for i := range g.Rules {
		r := &g.Rules[i]
		if matched == nil && (first[Deny] != nil || first[r.Decision] != nil && (r.Decision != Ask || opening != nil || g.Otherwise != Deny)) || !r.concerns(c) {
			continue
		}
		matches := r.matchesArguments(e, r.Decision == Allow)
		opens := matches && r.Decision == Ask && opening == nil && g.Otherwise == Deny && r.matchesNames(c, false) && r.matchesArguments(e, true)
		if e.usedUp() {
			return Deny, &overworked
		}
		if !matches {
			continue
		}
		if first[r.Decision] == nil {
			first[r.Decision] = r
		}
		if opens {
			opening = r
		}
		if matched != nil {
			matched(r)
		}
	}
	switch {
	case first[Deny] != nil:
		return Deny, first[Deny]
	case first[Ask] != nil && (first[Allow] != nil || g.Otherwise != Deny):
		return Ask, first[Ask]
	case opening != nil:
		return Ask, opening
	case first[Allow] != nil:
		return Allow, first[Allow]
	case g.Otherwise == Deny:
		return Deny, nil
	}
	return Ask, nil
}
