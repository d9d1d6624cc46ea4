package approve

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// A Warning is about a rule that may not do what its author means.
type Warning struct {
	Code, Message string

	Grave bool // a call that the user meant to deny is not denied
}

// misread warns of rules that other tools bypass, that count tools without a declaration, and
// that do not apply to commands.
func (g *Gate) misread(servers []Server) (warnings []Warning) {
	warn := func(code, format string, args ...any) {
		warnings = append(warnings, Warning{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	if rule, names := g.assumes(servers); names != nil {
		warn("rule_assumes", "%s: tools of %s count as able to do everything, because their effects are not declared; --list-tools -v prints the lines for a policy", rule.Origin, joined(names))
	}
	if commands := g.commands(servers); commands != nil {
		for r := range g.all() {
			if r.restricts() && r.arguments != nil && r.arguments.path != nil {
				warn("rule_commands", "commands are not limited by %s: %s may open any file", r.Origin, joined(commands))
			}
		}
	}
	for i := range g.Rules {
		r := &g.Rules[i]
		if r.Decision != Deny || r.effects != 0 {
			continue
		}
		for _, effect := range []Labels{Reads, Writes, Runs} {
			if others := g.goRound(r, effect, servers); others != nil {
				does := map[Labels]string{Reads: "read the same files", Writes: "write the same files", Runs: "run programs"}[effect]
				warn("rule_bypassed", "%s: %s can still %s; %s denies that to all tools", r.Origin, joined(others), does, r.byEffect(effect))
			}
		}
	}
	return slices.CompactFunc(warnings, func(a, b Warning) bool { return a == b })
}

// joined lists names, only the first of many.
func joined(names []string) string {
	const most = 4
	if len(names) > most {
		names = append(slices.Clone(names[:most-1]), strconv.Itoa(len(names)-most+1)+" more")
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return names[0]
}

// assumes returns the servers with tools that a rule about effects matches only because nobody
// declared their effects, and the first such rule.
func (g *Gate) assumes(servers []Server) (rule *Rule, names []string) {
	for _, s := range servers {
		for r := range g.all() {
			if r.effects == 0 || r.behind != nil || !r.restricts() {
				continue
			}
			if slices.ContainsFunc(s.Tools, func(t Tool) bool {
				return t.By == "" && t.Labels&r.effects == 0 && r.matchesTool(&t.Call)
			}) {
				if rule == nil {
					rule = r
				}
				names = append(names, strconv.Quote(s.Name))
				break
			}
		}
	}
	return rule, names
}

// commands returns the names of the tools that run programs outside a cage and are offered.
func (g *Gate) commands(servers []Server) (names []string) {
	for _, s := range servers {
		for _, t := range s.Tools {
			if t.Labels.Has(Runs) && !t.Caged && !g.Denies(t.Call) {
				names = append(names, t.Name)
			}
		}
	}
	return names
}

// goRound returns the names of the tools that do what r denies to other tools, with the same
// files or as a program, and that no rule denies.
func (g *Gate) goRound(r *Rule, effect Labels, servers []Server) (names []string) {
	var denied, others []*Call
	for i := range servers {
		for j := range servers[i].Tools {
			tool := &servers[i].Tools[j]
			t := &tool.Call
			switch {
			case t.By == "" || !t.Effects().Has(effect):
			case !r.matchesNames(t, true):
				others = append(others, t)
			case t.Labels.Has(effect) && (effect != Reads || tool.Opens):
				denied = append(denied, t)
			}
		}
	}
	for _, u := range others {
		reaches := func(t *Call) bool {
			if effect == Runs {
				return true
			}
			return t.BuiltIn && u.BuiltIn && (u.Labels.Has(Runs) && r.arguments == nil || u.Root == t.Root && u.of(effect).Known) ||
				t.Server == u.Server && t.of(effect).Known && u.of(effect).Known
		}
		if slices.ContainsFunc(denied, reaches) && !g.deniesSomehow(u) {
			names = append(names, u.Name)
		}
	}
	return names
}

// deniesSomehow reports whether a rule denies the tool of c, with some arguments or all.
func (g *Gate) deniesSomehow(c *Call) bool {
	for r := range g.all() {
		if r.Decision == Deny && r.matchesTool(c) {
			return true
		}
	}
	return false
}

// byEffect writes r, which names tools, as a rule about their effect. It keeps the test of
// paths.
func (r *Rule) byEffect(effect Labels) string {
	word := effect.Words()[0]
	path := ""
	if r.arguments != nil {
		for _, t := range r.arguments.tests {
			if t.text != "" && len(t.path) == 1 && effect != Runs {
				path = `,"path":` + t.text
				break
			}
		}
	}
	if path == "" && r.By == "flag" {
		return "--deny @" + word
	}
	return `{"decision":"deny","effect":"` + word + `"` + path + `}`
}

// checkArguments refuses a rule that tests an argument which none of its tools can have: it
// would match never, or always. If a schema allows other arguments, it returns a warning.
func (r *Rule) checkArguments(servers []Server) ([]Warning, error) {
	if r.arguments == nil {
		return nil, nil
	}
	for i := range r.arguments.tests {
		path := r.arguments.tests[i].path
		var names []string
		known, open, found := false, false, false
		for _, s := range servers {
			for _, t := range s.Tools {
				if found || !r.matchesNames(&t.Call, r.restricts()) {
					continue
				}
				switch properties, mayHaveMore := argumentNames(t.Schema); {
				case hasArgument(t.Schema, path, r.restricts()), properties == nil:
					found = true
				default:
					known, open = true, open || mayHaveMore
					names = append(names, properties...)
				}
			}
			found = found || !s.Started && r.matchesServer(s.Name, s.Spelling, r.restricts())
		}
		if found || !known {
			continue
		}
		slices.Sort(names)
		names = slices.Compact(names)
		text := Path{path}.String()
		problem := fmt.Sprintf("%s: no tool that the rule names has an argument %q", r.Origin, text)
		if near := readable.Nearest(path[0].key, names); near != "" {
			problem += fmt.Sprintf("; did you mean %q?", strings.Replace(text, path[0].key, near, 1))
		} else {
			problem += " (they have: " + strings.Join(names, ", ") + ")"
		}
		if open {
			return []Warning{{Code: "rule_argument", Message: problem}}, nil
		}
		return nil, fmt.Errorf("%s; \"optional\":true in the rule accepts that", problem)
	}
	return nil, nil
}

// argumentNames returns the names of the arguments in a schema; nil for none. open says that a
// call may have others.
func argumentNames(schema []byte) (names []string, open bool) {
	for name := range jsontext.Members(jsontext.Member(schema, "properties")) {
		names = append(names, jsontext.Unquote(name))
	}
	return names, string(jsontext.Member(schema, "additionalProperties")) != "false"
}

// hasArgument reports whether the values of a schema may have a value at path. A part of a
// schema that is not understood may have any.
func hasArgument(schema []byte, path []segment, fold bool) bool {
	if len(path) == 0 || jsontext.Kind(schema) != '{' {
		return true
	}
	for _, word := range []string{"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"} {
		if jsontext.Member(schema, word) != nil {
			return true
		}
	}
	s := &path[0]
	kind := jsontext.Text(jsontext.Member(schema, "type"))
	items, properties := jsontext.Member(schema, "items"), jsontext.Member(schema, "properties")
	switch {
	case kind == "string", kind == "integer", kind == "number", kind == "boolean":
		return false
	case kind == "array":
		return (s.any || s.index >= 0) && hasArgument(items, path[1:], fold)
	case properties == nil:
		return true
	}
	for name, value := range jsontext.Members(properties) {
		key := jsontext.Unquote(name)
		if (s.any || key == s.key || fold && strings.EqualFold(key, s.key)) && hasArgument(value, path[1:], fold) {
			return true
		}
	}
	return false
}

// literalGlobs returns a part of a glob that other programs read as a pattern and this program
// reads literally; "" for none.
func literalGlobs(pattern string) string {
	for _, pair := range []string{"[]", "{}"} {
		if from := strings.IndexByte(pattern, pair[0]); from >= 0 {
			if to := strings.IndexByte(pattern[from:], pair[1]); to > 1 && (pair == "[]" || strings.Contains(pattern[from:from+to], ",")) {
				return pattern[from : from+to+1]
			}
		}
	}
	if i := strings.IndexByte(pattern, '\\'); i >= 0 && i+1 < len(pattern) {
		return pattern[i : i+2]
	}
	return ""
}
