package approve

import (
	"fmt"
	"slices"
	"strings"
)

// namesTool reports whether a rule speaks of the tool of c, be it in another case of letters
// or by an effect that the tool has not.
func (r *Rule) namesTool(c *Call) bool {
	if r.behind != nil || r.open {
		return false
	}
	named := *r
	named.effects, named.NotServers = 0, nil
	if r.names == nil && r.servers == nil && r.tools == nil { // by effect, or @read-only
		return r.effects != 0 || r.readOnly
	}
	if r.servers == nil {
		named.servers = []glob{"*"}
	}
	if r.tools == nil {
		named.tools = []glob{"*"}
	}
	return named.matchesNames(c, true)
}

// whyNot says why a rule that names the tool of c does not match it.
func (r *Rule) whyNot(e *evaluation, c *Call) string {
	wide := r.restricts()
	bare := *r
	bare.effects, bare.NotServers = 0, nil
	does := strings.Join(c.Effects().Words(), ", ")
	switch {
	case !c.Seen.Labels.Has(r.when):
		return "the conversation is not " + strings.Join((r.when&^c.Seen.Labels).Words(), " and ")
	case slices.Contains(r.NotServers, c.Server):
		return "it does not count for a server of another program's file"
	case r.readOnly:
		return "no server that is trusted says that the tool only reads"
	case (r.names != nil || r.servers != nil && r.tools != nil) && !bare.matchesNames(c, wide):
		return "the tool's name has other letters, upper or lower case"
	case r.effects != 0 && !wide && c.Assumed&AllEffects != 0:
		return "nobody says what the tool does, so it may do everything"
	case r.effects != 0 && !r.hasEffect(c, wide) && c.Effects() == 0:
		return "the tool has no effects"
	case r.effects != 0 && !r.hasEffect(c, wide):
		return "the tool's effects are: " + does
	case r.arguments == nil:
		return "it does not match"
	case wide:
		return r.arguments.whyNotWide(e)
	}
	return r.arguments.whyNotNarrow(e)
}

// shown is a value as a reason quotes it.
func (e *evaluation) shown(at int) string {
	const most = 60
	text := string(e.document.raw(at))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// whyNotNarrow says which test of an allow rule fails, or which argument has none.
func (a *argumentTests) whyNotNarrow(e *evaluation) string {
	d := e.arguments()
	covered := make([]bool, len(d.nodes))
	cover := func(at int) {
		for j := at; j < d.nodes[at].next; j++ {
			covered[j] = true
		}
	}
	if a.path != nil && !a.path.matchNarrow(e, cover) {
		return a.path.whyNot(e, false)
	}
	for i := range a.tests {
		t := &a.tests[i]
		name, found, why := Path{t.path}.String(), false, ""
		e.all(t.path, 0, false, func(at int) bool {
			found = true
			cover(at)
			switch {
			case t.kind == absentTest:
				why = fmt.Sprintf("argument %s is there", name)
			case !t.test(e, at, false):
				why = fmt.Sprintf("argument %s: %s fails %s", name, e.shown(at), t.text)
			}
			return why == ""
		})
		switch {
		case why != "":
			return why
		case !found && !t.optional && t.kind != absentTest:
			return fmt.Sprintf("argument %s is absent", name)
		}
	}
	for i := 1; i < len(d.nodes) && !a.others; i++ {
		if d.nodes[i].next == i+1 && !covered[i] {
			return fmt.Sprintf("argument %s has no test", d.pathOf(i))
		}
	}
	return "it does not match"
}

// whyNotWide says which test of a deny or ask rule no value passes.
func (a *argumentTests) whyNotWide(e *evaluation) string {
	if a.path != nil && !a.path.matchWide(e) {
		return a.path.whyNot(e, true)
	}
	for i := range a.tests {
		t := &a.tests[i]
		if (&argumentTests{tests: a.tests[i : i+1]}).testsMatchWide(e) {
			continue
		}
		name, value := Path{t.path}.String(), ""
		e.all(t.path, 0, true, func(at int) bool { value = e.shown(at); return false })
		switch {
		case value == "":
			return fmt.Sprintf("argument %s is absent", name)
		case t.kind == absentTest:
			return fmt.Sprintf("argument %s is there", name)
		}
		return fmt.Sprintf("argument %s: %s fails %s", name, value, t.text)
	}
	return "it does not match"
}

// whyNot says which path fails the test.
func (p *placeTest) whyNot(e *evaluation, wide bool) string {
	d, why := e.arguments(), ""
	fails := func(at int) bool {
		if wide || !p.test(e, at, false) {
			why = fmt.Sprintf("path %s fails %s", e.shown(at), p.text)
		}
		return why == ""
	}
	places := p.places(e.call, wide)
	for _, places := range places {
		for at := 1; at < len(d.nodes) && !places.Known; at++ {
			if d.nodes[at].kind == '"' && !fails(at) {
				return why
			}
		}
		for _, path := range places.Paths {
			if !e.all(path.segments, 0, wide, fails) {
				return why
			}
		}
	}
	switch {
	case len(places) == 0 && e.call.Labels.Has(Runs):
		return "a rule about paths does not bind commands"
	case e.call.Reads.Absent == "":
		return "the call names no path"
	}
	return fmt.Sprintf("path %q fails %s", e.call.Reads.Absent, p.text)
}

// pathOf is the argument path of nodes[at].
func (d *document) pathOf(at int) string {
	var keys []string
	for parent := 0; parent != at; {
		n := 0
		for child := range d.children(parent) {
			if at >= child && at < d.nodes[child].next {
				if d.nodes[parent].kind == '[' {
					keys = append(keys, fmt.Sprint(n))
				} else {
					keys = append(keys, string(d.key(child)))
				}
				parent = child
				break
			}
			n++
		}
	}
	return strings.Join(keys, ".")
}
