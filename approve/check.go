package approve

import (
	"context"
	"fmt"
	"strings"
)

// Check compares the rules with the servers there are. A flag's pattern that
// matches no tool is worth a warning; a policy rule that names, without a
// wildcard, a server or a tool that no configured server has is an error, for
// a misspelt deny denies nothing. Nothing is said about the tools of a server
// that did not start, nor about rules with "optional":true. It also finds out
// where the directories of rules are before any call can move them.
func (g *Gate) Check(known []Known) (warnings []string, err error) {
	for i := range g.Rules {
		r := &g.Rules[i]
		g.locate(r, known)
		switch {
		case r.readOnly || r.optional:
		case r.names != nil:
			if r.By == "flag" && !r.mayMatchName(known) {
				warnings = append(warnings, fmt.Sprintf("%s: no tool has a name like %q%s", flagOf(r.Origin), r.names[0].pattern, r.meant(known)))
			}
		default:
			if err := r.checkServers(known); err != nil {
				return warnings, err
			}
			if err := r.checkTools(known); err != nil {
				return warnings, err
			}
		}
	}
	return warnings, nil
}

// locate looks the directories of r up.
func (g *Gate) locate(r *Rule, known []Known) {
	if r.arguments == nil {
		return
	}
	for _, k := range known {
		if !matchesAny(r.servers, k.Server, r.restricts()) {
			continue
		}
		g.scratch.begin(context.Background(), &Call{Root: k.Root})
		for i := range r.arguments.tests {
			if dir := r.arguments.tests[i].under; dir != "" {
				g.scratch.bases(dir)
			}
		}
	}
}

// meant names, for a pattern that no name matches, the tools that it matches
// in the unmapped form. An allow does not hold for those: it says what the
// model may call, so it must be written as the model calls it.
func (r *Rule) meant(known []Known) string {
	var names []string
	for _, k := range known {
		for i, tool := range k.Tools {
			if i < len(k.Names) && matchesAny(r.names, k.Server+"__"+tool, r.restricts()) {
				names = append(names, k.Names[i])
			}
		}
	}
	if len(names) > 4 {
		names = append(names[:3], fmt.Sprintf("%d more", len(names)-3))
	}
	if len(names) == 0 {
		return ""
	}
	return "; such tools are known to the model as " + strings.Join(names, ", ")
}

// flagOf returns the flag of an origin such as "--allow fs__*".
func flagOf(origin string) string {
	flag, _, _ := strings.Cut(origin, " ")
	return flag
}

// mayMatchName reports whether a tool matches, or could match if the servers
// that did not start had it.
func (r *Rule) mayMatchName(known []Known) bool {
	for _, k := range known {
		if !k.Started && r.names[0].matchesPrefix(k.Server+"__", r.restricts()) {
			return true
		}
		for i, tool := range k.Tools {
			c := Call{Server: k.Server, Tool: tool, Name: k.Server + "__" + tool}
			if i < len(k.Names) {
				c.Name = k.Names[i]
			}
			if r.matchesTool(&c) {
				return true
			}
		}
	}
	return false
}

func (r *Rule) checkServers(known []Known) error {
	for _, g := range r.servers {
		if g.kind != globLiteral {
			continue
		}
		found := false
		var names []string
		for _, k := range known {
			found = found || g.matches(k.Server, r.restricts())
			names = append(names, k.Server)
		}
		if !found {
			return fmt.Errorf("%s: no configured server is named %q (configured: %s); \"optional\":true in the rule accepts that", r.Origin, g.pattern, listOrNone(names))
		}
	}
	return nil
}

func (r *Rule) checkTools(known []Known) error {
	for _, g := range r.tools {
		if g.kind != globLiteral {
			continue
		}
		found := false
		var servers []string
		for _, k := range known {
			if !matchesAny(r.servers, k.Server, r.restricts()) {
				continue
			}
			servers = append(servers, k.Server)
			found = found || !k.Started
			for _, tool := range k.Tools {
				found = found || g.matches(tool, r.restricts())
			}
		}
		if !found {
			return fmt.Errorf("%s: no tool is named %q (servers that the rule speaks of: %s); \"optional\":true in the rule accepts that", r.Origin, g.pattern, listOrNone(servers))
		}
	}
	return nil
}

func listOrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
