package approve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Labels say what a result may hold, and what a call may do: its effects. Each call of a run
// may be harmless while all of them together are not: one reads private data, one brings an
// outsider's text, and one sends data out.
type Labels uint8

const (
	Private   Labels = 1 << iota // the result may hold data that is not for everybody
	Untrusted                    // the result may hold an outsider's text
	Reads                        // the call may read files
	Writes                       // the call may write files, or change data of its server
	Runs                         // the call may run programs, which may do everything
	Sends                        // the call may take data out: its arguments reach somebody else
)

const (
	// Exposed are the labels of a conversation from which nothing should be sent out.
	Exposed = Private | Untrusted
	// AllEffects are the labels that say what a call does.
	AllEffects = Reads | Writes | Runs | Sends
)

var labelWords = [...]string{"private", "untrusted", "reads", "writes", "runs", "sends"}

// Has reports whether l includes all of the labels.
func (l Labels) Has(all Labels) bool { return l&all == all }

// Words are the names of the labels; nil for none.
func (l Labels) Words() (words []string) {
	for i, word := range labelWords {
		if l.Has(1 << i) {
			words = append(words, word)
		}
	}
	return words
}

// ParseLabels returns the labels with these names. Only labels in among are known.
func ParseLabels(words []string, among Labels) (labels Labels, err error) {
	for _, word := range words {
		i := slices.Index(labelWords[:], word)
		if i < 0 || !among.Has(1<<i) {
			return 0, fmt.Errorf("%.40q is not one of: %s", word, strings.Join(among.Words(), ", "))
		}
		labels |= 1 << i
	}
	return labels, nil
}

// A LabelRule gives labels and effects to tools. They replace the others.
type LabelRule struct {
	tools  Rule // names the tools, as a rule that allows them would
	traits Traits
}

// Declare adds an effect of calls, and the arguments that say where.
func (t *Traits) Declare(effect Labels, paths []string) error {
	t.Labels |= effect
	places := t.of(effect)
	places.Known = true
	for _, text := range paths {
		path, problem := parsePath(text)
		if problem != "" {
			return fmt.Errorf("%q: %s", text, problem)
		}
		places.Paths = append(places.Paths, Path{path})
	}
	return nil
}

// DeclareNamed is Declare with the name of an effect.
func (t *Traits) DeclareNamed(name string, paths []string) error {
	effect, err := ParseLabels([]string{name}, AllEffects)
	if err != nil {
		return err
	}
	return t.Declare(effect, paths)
}

// Label adds the labels with these names; sends among them is the effect.
func (t *Traits) Label(words []string) error {
	labels, err := ParseLabels(words, Exposed|Sends)
	t.Labels |= labels
	t.Sends.Known = t.Sends.Known || labels.Has(Sends)
	return err
}

// Declared sets the assumed labels and effects, if only labels or only effects were declared.
func (t *Traits) Declared(labels, effects bool) {
	t.Assumed = 0
	if !labels {
		t.Assumed |= Exposed
	}
	if !effects {
		t.Assumed |= Reads | Writes | Runs
	}
}

// TraitsOf returns the known facts about the tool of c: the union of all label rules that name
// it, or otherwise if there is none. A built-in tool keeps its effects. A rule can only remove
// sends, for example from a shell if the policy knows its commands.
func (g *Gate) TraitsOf(c *Call, otherwise Traits) Traits {
	t := Traits{Assumed: Exposed | AllEffects}
	for i := range g.LabelRules {
		r := &g.LabelRules[i]
		if !r.tools.matchesNames(c, false) {
			continue
		}
		if t.By != "" {
			t.By += ", "
		}
		t.By += r.tools.Origin
		t.Labels |= r.traits.Labels
		t.Assumed &= r.traits.Assumed
		for _, effect := range []Labels{Reads, Writes, Sends} {
			more, all := r.traits.of(effect), t.of(effect)
			all.Known = all.Known || more.Known
			all.Paths = append(all.Paths, more.Paths...)
		}
	}
	if t.By == "" {
		return otherwise
	}
	const own = Reads | Writes | Runs
	if otherwise.BuiltIn || t.Assumed.Has(own) {
		t.BuiltIn, t.Shows, t.Reads, t.Writes = otherwise.BuiltIn, otherwise.Shows, otherwise.Reads, otherwise.Writes
		t.Caged, t.Held = otherwise.Caged, otherwise.Held
		t.Labels = t.Labels&^own | otherwise.Labels&own
		t.Assumed = t.Assumed&^own | otherwise.Assumed&own
	}
	if len(t.Sends.Paths) == 0 && t.Labels.Has(Sends) && otherwise.BuiltIn {
		t.Sends = otherwise.Sends
	}
	return t
}

func (p *policyReader) labelRule(at int) (LabelRule, error) {
	r := LabelRule{tools: Rule{Decision: Allow, By: "policy", Origin: p.origin(at)}}
	t := &r.traits
	var labels, effects, runs bool
	keys := []policyKey{
		{"server", into(&r.tools.servers, p.globs), `labels without a server ("*" for any)`},
		{"tool", into(&r.tools.tools, p.globs), `labels without a tool ("*" for any)`},
		{"labels", func(i int) error {
			said, err := p.labels(i, Exposed|Sends)
			labels = true
			return cmp.Or(err, t.Label(said.Words()))
		}, ""},
		{"runs", into(&runs, func(i int) (bool, error) { effects = true; return p.boolean(i) }), ""},
		{"optional", into(&r.tools.optional, p.boolean), ""},
	}
	for _, effect := range []Labels{Reads, Writes, Sends} {
		keys = append(keys, policyKey{effect.Words()[0], func(i int) error {
			effects = true
			t.Declare(effect, nil)
			wrong := string(p.key(i)) + " is a list of the arguments that name the destination, [] for none"
			return p.texts(i, wrong, func(path string) error { return t.Declare(effect, []string{path}) })
		}, ""})
	}
	err := p.object(at, `an element of labels is {"server":...,"tool":...,"labels":[...]}`, keys)
	switch {
	case err != nil:
	case !labels && !effects:
		return r, p.errorAt(p.nodes[at].start, `without the labels themselves ([] for none)`)
	case runs:
		t.Labels |= Runs
	}
	t.Declared(labels, effects)
	return r, err
}

// labels reads a list of labels, each one of among.
func (p *policyReader) labels(at int, among Labels) (labels Labels, err error) {
	wrong := string(p.key(at)) + " is a list of: " + strings.Join(among.Words(), ", ")
	err = p.texts(at, wrong, func(word string) error {
		label, err := ParseLabels([]string{word}, among)
		labels |= label
		return err
	})
	return labels, err
}

// texts reads a list of strings, and calls f with each; wrong is the error for another value.
func (p *policyReader) texts(at int, wrong string, f func(string) error) error {
	return p.array(at, wrong, func(i int) error {
		if p.nodes[i].kind != '"' {
			return p.errorAt(p.nodes[i].start, "%s", wrong)
		}
		if err := f(string(p.str(i))); err != nil {
			return p.errorAt(p.nodes[i].start, "%v", err)
		}
		return nil
	})
}
