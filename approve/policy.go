package approve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"toolpipe/stream/jsontext"
)

// A Policy is the content of a policy file.
type Policy struct {
	Rules           []Rule
	Otherwise       Decision // for a call that no rule matches: Ask or Deny
	OtherwiseOrigin string   // where the file says so, such as "ci.json:2"; "" if it does not
	SHA256          string   // of the file's bytes, in hexadecimal
	Warnings        []string // about rules that allow more than they seem to

	LabelRules []LabelRule
	Input      Labels // of attached files and of standard input, beside those that they have anyway

	Egress       Egress // if the file says so
	EgressOrigin string // where it does, such as "ci.json:3"; "" if it does not
}

// MaxPolicy is how many bytes a policy file may have.
const MaxPolicy = 4 << 20

// ParsePolicy reads the text of the policy file at path, whose form README.md
// describes. The text must be strict JSON; a key that is unknown or stands
// twice and an example that fails are errors. An error names the file, the line
// and the column and shows the line.
func ParsePolicy(path string, data []byte) (*Policy, error) {
	p := &policyReader{path: path}
	p.text = data
	if err := jsontext.Check(data, jsontext.Options{}); err != nil {
		if s, ok := errors.AsType[*jsontext.SyntaxError](err); ok {
			return nil, p.errorAt(int(s.Offset), "%s", s.Message)
		}
		return nil, err
	}
	p.parse(data)
	sum := sha256.Sum256(data)
	policy := &Policy{Otherwise: Ask, SHA256: hex.EncodeToString(sum[:])}
	if err := p.policy(policy); err != nil {
		return nil, err
	}
	policy.Warnings = p.warnings
	return policy, nil
}

// A policyReader turns the document of a policy file into rules. Its methods
// return the first error, which errorAt makes.
type policyReader struct {
	document
	path     string
	warnings []string
	line     struct{ offset, number int } // the last line that lineOf counted
}

func (p *policyReader) policy(into *Policy) error {
	if p.nodes[0].kind != '{' {
		return p.errorAt(p.nodes[0].start, `a policy is an object, {"version":1,"rules":[...]}`)
	}
	version := false
	for at := range p.children(0) {
		var err error
		switch string(p.key(at)) {
		case "version":
			version = string(p.raw(at)) == "1"
			if !version {
				err = p.errorAt(p.nodes[at].start, "the only version is 1")
			}
		case "otherwise":
			into.OtherwiseOrigin = p.origin(at)
			switch string(p.raw(at)) {
			case `"ask"`:
			case `"deny"`:
				into.Otherwise = Deny
			default:
				err = p.errorAt(p.nodes[at].start, `otherwise is "ask" or "deny"`)
			}
		case "rules":
			into.Rules, err = p.rules(at)
		case "labels":
			into.LabelRules, err = p.labelRules(at)
		case "input":
			into.Input, err = p.labels(at, Exposed)
		case "egress":
			err = p.egress(at, into)
		default:
			err = p.unknownKey(at, "version, otherwise, rules, labels, input, egress")
		}
		if err != nil {
			return err
		}
	}
	if !version {
		return p.errorAt(p.nodes[0].start, `"version":1 is missing`)
	}
	return nil
}

