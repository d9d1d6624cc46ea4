package approve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"toolpipe/stream/text/jsontext"
)

// A Policy is the content of a policy file.
type Policy struct {
	Rules     []Rule
	Otherwise Rule      // for a call that no rule matches: OtherwiseAsk, or one that denies
	SHA256    string    // of the file's bytes, in hexadecimal
	Warnings  []Warning // about rules that allow more than they seem to, or less

	LabelRules []LabelRule
	Input      Labels // labels of attached files and of standard input, in addition to their usual ones
	InputSaid  bool
	AsksNamed  bool // a destination that the user named is asked about as any other

	Egress       Egress // if the file says so
	EgressOrigin string // where the file says so, such as "ci.json:3"; "" if it does not
}

// MaxPolicy is how many bytes a policy file may have.
const MaxPolicy = 4 << 20

// ParsePolicy reads the text of the policy file at path; the manual's page policy describes the
// form. The text must be strict JSON. An unknown key, a duplicate key and an example that fails
// are errors. An error names the file, the line and the column and shows the line.
func ParsePolicy(path string, data []byte) (*Policy, error) {
	p := &policyReader{path: path}
	p.text = data
	if err := jsontext.Check(data, jsontext.Options{}); err != nil {
		s, _ := errors.AsType[*jsontext.SyntaxError](err) // the only kind of error
		return nil, p.errorAt(s.Offset, "%s", s.Message)
	}
	p.parse(data)
	sum := sha256.Sum256(data)
	policy := &Policy{Otherwise: OtherwiseAsk, SHA256: hex.EncodeToString(sum[:])}
	if err := p.policy(policy); err != nil {
		return nil, err
	}
	policy.Warnings = p.warnings
	return policy, nil
}

func (p *policyReader) policy(policy *Policy) error {
	return p.object(0, `a policy is an object, {"version":1,"rules":[...]}`, []policyKey{
		{"version", func(at int) error {
			if string(p.raw(at)) != "1" {
				return p.errorAt(p.nodes[at].start, "the only version is 1")
			}
			return nil
		}, `"version":1 is missing`},
		{"otherwise", func(at int) error {
			d, err := p.decision(at, `otherwise is "ask" or "deny"`, Ask, Deny)
			if d == Deny {
				policy.Otherwise = Rule{By: "policy", Origin: p.origin(at), Reason: "no rule allows it"}
			}
			return err
		}, ""},
		{"rules", func(at int) error {
			return p.array(at, "rules is an array", appendTo(&policy.Rules, p.rule))
		}, ""},
		{"labels", func(at int) error {
			return p.array(at, `labels is an array of {"server":...,"tool":...,"labels":[...]}`, appendTo(&policy.LabelRules, p.labelRule))
		}, ""},
		{"input", func(at int) (err error) {
			policy.InputSaid = true
			policy.Input, err = p.labels(at, Exposed)
			return err
		}, ""},
		{"destinations", func(at int) error {
			named, err := p.boolean(at)
			policy.AsksNamed = !named
			return err
		}, ""},
		{"egress", func(at int) error { return p.egress(at, policy) }, ""},
	})
}

func (p *policyReader) rule(at int) (Rule, error) {
	r := Rule{By: "policy", Origin: p.origin(at)}
	var others bool
	var examples, arguments, path int // the nodes of these keys' values; 0 for none
	err := p.object(at, "a rule is an object", []policyKey{
		{"decision", into(&r.Decision, func(i int) (Decision, error) {
			return p.decision(i, `decision is "allow", "ask" or "deny"`, Allow, Ask, Deny)
		}), "a rule without a decision"},
		{"server", into(&r.servers, p.globs), ""},
		{"tool", into(&r.tools, p.globs), ""},
		{"effect", into(&r.effects, p.effects), ""},
		{"path", into(&path, func(i int) (int, error) { return i, nil }), ""},
		{"arguments", func(i int) (err error) {
			arguments = i
			r.arguments, err = p.argumentTests(i)
			return err
		}, ""},
		{"others", func(i int) error {
			if others = string(p.raw(i)) == `"any"`; !others {
				return p.errorAt(p.nodes[i].start, `others is "any", or left out`)
			}
			return nil
		}, ""},
		{"when", into(&r.when, p.when), ""},
		{"reason", into(&r.Reason, func(i int) (string, error) { return p.nonEmpty(i, "reason") }), ""},
		{"examples", into(&examples, func(i int) (int, error) { return i, nil }), ""},
		{"optional", into(&r.optional, p.boolean), ""},
		{"script_pattern", into(&r.scriptPattern, p.boolean), ""},
	})
	if err == nil {
		err = p.complete(at, path, arguments, others, &r)
	}
	if err != nil {
		return r, err
	}
	if r.Decision == Allow && arguments > 0 {
		if w := p.runnerWarning(arguments, &r); w != "" {
			p.warnings = append(p.warnings, Warning{Code: "policy_runner", Message: w})
		}
	}
	if examples > 0 {
		return r, p.examples(examples, &r)
	}
	p.warnOfLiterals(&r)
	return r, nil
}

// complete checks the combination of a rule's keys, and reads the keys that need others.
func (p *policyReader) complete(at, path, arguments int, others bool, r *Rule) error {
	switch {
	case r.effects == 0 && r.servers == nil:
		return p.errorAt(p.nodes[at].start, `a rule without a server ("*" for any)`)
	case r.effects == 0 && r.tools == nil:
		return p.errorAt(p.nodes[at].start, `a rule without a tool ("*" for any)`)
	case others && (arguments == 0 || r.Decision == Deny):
		return p.errorAt(p.nodes[at].start, "others is for a rule with arguments that allows or asks")
	case others:
		r.arguments.others = true
	}
	if path > 0 {
		return p.pathTest(path, r)
	}
	return nil
}

