package schema

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"toolpipe/stream/text/jsontext"
)

// Check checks a JSON value and returns its faults. The error says why the value cannot be checked.
func (s *Schema) Check(text []byte) (faults []Fault, err error) {
	if len(text) > maxValue {
		return nil, fmt.Errorf("the value is larger than %d MiB", maxValue>>20)
	}
	if err := jsontext.Check(text, jsontext.Options{Depth: maxDepth, LoneSurrogates: true}); err != nil {
		return []Fault{{Message: "is not JSON: " + err.Error()}}, nil
	}
	c := &check{schema: s, left: maxSteps}
	if c.visit(s.root, bytes.TrimSpace(text), "", 0, nil); c.over {
		return nil, errors.New("the check would take too long")
	}
	return c.found, nil
}

type check struct {
	schema *Schema
	left   int  // steps left
	over   bool // more steps were needed
	trying int  // enclosing schemas that may fail without a fault
	found  []Fault
}

// spend counts steps before the work is done, and reports whether enough were left. So the limit
// does not depend on the speed or load of the machine. Reading a KiB is about one step.
func (c *check) spend(steps int) bool {
	if c.left -= steps; c.left < 0 {
		c.over = true
	}
	return !c.over
}

// matches reports whether a text matches a pattern. It returns true if that is too much work.
func (c *check) matches(p *pattern, text string) bool {
	return !c.spend(1+len(text)*p.size/stepsOfMatch) || p.MatchString(text)
}

type visit struct {
	*check
	n      *node
	v      []byte
	path   string
	chain  int
	parts  []part          // members of v by name, or its elements
	seen   map[string]bool // steps of the parts that a schema has evaluated
	failed bool
	said   bool // a fault of n is reported: others may only follow from it
}

type part struct {
	name  string // of a member
	step  string
	value []byte
}

// visit reports whether v matches n, and adds the evaluated parts to seen. chain counts the schemas
// that were applied before to the same part of the value.
func (c *check) visit(n *node, v []byte, path string, chain int, seen map[string]bool) bool {
	c.over = c.over || chain > maxChain
	if !c.spend(1+len(v)/1024) || len(c.found) >= maxFaults {
		return false
	}
	x := &visit{check: c, n: n, v: v, path: path, chain: chain}
	switch {
	case n.never:
		x.fail("false", "nothing is allowed here")
	case n.raw != nil:
		if c.schema.depends {
			x.seen = map[string]bool{}
		}
		x.keywords()
	}
	if seen != nil && !x.failed && c.spend(len(x.seen)/8) {
		maps.Copy(seen, x.seen)
	}
	return !x.failed
}

// keywords checks the parts of the value before the value as a whole, so that the most precise
// faults come first.
func (x *visit) keywords() {
	if x.n.target != nil {
		x.must(x.here(x.n.target))
		if x.schema.draft7 { // draft 7 ignores the other keywords beside $ref
			return
		}
	}
	for _, n := range x.n.lists["allOf"] {
		x.must(x.here(n))
	}
	switch x.v[0] {
	case '{':
		x.members()
	case '[':
		x.elements()
	}
	x.spend(len(x.parts) / 4)
	for _, rules := range []func(){x.any, x.number, x.text, x.array, x.object, x.alternatives, x.unevaluated} {
		if x.over || x.failed && x.trying > 0 {
			return
		}
		rules()
	}
}

func (x *visit) must(ok bool) { x.failed = x.failed || !ok }

func (x *visit) fail(keyword, format string, args ...any) {
	x.failed = true
	if x.trying == 0 && !x.said {
		x.said = true
		x.add(x.path, keyword, format, args...)
	}
}

func (x *visit) here(n *node) bool { return x.check.visit(n, x.v, x.path, x.chain+1, x.seen) }

// fits is here without reporting faults.
func (x *visit) fits(n *node) bool {
	x.trying++
	defer func() { x.trying-- }()
	return x.here(n)
}

// part checks a part of the value. n may be nil.
func (x *visit) part(n *node, p part) (looked bool) {
	if n == nil {
		return false
	}
	x.must(x.check.visit(n, p.value, x.path+"/"+p.step, 0, nil))
	x.look(p)
	return true
}

func (x *visit) look(p part) {
	if x.seen != nil {
		x.seen[p.step] = true
	}
}

func (x *visit) members() {
	for literal, value := range jsontext.Members(x.v) {
		name := jsontext.Unquote(literal)
		x.parts = append(x.parts, part{name, pointerStep(name), value})
	}
	slices.SortStableFunc(x.parts, func(a, b part) int { return strings.Compare(a.name, b.name) })
	patterns := x.names("patternProperties")
	additional := x.n.below["additionalProperties"]
	for _, p := range x.parts {
		if x.over {
			return
		}
		known := x.part(x.n.below["properties/"+p.step], p)
		for _, pattern := range patterns {
			if x.matches(x.schema.patterns[pattern], p.name) {
				known = x.part(x.n.below["patternProperties/"+pointerStep(pattern)], p)
			}
		}
		switch {
		case known || additional == nil:
		case additional.never && x.trying == 0:
			x.failed = true
			message := "no property is allowed"
			if names := x.names("properties"); len(names) > 0 {
				message = "is none of " + strings.Join(names, ", ")
			}
			x.add(x.path+"/"+p.step, "additionalProperties", "%s", message)
		default:
			x.part(additional, p)
		}
	}
}

func (x *visit) names(keyword string) (all []string) {
	for name := range jsontext.Members(x.n.raw[keyword]) {
		all = append(all, jsontext.Unquote(name))
	}
	x.spend(len(all)/4 + len(x.n.raw[keyword])/1024)
	slices.Sort(all)
	return all
}

func (x *visit) elements() {
	first, rest := x.n.lists["prefixItems"], x.n.below["items"]
	if list := x.n.lists["items"]; list != nil { // draft 7
		first, rest = list, x.n.below["additionalItems"]
	}
	for value := range jsontext.Elements(x.v) {
		n, i := rest, len(x.parts)
		if i < len(first) {
			n = first[i]
		}
		p := part{step: strconv.Itoa(i), value: value}
		x.parts = append(x.parts, p)
		x.part(n, p)
	}
}
