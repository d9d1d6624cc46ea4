package approve

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/stream/text/jsontext"
)

// all yields the rules, and then the rules that Check made from them.
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

// standBehind copies each rule that denies paths to a tool that opens files, and the copy
// denies them to all built-in tools that read: a user who writes such a rule means that nothing
// may read the file.
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

// behindIt makes the rules about all tools that read from r, a rule that names the tool of c.
// The directories of the rule start from the root of c.
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

func (a *argumentTests) without(i int) []argumentTest {
	return slices.Delete(slices.Clone(a.tests), i, i+1)
}

// readsAt reports whether an argument path of a rule leads to a path that the tool of c reads,
// or to a file with content that its answer reveals.
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

// Withheld lists the files that an allowed call of a built-in tool must leave out.
type Withheld struct {
	// Paths are absolute and without links. They include the files below them. A path that
	// cannot be resolved becomes the root of the file system.
	Paths []string
	// Matches reports whether rules deny a file with these names: its path from a root, or its
	// absolute path. Any goroutine may call it. It is nil if no rule denies a pattern.
	Matches func(names ...string) bool
}

// Withheld returns the files that rules keep from a built-in tool that reads another path. The
// rules deny reading by effect, or name the tool of c and test its path. It may be called while
// another call is decided.
func (g *Gate) Withheld(ctx context.Context, c Call) (w Withheld) {
	e := &evaluation{directories: g.evaluation.directories}
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
		if r.Decision != Deny || r.arguments == nil || r.mismatch(&c) != "" {
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

// matchesName reports whether one of the tests, matched wide, passes for one of the names.
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

// Closed is the effect of rules about paths on a program that the system confines.
type Closed struct {
	Reads, Writes []string          // paths that it may not read, or write: absolute and without links
	Rules         map[string]string // the origin of a rule for each of them
	Partial       []string          // the rules that the system cannot enforce, with the reason in words
}

// Closes returns the paths that rules keep from programs that start in root. The rules deny
// reading or writing below a directory.
func (g *Gate) Closes(root string) (c Closed) {
	c.Rules = map[string]string{}
	g.rememberDirectories()
	e := &evaluation{directories: g.evaluation.directories}
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
