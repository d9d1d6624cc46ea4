package approve

import (
	"cmp"
	"strconv"
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
	// Caged says that the system holds what the tool runs to the rules about paths that
	// Gate.Closes returns; Held are effects that it has not there.
	Caged bool
	Held  Labels
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
		return AllEffects &^ t.Held
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

// places are the arguments of the tool of c that the test is about, for each effect.
func (p *placeTest) places(c *Call, wide bool) (all []*Places) {
	for _, effect := range []Labels{Reads, Writes} {
		asked := p.effects.Has(effect) || wide && c.Shows && effect == Writes
		if asked && (c.Labels | c.Assumed).Has(effect) {
			all = append(all, c.of(effect))
		}
	}
	return all
}

// matchNarrow reports whether all paths pass, of which there must be one. Where nobody
// has declared which arguments are paths, all texts are. mark is called with each.
func (p *placeTest) matchNarrow(e *evaluation, mark func(at int)) bool {
	d, found := e.arguments(), false
	passes := func(at int) bool {
		found = true
		mark(at)
		return e.spendOnValue(at) && p.test(e, at, false) || p.fails(e, at)
	}
	for _, places := range p.places(e.call, false) {
		for at := 1; at < len(d.nodes) && !places.Known; at++ {
			if d.nodes[at].kind == '"' && !passes(at) {
				return false
			}
		}
		for _, path := range places.Paths {
			if !e.all(path.segments, 0, false, passes) {
				return false
			}
		}
	}
	return found || p.absentPasses(e, false) || p.fails(e, 0)
}

// matchWide reports whether a path passes, or may pass. A command may open any file, but
// a rule about files is not one about commands.
func (p *placeTest) matchWide(e *evaluation) bool {
	d := e.arguments()
	named, text := 0, 0 // the first path, and the first text that may be one
	nonePasses := func(at int) bool {
		named = cmp.Or(named, at)
		return !p.passesWide(e, at)
	}
	unknowable := false
	for _, places := range p.places(e.call, true) {
		for at := 1; at < len(d.nodes) && !places.Known; at++ {
			if d.nodes[at].kind != '"' {
				continue
			}
			if text = cmp.Or(text, at); p.textPasses(e, at) {
				return true
			}
		}
		for _, path := range places.Paths {
			if !e.all(path.segments, 0, true, nonePasses) {
				return true
			}
		}
		unknowable = unknowable || places.Known && len(places.Paths) == 0
	}
	return unknowable || named == 0 && p.absentPasses(e, true) || p.fails(e, cmp.Or(named, text))
}

// fails refuses the call because a path fails the test; at is 0 if no argument is a path.
func (p *placeTest) fails(e *evaluation, at int) bool {
	return e.refuse(func() string {
		switch absent := e.call.Reads.Absent; {
		case at > 0:
			return "path " + e.shown(at) + " fails " + p.text
		case e.call.Labels.Has(Runs) && len(p.places(e.call, true)) == 0:
			return "a rule about paths does not bind commands"
		case absent == "":
			return "the call names no path"
		default:
			return "path " + strconv.Quote(absent) + " fails " + p.text
		}
	})
}

// textPasses reports whether a text among the arguments passes, wide, as a path.
func (p *placeTest) textPasses(e *evaluation, at int) bool {
	if !e.spendOnValue(at) {
		return false
	}
	text := asPath(string(e.document.str(at)))
	return text != "" && p.passes(e, text, true)
}

// asPath is a text that nobody has called a path, as a program may read it that takes it for
// one; "" for a text that no system opens. A URL and a text with backslashes lead somewhere,
// too, for a program that shortens them.
func asPath(text string) string {
	if len(text) > maxPath || strings.ContainsRune(text, 0) {
		return ""
	}
	if len(text) >= 7 && strings.EqualFold(text[:7], "file://") {
		text = text[7:]
	}
	return strings.NewReplacer(`\`, "/", "://", ":/").Replace(text)
}

// absentPasses reports whether what a call means that names no path passes.
func (p *placeTest) absentPasses(e *evaluation, wide bool) bool {
	absent := e.call.Reads.Absent
	return absent != "" && p.effects.Has(Reads) && p.passes(e, absent, wide)
}

// passes reports whether the test holds for a text in the place of an argument.
func (p *placeTest) passes(e *evaluation, text string, wide bool) bool {
	arguments := e.document
	defer func() { e.document = arguments }()
	e.document = document{}
	e.document.parse(jsontext.Quoted(text))
	if wide {
		return p.passesWide(e, 0)
	}
	return p.test(e, 0, false)
}
