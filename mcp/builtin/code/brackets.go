package code

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

const openers, closers = "([{", ")]}"

// maxBranched limits how many brackets may be open around #if, and how deep #if is nested,
// for its branches to be handled separately: each branch begins with a copy of these
// brackets.
const maxBranched = 100

// A pairer finds the matching brackets of a text in one pass.
type pairer struct {
	*layout
	open     []int // offsets of the brackets that are open
	count    [256]int
	branches []branchOf
}

// A branchOf is a branch of #if. Only one branch of an #if counts, so each of them may open
// or close the same bracket.
type branchOf struct {
	id   int32
	open []int // the brackets that were open at #if; nil for too many
}

// pair matches brackets of the given kinds. A bracket that closes nothing stays unmatched,
// and so do brackets that are open when a bracket around them closes.
func (l *layout) pair(kinds string) {
	l.partners = make([]int32, len(l.mask))
	p := &pairer{layout: l}
	for n := 1; n <= l.lines(); n++ {
		p.begins()
		p.directive(int32(n), l.conditional(n))
		for i := l.starts[n-1]; i < l.starts[n]; i++ {
			if strings.IndexByte(kinds, l.mask[i]) >= 0 {
				p.bracket(i)
			}
		}
	}
	p.begins()
}

// begins records the brackets and branches that are open at the beginning of a line.
func (p *pairer) begins() {
	var in level
	if n := len(p.open); n > 0 {
		in.bracket = int32(p.open[n-1] + 1)
	}
	if n := len(p.branches); n > 0 {
		in.branch = p.branches[n-1].id
	}
	p.inside = append(p.inside, in)
}

func (p *pairer) bracket(i int) {
	c := p.mask[i]
	p.partners[i] = -1
	if kind := strings.IndexByte(openers, c); kind >= 0 {
		p.open = append(p.open, i)
		p.count[closers[kind]]++
		return
	}
	for p.count[c] > 0 {
		last := p.open[len(p.open)-1]
		p.open = p.open[:len(p.open)-1]
		closer := p.closer(last)
		p.count[closer]--
		if closer == c {
			p.partners[last], p.partners[i] = int32(i+1), int32(last+1)
			return
		}
	}
}

func (p *pairer) closer(at int) byte { return closers[strings.IndexByte(openers, p.mask[at])] }

// A directive is the effect of a line on the conditionals of the preprocessor.
type directive uint8

const (
	noConditional directive = iota
	opensConditional
	opensBranch // #else and the like
	closesConditional
)

func hasDirectives(language *lexis.Language) bool {
	return language.Is("C", "C++", "Objective-C", "C#")
}

func (l *layout) conditional(n int) directive {
	line := trim(l.line(l.mask, n))
	if len(line) == 0 || line[0] != '#' || !hasDirectives(l.language) {
		return noConditional
	}
	switch word, _ := cutWord(line[1:]); {
	case strings.HasPrefix(word, "if"):
		return opensConditional
	case strings.HasPrefix(word, "el"):
		return opensBranch
	case word == "endif":
		return closesConditional
	}
	return noConditional
}

// directive begins and ends the branches of #if. A bracket that a branch leaves open does not
// count if another branch follows, because that one opens it again.
func (p *pairer) directive(id int32, does directive) {
	last := len(p.branches) - 1
	switch {
	case does == opensConditional:
		var open []int
		if len(p.open) <= maxBranched && last < maxBranched {
			open = append([]int{}, p.open...)
		}
		p.branches = append(p.branches, branchOf{id, open})
	case last >= 0 && does == closesConditional:
		p.branches = p.branches[:last]
	case last >= 0 && does == opensBranch:
		around := p.branches[last].open
		p.branches[last].id = id
		if around == nil {
			return
		}
		for _, at := range p.open {
			if p.count[p.closer(at)]--; !slices.Contains(around, at) {
				p.partners[at] = 0
			}
		}
		p.open = slices.Clone(around)
		for _, at := range p.open {
			p.count[p.closer(at)]++
		}
	}
}

