package approve

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/stream/text/jsontext"
)

// all yields the rules, and behind them those that Check has made of them.
func (g *Gate) all() iter.Seq[*Rule] {
	return func(yield func(*Rule) bool) {
		for _, rules := range [][]Rule{g.Rules, g.behind} {
			for i := range rules {
				if !yield(&rules[i]) {
					return
				}
			}
		}
	}
}

// standBehind makes of each rule that denies paths to a tool that opens files one that
// denies them to all built-in tools that read: a user who writes such a rule means that the
// file is not to be read.
func (g *Gate) standBehind(servers []Server) {
	for i := range g.Rules {
		r := &g.Rules[i]
		if r.Decision != Deny || r.arguments == nil || r.effects != 0 {
			continue
		}
		for _, s := range servers {
			for _, t := range s.Tools {
				if t.Opens && r.matchesNames(&t.Call, true) {
					g.behind = append(g.behind, r.behindIt(&t.Call)...)
				}
			}
		}
	}
}

// behindIt are the rules about all that reads which r, a rule that names the tool of c,
// means. The directories of the rule start from the root of c.
func (r *Rule) behindIt(c *Call) (rules []Rule) {
	for i := range r.arguments.tests {
		t := &r.arguments.tests[i]
		if !c.readsAt(t.path) {
			continue
		}
		place := &placeTest{argumentTest: *t, effects: Reads}
		if t.under != "" && !filepath.IsAbs(t.under) {
			place.under = filepath.Join(c.Root, t.under)
			place.test = isUnder(place.under)
		}
		rules = append(rules, Rule{
			Decision: r.Decision, By: r.By, Origin: r.Origin, Reason: r.Reason, when: r.when,
			selector: selector{effects: Reads, behind: r}, arguments: &argumentTests{path: place, tests: r.arguments.without(i)},
		})
	}
	return rules
}

// without are the tests but one.
func (a *argumentTests) without(i int) []argumentTest {
	return slices.Delete(slices.Clone(a.tests), i, i+1)
}

// readsAt reports whether an argument path of a rule is that of a path which the tool of c
// reads, or of a file of which it tells something.
func (c *Call) readsAt(path []segment) bool {
	if len(path) != 1 || !c.BuiltIn {
		return false
	}
	places := c.Reads.Paths
	if c.Shows {
		places = c.Writes.Paths
	}
	return slices.ContainsFunc(places, func(p Path) bool {
		return path[0].any || strings.EqualFold(path[0].key, p.segments[0].key)
	})
}

// Withheld says which files a call of a built-in tool that may run must leave out.
type Withheld struct {
	// Paths are absolute and without links: the files there and below. If a path cannot be
	// found out, it holds the root of the file system.
	Paths []string
	// Matches reports whether rules deny a file, which has these names: its path from a
	// root, or absolute. It may be called from any goroutine. It is nil where no rule
	// denies a pattern.
	Matches func(names ...string) bool
}

// Withheld returns what rules that deny reading, by effect or the tool of c by a test of its
// path, keep from a built-in tool whose own path lies elsewhere.
func (g *Gate) Withheld(ctx context.Context, c Call) (w Withheld) {
	e := &g.evaluation
	e.begin(ctx, &c)
	var patterns []*argumentTest
	add := func(t *argumentTest) {
		if t.under == "" {
			patterns = append(patterns, t)
			return
		}
		directories, err := e.ruleDirectories(t.under)
		if err != nil || e.exhausted() {
			directories = []string{"/"}
		}
		w.Paths = append(w.Paths, directories...)
	}
	for r := range g.all() {
		if r.Decision != Deny || r.arguments == nil || !r.appliesTo(&c) {
			continue
		}
		a := r.arguments
		if a.path != nil {
			if c.BuiltIn && a.path.effects.Has(Reads) && (a.testsMatchWide(e) || e.exhausted()) {
				add(&a.path.argumentTest)
			}
			continue
		}
		for i := range a.tests {
			t := &a.tests[i]
			if others := (&argumentTests{tests: a.without(i)}); c.readsAt(t.path) && (others.testsMatchWide(e) || e.exhausted()) {
				add(t)
			}
		}
	}
	if patterns != nil {
		w.Matches = func(names ...string) bool { return matchesName(ctx, &c, patterns, names) }
	}
	return w
}

// matchesName reports whether one of the tests, matched wide, holds for one of the names.
func matchesName(ctx context.Context, c *Call, tests []*argumentTest, names []string) bool {
	for _, name := range names {
		e := evaluation{budget: newBudget(ctx), call: c}
		e.document.parse(jsontext.Quoted(name))
		for _, test := range tests {
			if test.passesWide(&e, 0) || e.exhausted() {
				return true
			}
		}
	}
	return false
}

// Closed is what rules about paths come to for a program that the system holds to them.
type Closed struct {
	Reads, Writes []string          // what it may not read, or write: absolute and without links
	Rules         map[string]string // the origin of a rule for each of them
	Partial       []string          // the rules of which that cannot be said, with the reason in words
}

// Closes returns what the rules that deny reading or writing below a directory keep from
// programs that start in root.
func (g *Gate) Closes(root string) (c Closed) {
	c.Rules = map[string]string{}
	e := &g.evaluation
	e.begin(context.Background(), &Call{Root: root})
	for r := range g.all() {
		if !r.restricts() || r.arguments == nil || r.arguments.path == nil {
			continue
		}
		p := r.arguments.path
		directories, err := []string(nil), errUndecidable
		if p.under != "" {
			directories, err = e.ruleDirectories(p.under)
		}
		switch {
		case r.Decision != Deny:
			c.Partial = append(c.Partial, r.Origin+" asks, but nobody is asked about single files of a command")
		case r.when != 0:
			c.Partial = append(c.Partial, r.Origin+" has when, but a sandbox does not change during the run")
		case len(r.arguments.tests) > 0 || r.names != nil || r.servers != nil || r.tools != nil:
			c.Partial = append(c.Partial, r.Origin+" applies only to certain calls")
		case err != nil:
			c.Partial = append(c.Partial, r.Origin+" applies to a pattern of names")
		default:
			for _, dir := range directories {
				c.Rules[dir] = r.Origin
			}
			if p.effects.Has(Reads) {
				c.Reads = append(c.Reads, directories...)
			}
			if p.effects.Has(Writes) {
				c.Writes = append(c.Writes, directories...)
			}
		}
	}
	return c
}
