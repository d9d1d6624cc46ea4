package approve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"toolpipe/stream/text/readable"
)

// Check compares the rules with all configured servers. A flag's pattern that matches no tool
// gets a warning, and so does @read-only. A policy rule that names a server or a tool without a
// wildcard is an error if nothing has that name: a misspelt deny denies nothing. The same
// applies to label rules and to the denies of a flag. A server that did not start may have any
// tool, and rules with "optional":true may name anything. An allow rule with a pattern over a
// script is an error, too. Check also looks up the directories of rules, before any call can
// move them.
func (g *Gate) Check(servers []Server) (warnings []Warning, err error) {
	g.rememberDirectories()
	g.standBehind(servers)
	for i := range g.Rules {
		r := &g.Rules[i]
		g.lookUpDirectories(r, servers)
		found, err := r.check(servers)
		if err != nil {
			return warnings, err
		}
		warnings = append(warnings, found...)
	}
	for i := range g.LabelRules {
		if err := g.LabelRules[i].tools.checkNames(servers); err != nil {
			return warnings, err
		}
	}
	return append(warnings, g.misread(servers)...), nil
}

func (r *Rule) check(servers []Server) ([]Warning, error) {
	unused := func(why string) []Warning { return []Warning{{Code: "pattern_unused", Message: r.Origin + why}} }
	if err := r.checkScripts(servers); err != nil {
		return nil, err
	}
	switch {
	case r.optional:
	case r.readOnly && r.By == "flag" && !slices.ContainsFunc(servers, func(s Server) bool {
		return !s.Started || slices.ContainsFunc(s.Tools, func(t Tool) bool { return t.ReadOnly })
	}):
		return unused(": no tool is read-only: a server's claim counts only when you trust the server (--trust NAME)"), nil
	case r.By == "flag" && (r.effects != 0 || r.names != nil) && r.mayMatch(servers):
	case r.By == "flag" && r.effects != 0:
		return unused(": no tool does that and nothing else; --list-tools -v shows what they do"), nil
	case r.By == "flag" && r.names != nil:
		return r.misspelt(servers)
	case r.names == nil:
		if err := r.checkNames(servers); err != nil {
			return nil, err
		}
		return r.checkArguments(servers)
	}
	return nil, nil
}

// misspelt returns the warning about a flag's pattern that matches no tool, or the error if it
// denies a name.
func (r *Rule) misspelt(servers []Server) ([]Warning, error) {
	flag, _, _ := strings.Cut(r.Origin, " ")
	name := string(r.names[0])
	if r.Decision != Deny || !r.names[0].isLiteral() {
		return []Warning{{"pattern_unused", fmt.Sprintf("%s: no tool has a name like %q", flag, name), r.Decision == Deny}}, nil
	}
	var known []string
	for _, s := range servers {
		for _, t := range s.Tools {
			known = append(known, t.Name)
		}
	}
	return nil, fmt.Errorf("%s: no tool is named %q (a pattern with * or ? accepts that)%s", flag, name, readable.DidYouMean(name, known))
}

// checkNames refuses a policy rule with a name without a wildcard if no configured server has
// that name, or no tool of the servers that the rule names.
func (r *Rule) checkNames(servers []Server) error {
	if r.optional {
		return nil
	}
	unknown := func(problem string, g glob, among []Server) error {
		var names []string
		for _, s := range among {
			names = append(names, s.Name)
		}
		return fmt.Errorf("%s: "+problem+"; \"optional\":true in the rule accepts that", r.Origin, g, cmp.Or(strings.Join(names, ", "), "none"))
	}
	wide := r.restricts()
	for _, g := range r.servers {
		is := func(s Server) bool { return g.matches(s.Name, wide) || g.matches(s.Spelling, wide) }
		if g.isLiteral() && !slices.ContainsFunc(servers, is) {
			return unknown("no configured server is named %q (configured: %s)", g, servers)
		}
	}
	meant := slices.DeleteFunc(slices.Clone(servers), func(s Server) bool { return !r.matchesServer(s.Name, s.Spelling, wide) })
	for _, g := range r.tools {
		has := func(t Tool) bool { return g.matches(t.Tool, wide) }
		mayHave := func(s Server) bool { return !s.Started || slices.ContainsFunc(s.Tools, has) }
		if g.isLiteral() && !slices.ContainsFunc(meant, mayHave) {
			return unknown("no tool is named %q (servers in the rule: %s)", g, meant)
		}
	}
	return nil
}

// lookUpDirectories records where the directories of r are, for each server.
func (g *Gate) lookUpDirectories(r *Rule, servers []Server) {
	if r.arguments == nil {
		return
	}
	for _, s := range servers {
		g.evaluation.begin(context.Background(), &Call{Root: s.Root})
		tests := r.arguments.tests
		if r.arguments.path != nil {
			tests = append(slices.Clone(tests), r.arguments.path.argumentTest)
		}
		for _, t := range tests {
			if t.under != "" {
				g.evaluation.ruleDirectories(t.under)
			}
		}
	}
}

// mayMatch reports whether the rule, a pattern over NAME__TOOL or effects, matches a tool, or
// may match one of a server that did not start.
func (r *Rule) mayMatch(servers []Server) bool {
	for _, s := range servers {
		if !s.Started && (r.names == nil || r.names[0].matchesPrefix(s.Name+"__", r.restricts()) || s.Spelling != "" && r.names[0].matchesPrefix(s.Spelling+"__", r.restricts())) {
			return true
		}
		if slices.ContainsFunc(s.Tools, func(t Tool) bool { return r.matchesTool(&t.Call) }) {
			return true
		}
	}
	return false
}

// Idle returns the origins of the rules that can never decide: they match no tool, or other
// rules deny every call of their tools. A server that did not start may have any tool.
func (g *Gate) Idle(servers []Server) (origins []string) {
	for i := range g.Rules {
		r := &g.Rules[i]
		decides := func(s Server) bool {
			return !s.Started || slices.ContainsFunc(s.Tools, func(t Tool) bool {
				if !r.matchesTool(&t.Call) {
					return false
				}
				return !g.Denies(t.Call) || r.Decision == Deny && g.Static(t.Call).Rule == r.Origin
			})
		}
		if !r.open && !slices.ContainsFunc(servers, decides) {
			origins = append(origins, r.Origin)
		}
	}
	return origins
}

// Fires reports whether Egress can ever apply to a call of these tools, and why not.
func (g *Gate) Fires(servers []Server) (why string, fires bool) {
	count := map[Labels]int{}
	for _, s := range servers {
		for _, t := range s.Tools {
			for _, label := range []Labels{Private, Untrusted, Sends} {
				if t.Labels.Has(label) && !g.Denies(t.Call) {
					count[label]++
				}
			}
		}
	}
	tools := func(label Labels) string {
		if count[label] == 1 {
			return "1 tool"
		}
		return strconv.Itoa(count[label]) + " tools"
	}
	switch {
	case count[Sends] == 0:
		return "no tool is known to send data out", false
	case count[Private] == 0 && !g.Input.Has(Private):
		return "no private data comes in: no tool and no input has that label", false
	}
	return tools(Sends) + " can send, the results of " + tools(Private) + " are private and of " + tools(Untrusted) + " untrusted, as standard input is beside a prompt", true
}