func (p *policyReader) rules(at int) ([]Rule, error) {
	if p.nodes[at].kind != '[' {
		return nil, p.errorAt(p.nodes[at].start, "rules is an array")
	}
	var rules []Rule
	for i := range p.children(at) {
		r, err := p.rule(i)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

const ruleKeys = "decision, server, tool, arguments, others, when, reason, examples, optional, script_pattern"

func (p *policyReader) rule(at int) (Rule, error) {
	r := Rule{By: "policy", Origin: p.origin(at)}
	if p.nodes[at].kind != '{' {
		return r, p.errorAt(p.nodes[at].start, "a rule is an object")
	}
	var decision, others bool   // the rule has that key
	var examples, arguments int // the nodes of these keys' values; 0 for none
	var scriptPattern bool      // the value of that key
	for i := range p.children(at) {
		var err error
		switch string(p.key(i)) {
		case "decision":
			decision = true
			r.Decision, err = p.decision(i)
		case "server":
			r.servers, err = p.globs(i)
		case "tool":
			r.tools, err = p.globs(i)
		case "arguments":
			arguments = i
			r.arguments, err = p.argumentTests(i)
		case "others":
			others = true
			if string(p.raw(i)) != `"any"` {
				err = p.errorAt(p.nodes[i].start, `others is "any", or left out`)
			}
		case "when":
			r.when, err = p.when(i)
		case "reason":
			r.Reason, err = p.nonEmpty(i, "reason")
		case "examples":
			examples = i
		case "optional":
			r.optional, err = p.boolean(i)
		case "script_pattern":
			scriptPattern, err = p.boolean(i)
		default:
			err = p.unknownKey(i, ruleKeys)
		}
		if err != nil {
			return r, err
		}
	}
	if err := p.complete(at, &r, decision, others); err != nil {
		return r, err
	}
	if r.Decision == Allow && arguments > 0 {
		if err := p.checkScriptPattern(arguments, &r); err != nil && !scriptPattern {
			return r, err
		}
		if w := p.runnerWarning(arguments, &r); w != "" {
			p.warnings = append(p.warnings, w)
		}
	}
	if examples > 0 {
		return r, p.examples(examples, &r)
	}
	return r, nil
}

func (p *policyReader) boolean(at int) (bool, error) {
	kind := p.nodes[at].kind
	if kind != 't' && kind != 'f' {
		return false, p.errorAt(p.nodes[at].start, "%s is true or false", p.key(at))
	}
	return kind == 't', nil
}

// complete checks that a rule has all keys that it needs.
func (p *policyReader) complete(at int, r *Rule, decision, others bool) error {
	start := p.nodes[at].start
	switch {
	case !decision:
		return p.errorAt(start, "a rule without a decision")
	case r.servers == nil:
		return p.errorAt(start, `a rule without a server ("*" for any)`)
	case r.tools == nil:
		return p.errorAt(start, `a rule without a tool ("*" for any)`)
	case others && (r.arguments == nil || r.Decision == Deny):
		return p.errorAt(start, "others is for a rule with arguments that allows or asks")
	}
	if others {
		r.arguments.others = true
	}
	return nil
}

func (p *policyReader) decision(at int) (Decision, error) {
	switch string(p.raw(at)) {
	case `"allow"`:
		return Allow, nil
	case `"ask"`:
		return Ask, nil
	case `"deny"`:
		return Deny, nil
	}
	return Deny, p.errorAt(p.nodes[at].start, `decision is "allow", "ask" or "deny"`)
}

// nonEmpty reads a string that is not empty.
func (p *policyReader) nonEmpty(at int, what string) (string, error) {
	if p.nodes[at].kind != '"' || p.nodes[at].end-p.nodes[at].start == 2 {
		return "", p.errorAt(p.nodes[at].start, "%s is a string that is not empty", what)
	}
	return string(p.str(at)), nil
}

// globs reads a name pattern or an array of them.
func (p *policyReader) globs(at int) ([]glob, error) {
	key := string(p.key(at))
	if p.nodes[at].kind != '[' {
		text, err := p.nonEmpty(at, key)
		return []glob{glob(text)}, err
	}
	var globs []glob
	for i := range p.children(at) {
		text, err := p.nonEmpty(i, "each "+key)
		if err != nil {
			return nil, err
		}
		globs = append(globs, glob(text))
	}
	if globs == nil {
		return nil, p.errorAt(p.nodes[at].start, "an empty list of %ss matches nothing", key)
	}
	return globs, nil
}

func (p *policyReader) argumentTests(at int) (*argumentTests, error) {
	if p.nodes[at].kind != '{' {
		return nil, p.errorAt(p.nodes[at].start, "arguments is an object of argument path to test")
	}
	a := &argumentTests{}
	for i := range p.children(at) {
		path, problem := parsePath(string(p.key(i)))
		if problem != "" {
			return nil, p.errorAt(p.nodes[i].keyStart, "%s", problem)
		}
		first := i + 1
		if p.nodes[i].kind != '{' || first == p.nodes[i].next || p.nodes[first].next != p.nodes[i].next {
			return nil, p.errorAt(p.nodes[i].start, `a test is an object with one key of: %s`, testNames())
		}
		t := argumentTest{path: path}
		for _, kind := range testKinds {
			if string(p.key(first)) != kind.name {
				continue
			}
			if t.test, problem = kind.make(&p.document, first); problem != "" {
				return nil, p.errorAt(p.nodes[first].start, "%s", problem)
			}
			if kind.name == "under" {
				t.under = string(p.str(first))
			}
		}
		if t.test == nil {
			return nil, p.unknownKey(first, testNames())
		}
		a.tests = append(a.tests, t)
	}
	return a, nil
}

// examples checks that the rule matches each example of "match" and none of
// "no_match". Paths are compared by their text, without a file system.
func (p *policyReader) examples(at int, r *Rule) error {
	if p.nodes[at].kind != '{' {
		return p.errorAt(p.nodes[at].start, `examples is an object with "match" and "no_match"`)
	}
	for i := range p.children(at) {
		key := string(p.key(i))
		if key != "match" && key != "no_match" {
			return p.unknownKey(i, "match, no_match")
		}
		if p.nodes[i].kind != '[' {
			return p.errorAt(p.nodes[i].start, "%s is an array of argument objects", key)
		}
		for j := range p.children(i) {
			if p.nodes[j].kind != '{' {
				return p.errorAt(p.nodes[j].start, "an example is an object of arguments")
			}
			e := &evaluation{lexical: true}
			e.begin(context.Background(), &Call{Arguments: p.raw(j)})
			matches := r.matchesArguments(e, r.restricts())
			if e.exhausted() {
				return p.errorAt(p.nodes[j].start, "%s", overBudget.Reason)
			}
			does := "does not match"
			if matches {
				does = "matches"
			}
			if matches != (key == "match") {
				return p.errorAt(p.nodes[j].start, "the rule of line %s %s this example of %s", strings.TrimPrefix(r.Origin, p.path+":"), does, key)
			}
		}
	}
	return nil
}

// origin names the file and the line of a value.
func (p *policyReader) origin(at int) string {
	return p.path + ":" + strconv.Itoa(p.lineOf(p.nodes[at].start))
}
