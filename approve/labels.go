package approve

import (
	"fmt"
	"slices"
	"strings"
)

// Labels say what a result may hold, and what a call may do with what the model
// knows. Each call of a run may be harmless while all of them together are not: one
// reads what is private, one brings what an outsider wrote, and one sends something
// out.
type Labels uint8

const (
	Private   Labels = 1 << iota // the result may hold what is not for everybody
	Untrusted                    // the result may hold what an outsider wrote
	Sends                        // the call may take data out: its arguments reach somebody else
)

// Exposed are the labels of a conversation that nothing should be sent out of.
const Exposed = Private | Untrusted

var labelWords = [...]string{"private", "untrusted", "sends"}

// Has reports whether l has all of the labels.
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

// ParseLabels returns the labels with these names. Only those of among are known.
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

// A LabelRule gives labels to tools, in place of those that they have without it.
type LabelRule struct {
	tools  Rule // names the tools, as a rule that allows them would
	labels Labels
}

// Labels returns the labels of the tool of c: those of all label rules that name it
// together, or otherwise if none does.
func (g *Gate) Labels(c *Call, otherwise Labels) Labels {
	named, labels := false, Labels(0)
	for i := range g.LabelRules {
		if r := &g.LabelRules[i]; r.tools.matchesNames(c, false) {
			named, labels = true, labels|r.labels
		}
	}
	if named {
		return labels
	}
	return otherwise
}

// labelRule reads an element of the key labels.
func (p *policyReader) labelRule(at int) (LabelRule, error) {
	r := LabelRule{tools: Rule{Decision: Allow, By: "policy", Origin: p.origin(at)}}
	err := p.object(at, `an element of labels is {"server":...,"tool":...,"labels":[...]}`, []policyKey{
		{"server", into(&r.tools.servers, p.globs), `labels without a server ("*" for any)`},
		{"tool", into(&r.tools.tools, p.globs), `labels without a tool ("*" for any)`},
		{"labels", into(&r.labels, func(i int) (Labels, error) { return p.labels(i, Exposed|Sends) }), `without the labels themselves ([] for none)`},
		{"optional", into(&r.tools.optional, p.boolean), ""},
	})
	return r, err
}

// labels reads a list of labels, each one of among.
func (p *policyReader) labels(at int, among Labels) (labels Labels, err error) {
	wrong := string(p.key(at)) + " is a list of: " + strings.Join(among.Words(), ", ")
	err = p.array(at, wrong, func(i int) error {
		if p.nodes[i].kind != '"' {
			return p.errorAt(p.nodes[i].start, "%s", wrong)
		}
		label, err := ParseLabels([]string{string(p.str(i))}, among)
		if err != nil {
			return p.errorAt(p.nodes[i].start, "%v", err)
		}
		labels |= label
		return nil
	})
	return labels, err
}

// exposed reads a list of the labels that a conversation can have.
func (p *policyReader) exposed(at int) (Labels, error) { return p.labels(at, Exposed) }
