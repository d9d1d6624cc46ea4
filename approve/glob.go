package approve

import (
	"strings"
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

func (g *glob) matches(s string) bool {
	switch g.kind {
	case globLiteral:
		return g.pattern == s
	case globAll:
		return true
	case globPrefix:
		return strings.HasPrefix(s, g.pattern[:len(g.pattern)-1])
	}
	return matchGlob(g.pattern, s, false, nil)
}

// matchesPrefix reports whether some string that begins with prefix matches.
func (g *glob) matchesPrefix(prefix string) bool {
	for i := range len(prefix) {
		switch {
		case i == len(g.pattern):
			return false
		case g.pattern[i] == '*':
			return true
		case g.pattern[i] != '?' && g.pattern[i] != prefix[i]:
			return false
		}
	}
	return true
}

// globSteps is after how many steps of a match they are counted: a shorter
// match costs nothing beside its text.
const globSteps = 256

// matchGlob matches the whole of s. Wide, * is any run of characters and ?
// any character. Narrow, neither takes a slash or a control character; **
// takes slashes, too. It takes at most len(pattern) times len(s) steps of w.
func matchGlob(pattern, s string, narrow bool, w *work) bool {
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
			if next-p > 1 || !narrow {
				deep, star = mark{next, i}, none
			} else {
				star = mark{next, i}
			}
			p = next
			continue
		}
		if n := matchOne(pattern[p:], s[i:], narrow); n > 0 {
			if pattern[p] == '?' {
				p++
			} else {
				p += n
			}
			i += n
			continue
		}
		if n := starTakes(s, star.s, !narrow, narrow); star.p >= 0 && n > 0 {
			star.s += n
			p, i = star.p, star.s
		} else if n := starTakes(s, deep.s, true, narrow); deep.p >= 0 && n > 0 {
			deep.s += n
			p, i, star = deep.p, deep.s, none
		} else {
			return false
		}
	}
	return true
}

// matchOne matches the first element of pattern, not a star, with the first
// character of s and returns its length, 0 for no match.
func matchOne(pattern, s string, narrow bool) int {
	if pattern == "" || s == "" {
		return 0
	}
	if pattern[0] == '?' {
		return starTakes(s, 0, !narrow, narrow)
	}
	_, n := utf8.DecodeRuneInString(pattern)
	if len(s) < n || s[:n] != pattern[:n] {
		return 0
	}
	return n
}

// starTakes returns the length of the character at s[i] if a star may stand
// for it, else 0.
func starTakes(s string, i int, slash, narrow bool) int {
	if i >= len(s) {
		return 0
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	if r == '/' && !slash || narrow && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029) {
		return 0
	}
	return n
}
