package approve

import (
	"slices"
	"strings"

	"toolpipe/stream/text/jsontext"
)

// Traits are what is known of a tool: what its results may hold and its calls may do, who
// says so, and which arguments say where. The zero value is a tool that does nothing.
type Traits struct {
	Labels  Labels // that are declared, or hinted by a server that nobody trusts
	Assumed Labels // effects that nobody has declared, and that the tool may have all the same
	By      string // who declares them, in words, such as "ci.json:4"; "" for nobody

	Reads, Writes, Sends Places // the paths of files; where data is sent

	// BuiltIn says that the tool is one of this program: it leaves out what Gate.Withheld
	// says, and a policy cannot take its effects away.
	BuiltIn bool
	// Shows says that the answer of a tool that writes a file tells what the file held.
	Shows bool
}

// Places are the arguments of a tool that name what it reads or writes, or where it sends.
type Places struct {
	Known  bool   // false: any string among the arguments may be one
	Paths  []Path // none: no argument says it
	Absent string // what a call means that has none of them, such as "." for the root; "" for nothing
}

// A Path leads to values inside of arguments.
type Path struct{ segments []segment }

// ParsePath reads an argument path, as a policy has it. problem says what is wrong with it.
func ParsePath(text string) (p Path, problem string) {
	p.segments, problem = parsePath(text)
	return p, problem
}

// String writes the path as a policy has it.
func (p Path) String() string {
	var keys []string
	for _, s := range p.segments {
		if s.any {
			keys = append(keys, "*")
		} else {
			keys = append(keys, strings.NewReplacer(`\`, `\\`, `.`, `\.`, `*`, `\*`).Replace(s.key))
		}
	}
	return strings.Join(keys, ".")
}

// Effects returns all effects that calls of the tool may have, declared or not. Who
// runs a program may do everything.
func (t *Traits) Effects() Labels {
	all := (t.Labels | t.Assumed) & AllEffects
	if all.Has(Runs) {
		return AllEffects
	}
	return all
}

// of returns the arguments with an effect, which is one.
func (t *Traits) of(effect Labels) *Places {
	switch effect {
	case Reads:
		return &t.Reads
	case Writes:
		return &t.Writes
	}
	return &t.Sends
}

// hasEffect reports whether a rule about effects is about the tool of c. Narrow, all
// that the tool does must be declared and named; who may run programs may do everything.
// Wide, one effect is enough. A destination that the user has named is none of those that
// a rule with when is about.
func (r *Rule) hasEffect(c *Call, wide bool) bool {
	if !wide {
		named := r.effects
		if named.Has(Runs) {
			named = AllEffects
		}
		does := c.Labels & AllEffects
		return c.Assumed == 0 && does&r.effects != 0 && does&^named == 0
	}
	does := c.Effects()
	if r.when != 0 && c.named && !(c.Labels | c.Assumed).Has(Runs) {
		does &^= Sends
	}
	if c.Shows {
		does |= Reads
	}
	return does&r.effects != 0
}

// A placeTest is the "path" of a rule about effects: a test of every path that the tool
// reads or writes.
type placeTest struct {
	argumentTest
	effects Labels // of the rule, among Reads and Writes
}

// each calls f with the values of e's call that the test is about, until f returns false.
// found reports whether there is any.
func (p *placeTest) each(e *evaluation, wide bool, f func(at int) bool) (found bool) {
	d := e.arguments()
	asked := p.effects
	if e.call.Shows && wide {
		asked |= Writes
	}
	for _, effect := range []Labels{Reads, Writes} {
		if !asked.Has(effect) || !(e.call.Labels | e.call.Assumed).Has(effect) {
			continue
		}
		places := e.call.of(effect)
		if !places.Known {
			for at := 1; at < len(d.nodes); at++ {
				if d.nodes[at].kind == '"' && (!wide || mayBePath(d.str(at))) {
					found = true
					if !f(at) {
						return found
					}
				}
			}
			continue
		}
		for _, path := range places.Paths {
			if !e.all(path.segments, 0, wide, func(at int) bool { found = true; return f(at) }) {
				return found
			}
		}
	}
	return found
}

// mayBePath reports whether a text that nobody has called a path may be one.
func mayBePath(text []byte) bool {
	s := string(text)
	scheme, _, isURL := strings.Cut(s, "://")
	return s != "" && len(s) <= maxPath && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) && (!isURL || strings.EqualFold(scheme, "file"))
}

// absent returns what the call means where it has none of the arguments that are paths; ""
// for nothing.
func (p *placeTest) absent(c *Call) string {
	for _, effect := range []Labels{Reads, Writes} {
		if places := c.of(effect); p.effects.Has(effect) && c.Labels.Has(effect) && places.Absent != "" {
			return places.Absent
		}
	}
	return ""
}

// passes reports whether the test holds for a text in the place of an argument.
func (p *placeTest) passes(e *evaluation, text string, wide bool) bool {
	arguments := e.document
	defer func() { e.document = arguments }()
	e.document = document{}
	e.document.parse(jsontext.Quoted(text))
	return p.test(e, 0, wide)
}

// matchNarrow reports whether all paths pass, of which there must be one. mark is called
// with each.
func (p *placeTest) matchNarrow(e *evaluation, mark func(at int)) bool {
	passed := true
	found := p.each(e, false, func(at int) bool {
		mark(at)
		passed = passed && e.spendOnValue(at) && p.test(e, at, false)
		return passed
	})
	if absent := p.absent(e.call); !found && absent != "" {
		return p.passes(e, absent, false)
	}
	return passed && found
}

// matchWide reports whether a path passes, or may pass. A command may open any file, but
// a rule about files is not one about commands.
func (p *placeTest) matchWide(e *evaluation) bool {
	d, passed := e.arguments(), false
	found := p.each(e, true, func(at int) bool {
		for j := at; j < d.nodes[at].next && !passed; j++ {
			passed = e.spendOnValue(j) && p.test(e, j, true)
		}
		return !passed
	})
	if passed || found {
		return passed
	}
	if absent := p.absent(e.call); absent != "" {
		return p.passes(e, absent, true)
	}
	return p.unknowable(e.call)
}

// unknowable reports whether a tool has an effect of the rule, and no argument says where.
func (p *placeTest) unknowable(c *Call) bool {
	return !c.BuiltIn && slices.ContainsFunc([]Labels{Reads, Writes}, func(effect Labels) bool {
		places := c.of(effect)
		return p.effects.Has(effect) && c.Labels.Has(effect) && places.Known && len(places.Paths) == 0
	})
}