// guarded returns the layout of an edited text. The edit replaced the lines from from to to
// of the old text, counted from 0. It returns an error if the edit changes more than these
// lines: if a line outside begins or ends in another comment or string than before, if a
// bracket outside has another partner, or if the new lines leave something open that was
// closed.
func (l *layout) guarded(edited []byte, from, to int) (*layout, error) {
	after := newLayout(l.language, edited)
	g := guard{before: l, after: after}
	for g.head < from && g.isSame(g.head+1, g.head+1) {
		g.head++
	}
	for g.tail < l.lines()-to && after.lines()-g.tail > g.head && g.isSame(l.lines()-g.tail, after.lines()-g.tail) {
		g.tail++
	}
	what := g.changed()
	if what == "" {
		return after, nil
	}
	return nil, fmt.Errorf("nothing was written: %s; content has to close its own comments, strings and brackets, and edit_file of the file tools edits any text", what)
}

// A guard compares a text before and after an edit. It knows comments, strings and brackets,
// and no syntax.
type guard struct {
	before, after *layout
	head, tail    int // how many lines at the beginning and at the end stay
}

// isSame reports whether a line of the old text equals one of the new text. The end of the
// last line may be missing.
func (g *guard) isSame(n, m int) bool {
	return m <= g.after.lines() && bytes.Equal(trimmedLine(g.before, n), trimmedLine(g.after, m))
}

func trimmedLine(l *layout, n int) []byte { return bytes.TrimRight(l.line(l.text, n), "\r\n") }

// changed describes what the edit changes outside its lines; "" for nothing.
func (g *guard) changed() string {
	moved := g.after.lines() - g.before.lines()
	for n := 1; n <= g.before.lines()+1; n++ {
		m := n
		if n > g.head+1 || g.tail == g.before.lines() {
			if n <= g.before.lines()-g.tail {
				continue
			}
			m += moved
		}
		was, is := g.before.states[n-1], g.after.states[m-1]
		if was.Part != is.Part || was.Open != is.Open {
			return fmt.Sprintf("line %d would no longer begin in the same code, comment or string", n)
		}
	}
	if what := g.brackets(); what != "" {
		return what
	}
	cut := func(l *layout) int { return l.states[l.lines()].Cut }
	if !g.before.language.Is("JavaScript", "TypeScript") && cut(g.after) > cut(g.before) { // JSX has quotes in its text
		return "a string would not be closed in its line"
	}
	return ""
}

// brackets describes a bracket that would no longer match; "" for none.
func (g *guard) brackets() string {
	was, _ := g.alone(g.before)
	if is, last := g.alone(g.after); is > was {
		return fmt.Sprintf("the brackets in the file would no longer match: %c in line %d would have no partner", g.after.mask[last], g.after.lineOf(last))
	}
	for i := range g.before.partners {
		other, found := g.before.partner(i)
		at, stays := g.moved(i)
		if !found || !stays {
			continue
		}
		now, _ := g.after.partner(at)
		want, otherStays := g.moved(other)
		if otherStays && now != want || !otherStays && g.stays(now) {
			return fmt.Sprintf("the brackets in the file would no longer match: %c in line %d would have another partner", g.before.mask[i], g.before.lineOf(i))
		}
	}
	return ""
}

// alone counts the unmatched brackets in the lines that do not stay, and returns the last of
// them.
func (g *guard) alone(l *layout) (count, last int) {
	for i := l.starts[g.head]; i < l.starts[l.lines()-g.tail]; i++ {
		if other, found := l.partner(i); found && other < 0 {
			count, last = count+1, i
		}
	}
	return count, last
}

// moved is the offset of a byte after the edit, if its line stays. The offset -1, no bracket,
// is not changed.
func (g *guard) moved(at int) (after int, stays bool) {
	tail := g.before.lines() - g.tail
	switch {
	case at < g.before.starts[g.head]:
		return at, true
	case at >= g.before.starts[tail]:
		return at + g.after.starts[g.after.lines()-g.tail] - g.before.starts[tail], true
	}
	return 0, false
}

// stays reports whether a byte of the new text is in the lines that stay.
func (g *guard) stays(at int) bool {
	return at < g.after.starts[g.head] || at >= g.after.starts[g.after.lines()-g.tail]
}
