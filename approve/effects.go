package approve

import (
	"cmp"
	"strconv"
	"strings"

	"toolpipe/stream/text/jsontext"
)

// Traits are the known facts about a tool: the labels of its results, the effects of its calls,
// the source of both, and which arguments name paths and destinations. The zero value is a tool
// that does nothing.
type Traits struct {
	Labels  Labels // declared, or hinted by a server that nobody trusts
	Assumed Labels // effects that nobody declared but the tool may have
	By      string // the source of the declaration, such as "ci.json:4"; "" for nobody

	Reads, Writes, Sends Places // the paths of files; the destinations of data

	// BuiltIn says that the tool is part of this program: it leaves out what Gate.Withheld
	// says, and a policy cannot remove its effects.
	BuiltIn bool
	// Caged says that the system enforces the rules about paths that Gate.Closes returns on the
	// programs of the tool. Held are the effects that the cage prevents.
	Caged bool
	Held  Labels
	// Shows says that the answer of a tool that writes a file reveals the old content.
	Shows bool
}

// Places are the arguments of a tool that name what it reads or writes, or where it sends.
type Places struct {
	Known  bool   // false: any string in the arguments may be one
	Paths  []Path // none: no argument names one
	Absent string // the meaning of a call without any of them, such as "." for the root; "" for nothing
}

// A Path leads to values in arguments.
type Path struct{ segments []segment }

// String writes the path in the form of a policy.
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

// Effects returns all effects that calls of the tool may have, declared or not. A tool that
// runs programs counts as having every effect that is not in Held.
func (t *Traits) Effects() Labels {
	all := (t.Labels | t.Assumed) & AllEffects
	if all.Has(Runs) {
		return AllEffects &^ t.Held
	}
	return all
}

func (t *Traits) of(effect Labels) *Places {
	switch effect {
	case Reads:
		return &t.Reads
	case Writes:
		return &t.Writes
	}
	return &t.Sends
}

// hasEffect reports whether a rule about effects applies to the tool of c. Narrow, all effects
// of the tool must be declared and the rule must name them; runs includes every effect. Wide,
// one effect is enough. A rule with when does not apply to a destination that the user named.
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
	effects Labels // of the rule: Reads, Writes or both
}

// places returns the arguments of the tool of c that the test covers, for each effect.
func (p *placeTest) places(c *Call, wide bool) (all []*Places) {
	for _, effect := range []Labels{Reads, Writes} {
		asked := p.effects.Has(effect) || wide && c.Shows && effect == Writes
		if asked && (c.Labels | c.Assumed).Has(effect) {
			all = append(all, c.of(effect))
		}
	}
	return all
}

// matchNarrow reports whether there is a path and all paths pass. If nobody declared which
// arguments are paths, all texts are. mark is called with each.
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

// matchWide reports whether a path passes, or may pass. A rule about files does not apply to
// commands, although a command may open any file.
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

// fails refuses the call because a path fails the test. at is 0 if no argument is a path.
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

// textPasses reports whether a text in the arguments, read as a path, passes wide.
func (p *placeTest) textPasses(e *evaluation, at int) bool {
	if !e.spendOnValue(at) {
		return false
	}
	text := asPath(string(e.document.str(at)))
	return text != "" && p.passes(e, text, true)
}

// asPath returns a text that nobody declared as a path in the form in which a program may open
// it; "" if no system opens it. A URL and a text with backslashes lead somewhere, too, in a
// program that shortens them.
func asPath(text string) string {
	if len(text) > maxPath || strings.ContainsRune(text, 0) {
		return ""
	}
	if len(text) >= 7 && strings.EqualFold(text[:7], "file://") {
		text = text[7:]
	}
	return strings.NewReplacer(`\`, "/", "://", ":/").Replace(text)
}

// absentPasses reports whether the path that a call without paths means passes.
func (p *placeTest) absentPasses(e *evaluation, wide bool) bool {
	absent := e.call.Reads.Absent
	return absent != "" && p.effects.Has(Reads) && p.passes(e, absent, wide)
}

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
