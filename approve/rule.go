package approve

import (
	"fmt"
	"slices"
	"strings"

	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/readable"
)

// A Rule matches calls and decides about them. Patterns and ParsePolicy make
// rules; the zero Rule matches nothing.
type Rule struct {
	Decision Decision
	By       string // "flag", "policy", "config"
	Origin   string // where the rule was written, such as "--allow fs__*" or "ci.json:12"
	Reason   string // for the model and the person

	NotServers []string // the rule does not match their calls

	selector
	when      Labels // labels that the conversation must have
	optional  bool   // the server or the tool may be missing
	arguments *argumentTests

	scriptPattern bool // a pattern over a script is accepted
}

// A selector says which tools a rule matches.
type selector struct {
	readOnly bool   // every tool that is ReadOnly
	open     bool   // every call that is Open
	names    []glob // over NAME__TOOL, the name that the model knows
	servers  []glob // a policy rule's patterns over the server's name,
	tools    []glob // the rule that this one was made from, for the other built-in tools; see Gate.standBehind
	effects  Labels // of the tool; alone or beside servers and tools
	behind   *Rule  // made from this rule about readingTool for the other built-in tools; see Gate.standBehind
}

// readOnlyTools is the pattern for all tools annotated read-only by servers
// that the user trusts.
const readOnlyTools = "@read-only"

// openCalls is the pattern for the calls that the user saw in the input.
const openCalls = "@open"

// Patterns makes one rule of each element of a comma list. An element is a glob (* and ?) over
// NAME__TOOL, an effect such as @writes, @read-only or @open. A deny cannot use @read-only: it
// must not depend on a server's claims about its tools. Only an allow of a flag can use @open,
// because it is about one input. The origin of each rule is origin; if origin ends in a blank,
// origin and the element.
func Patterns(list string, d Decision, by, origin string) ([]Rule, error) {
	var rules []Rule
	for element := range strings.SplitSeq(list, ",") {
		element = strings.TrimSpace(element)
		r := Rule{Decision: d, By: by, Origin: origin}
		if strings.HasSuffix(origin, " ") {
			r.Origin += element
		}
		effects, _ := ParseLabels([]string{strings.TrimPrefix(element, "@")}, AllEffects)
		switch {
		case element == "":
			return nil, fmt.Errorf("empty pattern in %q", list)
		case element == readOnlyTools && d == Deny:
			return nil, fmt.Errorf("%s cannot be denied: name the tools", readOnlyTools)
		case element == readOnlyTools:
			r.readOnly = true
		case element == openCalls && (d != Allow || by != "flag"):
			return nil, fmt.Errorf("%s is only for the flag that allows calls", openCalls)
		case element == openCalls:
			r.open = true
		case element[0] == '@' && effects != 0:
			r.effects = effects
		case element[0] == '@':
			words := append([]string{readOnlyTools, openCalls}, strings.Split("@"+strings.Join(AllEffects.Words(), " @"), " ")...)
			return nil, fmt.Errorf("unknown word %q%s (known are %s)", element, readable.DidYouMean(element, words), strings.Join(words, ", "))
		case strings.ContainsFunc(withoutNameBlanks(element), notInPattern):
			return nil, fmt.Errorf("%q is not a pattern of NAME__TOOL with * and ?", element)
		default:
			r.names = []glob{glob(element)}
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// notInPattern reports characters that appear in a shell, a list or another program's rule, and
// in no tool's name.
func notInPattern(r rune) bool {
	return r == ' ' || escape.Unsafe(r) || strings.ContainsRune("()[]{}\"'`\\|&;<>!$", r)
}

// withoutNameBlanks removes the blanks from the server's name in a pattern: a name in another
// host's file may contain them.
func withoutNameBlanks(pattern string) string {
	if server, tool, ok := strings.Cut(pattern, "__"); ok {
		return strings.ReplaceAll(server, " ", "") + "__" + tool
	}
	return pattern
}

// restricts reports whether the rule denies or asks. Such a rule is matched wide; see
// argumentTests.
func (r *Rule) restricts() bool { return r.Decision != Allow }

// mismatch says in words why the rule does not match the conversation or the tool of c; "" if
// it matches both.
func (r *Rule) mismatch(c *Call) string {
	if !c.Seen.Labels.Has(r.when) {
		return "the conversation is not " + strings.Join((r.when&^c.Seen.Labels).Words(), " and ")
	}
	return r.toolMismatch(c, r.restricts())
}

// matchesTool reports whether the rule matches the tool of c; it does not look at the arguments.
func (r *Rule) matchesTool(c *Call) bool { return r.matchesNames(c, r.restricts()) }

// matchesNames is matchesTool, wide or narrow.
func (r *Rule) matchesNames(c *Call, wide bool) bool { return r.toolMismatch(c, wide) == "" }

// toolMismatch says in words why the rule does not match the tool of c; "" if it does.
func (r *Rule) toolMismatch(c *Call, wide bool) string {
	switch {
	case slices.Contains(r.NotServers, c.Server):
		return "it does not apply to a server from another program's file"
	case r.open && !c.Open, r.behind != nil && (!c.BuiltIn || r.behind.matchesNames(c, true)):
		return "it does not match" // Explanation.Others contains no such rule
	case r.readOnly && !c.ReadOnly:
		return "no trusted server declares that the tool only reads"
	case !r.hasNameOf(c, wide):
		return "the tool's name has other letters, upper or lower case"
	case r.effects == 0 || r.hasEffect(c, wide):
		return ""
	case !wide && c.Assumed&AllEffects != 0:
		return "the effects of the tool are not declared, so it may do everything"
	case c.Effects() == 0:
		return "the tool has no effects"
	}
	return "the tool's effects are: " + strings.Join(c.Effects().Words(), ", ")
}

// hasNameOf reports whether the rule names the tool of c, or is about tools of any name. Wide,
// the case of letters does not matter, so that *delete* matches bulkDelete, and the original
// form of a name that was changed for the model matches, too.
func (r *Rule) hasNameOf(c *Call, wide bool) bool {
	switch {
	case r.readOnly, r.open:
		return true
	case r.names != nil:
		return matchesAny(r.names, c.Name, wide) || wide && matchesAny(r.names, c.Server+"__"+c.Tool, wide) ||
			c.Spelling != "" && matchesAny(r.names, c.Spelling+"__"+c.Tool, wide)
	}
	return r.matchesServer(c.Server, c.Spelling, wide) && (r.tools == nil || matchesAny(r.tools, c.Tool, wide)) &&
		(r.effects != 0 || r.servers != nil)
}

// matchesServer reports whether a policy rule's patterns match a name of a server. A rule
// without patterns, such as one about an effect, matches all.
func (r *Rule) matchesServer(name, spelling string, wide bool) bool {
	return r.servers == nil || matchesAny(r.servers, name, wide) || spelling != "" && matchesAny(r.servers, spelling, wide)
}

// matchesArguments reports whether the rule, which applies to e's call, matches its arguments.
func (r *Rule) matchesArguments(e *evaluation, wide bool) bool {
	if r.arguments == nil {
		return true
	}
	if wide {
		return r.arguments.matchWide(e)
	}
	return r.arguments.matchNarrow(e)
}