// warnOfLiterals warns of a rule without examples if its globs contain a pattern of other
// programs.
func (p *policyReader) warnOfLiterals(r *Rule) {
	var globs []string
	for _, g := range slices.Concat(r.servers, r.tools) {
		globs = append(globs, string(g))
	}
	if a := r.arguments; a != nil {
		for _, t := range a.tests {
			globs = append(globs, t.glob)
		}
		if a.path != nil {
			globs = append(globs, a.path.glob)
		}
	}
	for _, pattern := range globs {
		if literal := literalGlobs(pattern); literal != "" {
			p.warnings = append(p.warnings, Warning{Code: "policy_glob", Message: fmt.Sprintf("%s: %s in the glob %q matches only itself; an example under \"match\" shows that this is meant", r.Origin, literal, pattern)})
		}
	}
}

func (p *policyReader) globs(at int) ([]glob, error) {
	key := string(p.key(at))
	if p.nodes[at].kind != '[' {
		text, err := p.nonEmpty(at, key)
		return []glob{glob(text)}, err
	}
	var globs []glob
	err := p.array(at, "", appendTo(&globs, func(i int) (glob, error) {
		text, err := p.nonEmpty(i, "each "+key)
		return glob(text), err
	}))
	if err == nil && globs == nil {
		err = p.errorAt(p.nodes[at].start, "an empty list of %ss matches nothing", key)
	}
	return globs, err
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
		t, err := p.argumentTest(i)
		if err != nil {
			return nil, err
		}
		t.path = path
		a.tests = append(a.tests, t)
	}
	return a, nil
}

func (p *policyReader) argumentTest(at int) (t argumentTest, err error) {
	wrong := func() error {
		return p.errorAt(p.nodes[at].start, `a test is an object with one key of: %s; and perhaps "optional"`, testNames())
	}
	if p.nodes[at].kind != '{' {
		return t, wrong()
	}
	for i := range p.children(at) {
		kind := string(p.key(i))
		makeTest, known := testKinds()[kind]
		switch {
		case kind == "optional":
			if t.optional, err = p.boolean(i); err != nil {
				return t, err
			}
			continue
		case !known:
			return t, p.unknownKey(i, testNames())
		case t.kind != "":
			return t, wrong()
		}
		problem := ""
		if t.test, problem = makeTest(&p.document, i); problem != "" {
			return t, p.errorAt(p.nodes[i].start, "%s", problem)
		}
		t.types = typesOf(kind, &p.document, i)
		switch t.kind = kind; kind {
		case "under":
			t.under = string(p.str(i))
		case "glob":
			t.glob = string(p.str(i))
		}
	}
	t.text = string(p.raw(at))
	if t.kind == "" || t.kind == absentTest && t.optional {
		return t, wrong()
	}
	return t, nil
}

// pathTest reads the test of all paths, in a rule about effects.
func (p *policyReader) pathTest(at int, r *Rule) error {
	if r.effects == 0 || r.effects&^(Reads|Writes) != 0 {
		return p.errorAt(p.nodes[at].keyStart, `path is for a rule with "effect": "reads", "writes" or both; other effects need separate rules`)
	}
	t, err := p.argumentTest(at)
	if err == nil && (t.optional || t.kind == absentTest) {
		err = p.errorAt(p.nodes[at].start, "a test of paths cannot be optional or absent")
	}
	if err != nil {
		return err
	}
	if r.arguments == nil {
		r.arguments = &argumentTests{others: true} // no arguments key: any arguments
	}
	r.arguments.path = &placeTest{argumentTest: t, effects: r.effects}
	return nil
}

func (p *policyReader) effects(at int) (effects Labels, err error) {
	wrong := "effect is one, or a list, of: " + strings.Join(AllEffects.Words(), ", ")
	if p.nodes[at].kind == '"' {
		if effects, err = ParseLabels([]string{string(p.str(at))}, AllEffects); err != nil {
			return 0, p.errorAt(p.nodes[at].start, "%s", wrong)
		}
		return effects, nil
	}
	effects, err = p.labels(at, AllEffects)
	if err == nil && effects == 0 {
		err = p.errorAt(p.nodes[at].start, "%s", wrong)
	}
	return effects, err
}

// examples checks that the rule matches each example of "match" and none of
// "no_match". Paths are compared by their text, without a file system.
func (p *policyReader) examples(at int, r *Rule) error {
	read := func(i int) error {
		key := string(p.key(i))
		return p.array(i, key+" is an array of argument objects", func(j int) error { return p.example(j, r, key) })
	}
	return p.object(at, `examples is an object with "match" and "no_match"`, []policyKey{{"match", read, ""}, {"no_match", read, ""}})
}

func (p *policyReader) example(at int, r *Rule, key string) error {
	if p.nodes[at].kind != '{' {
		return p.errorAt(p.nodes[at].start, "an example is an object of arguments")
	}
	e := &evaluation{lexical: true}
	e.begin(context.Background(), &Call{Arguments: p.raw(at), Traits: Traits{Labels: r.effects}}) // any string may be a path
	matches := r.matchesArguments(e, r.restricts())
	if e.exhausted() {
		return p.errorAt(p.nodes[at].start, "%s", overBudget.Reason)
	}
	does := "does not match"
	if matches {
		does = "matches"
	}
	if matches != (key == "match") {
		return p.errorAt(p.nodes[at].start, "the rule of line %s %s this example of %s", strings.TrimPrefix(r.Origin, p.path+":"), does, key)
	}
	return nil
}
