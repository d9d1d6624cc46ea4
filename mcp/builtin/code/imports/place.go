package imports

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// place finds where a new statement goes beside the statements of a text.
func (g *grammar) place(s *source, all []Statement, new *Statement) place {
	if len(all) == 0 {
		return s.first(g.header(s))
	}
	groups := s.groups(all)
	if group := g.nearest(groups, new); group != nil {
		return g.within(s, group, new)
	}
	// No statement has its rank: it goes behind those of a lower one.
	rank := g.rank(new)
	apart := 0
	if g.apart || len(groups) > 1 {
		apart = 1
	}
	for _, group := range slices.Backward(groups) {
		for i, st := range slices.Backward(group) {
			if g.rank(&st) > rank {
				continue
			}
			p := place{line: s.behind(&st), block: st.block}
			if i == len(group)-1 {
				p.above = apart
			}
			return p
		}
	}
	st := groups[0][0]
	return place{line: s.lineOf(st.From), below: apart, block: st.block}
}

// groups are statements between which no empty line stands.
func (s *source) groups(all []Statement) (groups [][]Statement) {
	for i, st := range all {
		joins := i > 0 && st.block == all[i-1].block
		for n := s.behind(&all[max(0, i-1)]); joins && n < s.lineOf(st.From); n++ {
			joins = s.isComment(n)
		}
		if !joins {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], st)
	}
	return groups
}

// behind is the line behind a statement.
func (s *source) behind(st *Statement) int { return s.lineOf(max(st.From, st.To-1)) + 1 }

// nearest is the group that has statements of the new one's rank; of several, the one with
// the module that has most in common with it. It is nil for none.
func (g *grammar) nearest(groups [][]Statement, new *Statement) (found []Statement) {
	best := -1
	for _, group := range groups {
		for i := range group {
			if g.rank(&group[i]) != g.rank(new) {
				continue
			}
			if n := inCommon(group[i].Module, new.Module); n > best {
				best, found = n, group
			}
		}
	}
	return found
}

// inCommon is how many parts at their begin two modules have in common.
func inCommon(a, b string) (n int) {
	split := func(r rune) bool { return strings.ContainsRune("./:", r) }
	as, bs := strings.FieldsFunc(a, split), strings.FieldsFunc(b, split)
	for n < min(len(as), len(bs)) && as[n] == bs[n] {
		n++
	}
	return n
}

// within is the place in a group. Where its statements of the rank are sorted, it is that of
// the order; else it is behind them.
func (g *grammar) within(s *source, group []Statement, new *Statement) place {
	var run []Statement
	for _, st := range group {
		if g.rank(&st) == g.rank(new) {
			run = append(run, st)
		}
	}
	last := run[len(run)-1]
	for _, key := range g.keys {
		if !slices.IsSortedFunc(run, func(a, b Statement) int { return strings.Compare(key(&a), key(&b)) }) {
			continue
		}
		for i := range run {
			if key(&run[i]) > key(new) {
				return place{line: s.above(&run[i], run[i].From == group[0].From), block: run[i].block}
			}
		}
		break
	}
	return place{line: s.behind(&last), block: last.block}
}

// above is the line of a statement, or of the comment directly above it. The comment above
// the first one of a group is about the group.
func (s *source) above(st *Statement, first bool) int {
	n := s.lineOf(st.From)
	for !first && n > 0 && s.isComment(n-1) {
		n--
	}
	return n
}

var (
	directiveOnce sync.Once
	directive     *regexp.Regexp // finds comments that are about a file; isDirective compiles it
)

func isDirective(comment string) bool {
	directiveOnce.Do(func() {
		directive = regexp.MustCompile(`(?i)^\s*(?:#!|(?:#|//|/\*+)\s*(?:@|eslint|prettier|tslint|<reference|-\*-|coding[:=]|pylint|mypy|flake8|ruff|type:|vim:|clang-format))|licen[cs]e|copyright|spdx-|\(c\)`)
	})
	return directive.MatchString(comment)
}

// comments is the line behind the comments that a text begins with, and the empty lines
// behind them. A comment directly above code is about that code, unless it is about the
// file: a license, or a directive to a tool.
func (s *source) comments(n int) int {
	at := n
	for n < s.lines() {
		from, about := n, false
		for n < s.lines() && s.isComment(n) {
			about = about || isDirective(s.line(s.text, n))
			n++
		}
		if n > from && n < s.lines() && !s.isBlank(n) && !about {
			break
		}
		for n < s.lines() && s.isBlank(n) {
			n++
		}
		if at = n; n == from {
			break
		}
	}
	return at
}
