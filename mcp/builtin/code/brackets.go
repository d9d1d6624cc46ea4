package code

import (
	"bytes"
	"slices"
	"strings"
)

const openers, closers = "([{", ")]}"

// maxBranched bounds the brackets that are open around #if, and how deep #if is nested,
// where its branches are told apart: each branch begins with a copy of these brackets.
const maxBranched = 100

// A pairer finds the brackets of a text that belong together, in one pass.
type pairer struct {
	*layout
	open     []int // offsets of the brackets that are open
	count    [256]int
	branches []branchOf
}

// A branchOf is a branch of #if, where only one branch counts. Each of them may open or
// close the same bracket.
type branchOf struct {
	id   int32
	open []int // the brackets that were open at #if; nil for too many
}

// pair finds the brackets of some kinds. A bracket that closes nothing stays alone, and
// so do brackets that are open when a bracket around them closes.
func (l *layout) pair(kinds string) {
	l.partners = make([]int32, len(l.mask))
	p := &pairer{layout: l}
	hasBranches := l.language.Is("C", "C++", "Objective-C", "C#")
	for n := 1; n <= l.lines(); n++ {
		p.begins()
		if line := bytes.TrimSpace(l.line(l.mask, n)); hasBranches && len(line) > 0 && line[0] == '#' {
			p.directive(int32(n), line[1:])
		}
		for i := l.starts[n-1]; i < l.starts[n]; i++ {
			if strings.IndexByte(kinds, l.mask[i]) >= 0 {
				p.bracket(i)
			}
		}
	}
	p.begins()
}

// begins notes what a line begins inside of.
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

// bracket finds the partner of a bracket that closes.
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

// directive begins and ends the branches of #if. A bracket that a branch leaves open is
// none when another branch follows, which opens it again.
func (p *pairer) directive(id int32, line []byte) {
	word, _ := cutWord(line)
	last := len(p.branches) - 1
	switch {
	case strings.HasPrefix(word, "if"):
		var open []int
		if len(p.open) <= maxBranched && last < maxBranched {
			open = append([]int{}, p.open...)
		}
		p.branches = append(p.branches, branchOf{id, open})
	case last >= 0 && word == "endif":
		p.branches = p.branches[:last]
	case last >= 0 && strings.HasPrefix(word, "el"):
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
