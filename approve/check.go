package approve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Check compares the rules with all configured servers. A flag's pattern that
// matches no tool gets a warning. A policy rule that names a server or a tool
// without a wildcard is an error if no server has that name: a misspelt deny
// denies nothing. The same holds for label rules. A server that did not start may
// have any tool, and rules with "optional":true may name anything. Check also looks
// up the directories of rules, before any call can move them.
func (g *Gate) Check(servers []Server) (warnings []string, err error) {
	for i := range g.Rules {
		r := &g.Rules[i]
		g.lookUpDirectories(r, servers)
		switch {
		case r.optional:
		case r.names != nil:
			if r.By == "flag" && !r.mayMatch(servers) {
				flag, _, _ := strings.Cut(r.Origin, " ")
				warnings = append(warnings, fmt.Sprintf("%s: no tool has a name like %q", flag, r.names[0]))
			}
		default:
			if err := r.checkNames(servers); err != nil {
				return warnings, err
			}
		}
	}
	for i := range g.LabelRules {
		if r := &g.LabelRules[i].tools; !r.optional {
			if err := r.checkNames(servers); err != nil {
				return warnings, err
			}
		}
	}
	return warnings, nil
}

// checkNames refuses a policy rule for a server that is not configured, or for a tool
// that none of its servers has.
func (r *Rule) checkNames(servers []Server) error {
	err := r.findNames(r.servers, servers, "no configured server is named %q (configured: %s)", func(g glob, s *Server) (meant, found bool) {
		return true, g.matches(s.Name, r.restricts()) || s.Spelling != "" && g.matches(s.Spelling, r.restricts())
	})
	if err != nil {
		return err
	}
	return r.findNames(r.tools, servers, "no tool is named %q (servers that the rule speaks of: %s)", func(g glob, s *Server) (meant, found bool) {
		has := func(tool string) bool { return g.matches(tool, r.restricts()) }
		return r.matchesServer(s.Name, s.Spelling, r.restricts()), !s.Started || slices.ContainsFunc(s.Tools, has)
	})
}

// lookUpDirectories has the evaluation remember where the directories of r are,
// for each server that r matches.
func (g *Gate) lookUpDirectories(r *Rule, servers []Server) {
	if r.arguments == nil {
		return
	}
	for _, s := range servers {
		if !r.matchesServer(s.Name, s.Spelling, r.restricts()) {
			continue
		}
		g.evaluation.begin(context.Background(), &Call{Root: s.Root})
		for i := range r.arguments.tests {
			if dir := r.arguments.tests[i].under; dir != "" {
				g.evaluation.ruleDirectories(dir)
			}
		}
	}
}

// mayMatch reports whether the rule, which has a pattern over NAME__TOOL,
// matches a tool, or may match one of a server that did not start.
func (r *Rule) mayMatch(servers []Server) bool {
	for _, s := range servers {
		if !s.Started && (r.names[0].matchesPrefix(s.Name+"__", r.restricts()) || s.Spelling != "" && r.names[0].matchesPrefix(s.Spelling+"__", r.restricts())) {
			return true
		}
		for i, tool := range s.Tools {
			c := Call{Server: s.Name, Spelling: s.Spelling, Tool: tool, Name: s.Name + "__" + tool}
			if i < len(s.Names) {
				c.Name = s.Names[i]
			}
			if r.matchesTool(&c) {
				return true
			}
		}
	}
	return false
}

// findNames refuses a rule with a name without a wildcard that is found at no
// server that is meant.
func (r *Rule) findNames(globs []glob, servers []Server, problem string, look func(g glob, s *Server) (meant, found bool)) error {
	for _, g := range globs {
		if !g.isLiteral() {
			continue
		}
		anywhere := false
		var names []string
		for i := range servers {
			if meant, found := look(g, &servers[i]); meant {
				anywhere = anywhere || found
				names = append(names, servers[i].Name)
			}
		}
		if !anywhere {
			return fmt.Errorf("%s: "+problem+"; \"optional\":true in the rule accepts that", r.Origin, g, cmp.Or(strings.Join(names, ", "), "none"))
		}
	}
	return nil
}
