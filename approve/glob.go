package approve

import (
	"strings"
	"toolpipe/stream/jsontext"
	"unicode/utf8"
)

// glob is a pattern of * (any run of characters) and ? (one character) over a
// whole name.
type glob struct {
	pattern string
	kind    globKind
}

type globKind uint8

const (
	globLiteral globKind = iota // no wildcard
	globAll                     // "*"
	globPrefix                  // one * at the end
	globOther
)

func newGlob(pattern string) glob {
	i := strings.IndexAny(pattern, "*?")
	switch {
	case i < 0:
		return glob{pattern, globLiteral}
	case pattern == "*":
		return glob{pattern, globAll}
	case i == len(pattern)-1 && pattern[i] == '*':
		return glob{pattern, globPrefix}
	}
	return glob{pattern, globOther}
}

// matches reports whether the pattern is one of the whole name s; fold: without
// regard to case.
func (g *glob) matches(s string, fold bool) bool {
	switch {
	case g.kind == globAll:
		return true
	case g.kind == globLiteral && fold:
		return strings.EqualFold(g.pattern, s)
	case g.kind == globLiteral:
		return g.pattern == s
	case g.kind == globPrefix && !fold:
		return strings.HasPrefix(s, g.pattern[:len(g.pattern)-1])
	case fold:
		return matchGlob(g.pattern, s, globFold, nil)
	}
	return matchGlob(g.pattern, s, globWide, nil)
}

// matchesPrefix reports whether some string that begins with prefix, in ASCII,
// may match.
func (g *glob) matchesPrefix(prefix string, fold bool) bool {
	for i := range len(prefix) {
		switch {
		case i == len(g.pattern):
			return false
		case g.pattern[i] == '*':
			return true
		case g.pattern[i] != '?' && g.pattern[i] != prefix[i] && (!fold || jsontext.FoldRune(rune(g.pattern[i])) != jsontext.FoldRune(rune(prefix[i]))):
			return false
		}
	}
	return true
}

// globReading says what the wildcards of a pattern take.
type globReading uint8

const (
	globWide   globReading = iota // * any run of characters, ? any character
	globNarrow                    // neither a slash nor a control character; ** takes slashes, too
	globFold                      // as globWide, and letters match without regard to case
)

// globSteps is after how many steps of a match they are counted: a shorter
// match costs nothing beside its text.
const globSteps = 256

// matchGlob matches the whole of s. It takes at most len(pattern) times len(s)
// steps of w.
func matchGlob(pattern, s string, as globReading, w *work) bool {
	type mark struct{ p, s int } // where to go on after one more character for the star
	none := mark{p: -1}
	star, deep := none, none
	p, i := 0, 0
	for steps := 1; p < len(pattern) || i < len(s); steps++ {
		if steps%globSteps == 0 && !w.spend(globSteps) {
			return false
		}
		if p < len(pattern) && pattern[p] == '*' {
			next := p + len(pattern[p:]) - len(strings.TrimLeft(pattern[p:], "*"))
			if next-p > 1 || as != globNarrow {
				deep, star = mark{next, i}, none
			} else {
				star = mark{next, i}
			}
			p = next
			continue
		}
		if m, n := matchOne(pattern[p:], s[i:], as); n > 0 {
			p += m
			i += n
			continue
		}
		if n := starTakes(s, star.s, as != globNarrow, as); star.p >= 0 && n > 0 {
			star.s += n
			p, i = star.p, star.s
		} else if n := starTakes(s, deep.s, true, as); deep.p >= 0 && n > 0 {
			deep.s += n
			p, i, star = deep.p, deep.s, none
		} else {
			return false
		}
	}
	return true
}

// matchOne matches the first element of pattern, not a star, with the first
// character of s and returns the length of both, 0 for no match.
func matchOne(pattern, s string, as globReading) (m, n int) {
	if pattern == "" || s == "" {
		return 0, 0
	}
	if pattern[0] == '?' {
		return 1, starTakes(s, 0, as != globNarrow, as)
	}
	p, m := utf8.DecodeRuneInString(pattern)
	if len(s) >= m && s[:m] == pattern[:m] {
		return m, m
	}
	if as == globFold {
		if c, n := utf8.DecodeRuneInString(s); jsontext.FoldRune(c) == jsontext.FoldRune(p) {
			return m, n
		}
	}
	return 0, 0
}

// starTakes returns the length of the character at s[i] if a star may stand
// for it, else 0.
func starTakes(s string, i int, slash bool, as globReading) int {
	if i >= len(s) {
		return 0
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	if r == '/' && !slash || as == globNarrow && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029) {
		return 0
	}
	return n
}
