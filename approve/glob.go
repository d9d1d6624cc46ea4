package approve

import (
	"slices"
	"strings"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
)

// MatchGlob reports whether pattern matches the whole of name. In pattern * is
// any run of characters and ? is any character.
func MatchGlob(pattern, name string) bool { return matchGlob(pattern, name, globAny, nil) }

// MatchGlobPrefix reports whether pattern, as with MatchGlob, matches a text that
// begins with prefix.
func MatchGlobPrefix(pattern, prefix string) bool { return glob(pattern).matchesPrefix(prefix, false) }

type glob string

// matches reports whether the pattern matches the whole of name; with fold the
// case of letters does not matter.
func (g glob) matches(name string, fold bool) bool {
	mode := globAny
	if fold {
		mode = globFold
	}
	return matchGlob(string(g), name, mode, nil)
}

func (g glob) isLiteral() bool { return !strings.ContainsAny(string(g), "*?") }

func matchesAny(globs []glob, name string, fold bool) bool {
	return slices.ContainsFunc(globs, func(g glob) bool { return g.matches(name, fold) })
}

// matchesPrefix reports whether some string that begins with prefix may match.
func (g glob) matchesPrefix(prefix string, fold bool) bool {
	for i := range len(g) + 1 { // g[i:] can always match something
		if g[:i].matches(prefix, fold) {
			return true
		}
	}
	return false
}

// A globMode says which characters the wildcards of a pattern match.
type globMode uint8

const (
	globAny     globMode = iota // every character
	globElement                 // no slash and no control character; ** also matches slashes
	globFold                    // every character, and letters match in any case
)

// globSteps is how many steps of a match are taken from the budget at a time.
// A shorter match costs nothing: reading its text was paid for.
const globSteps = 256

// matchGlob reports whether pattern matches the whole of s. It takes at most
// len(pattern) times len(s) steps of the budget b.
func matchGlob(pattern, s string, mode globMode, b *budget) bool {
	// A point to go back to: the pattern after a star, and the first character of s that the
	// star does not match yet.
	type point struct{ p, s int }
	none := point{p: -1}
	star, deepStar := none, none // the last star, and the last that matches slashes in globElement
	p, i := 0, 0
	for steps := 1; p < len(pattern) || i < len(s); steps++ {
		if steps%globSteps == 0 && !b.spend(globSteps) {
			return false
		}
		if p < len(pattern) && pattern[p] == '*' {
			next := p + len(pattern[p:]) - len(strings.TrimLeft(pattern[p:], "*"))
			if next-p > 1 || mode != globElement {
				deepStar, star = point{next, i}, none
			} else {
				star = point{next, i}
			}
			p = next
			continue
		}
		if m, n := matchOne(pattern[p:], s[i:], mode); n > 0 {
			p += m
			i += n
			continue
		}
		if n := wildcardLen(s, star.s, mode != globElement, mode); star.p >= 0 && n > 0 {
			star.s += n
			p, i = star.p, star.s
		} else if n := wildcardLen(s, deepStar.s, true, mode); deepStar.p >= 0 && n > 0 {
			deepStar.s += n
			p, i, star = deepStar.p, deepStar.s, none
		} else {
			return false
		}
	}
	return true
}

// matchOne matches the first element of pattern, which is not a star, with the
// first character of s, and returns the length of both; 0, 0 for no match.
func matchOne(pattern, s string, mode globMode) (m, n int) {
	if pattern == "" {
		return 0, 0
	}
	if pattern[0] == '?' {
		return 1, wildcardLen(s, 0, mode != globElement, mode)
	}
	p, m := utf8.DecodeRuneInString(pattern)
	if len(s) >= m && s[:m] == pattern[:m] {
		return m, m
	}
	if mode == globFold {
		if c, n := utf8.DecodeRuneInString(s); jsontext.FoldRune(c) == jsontext.FoldRune(p) {
			return m, n
		}
	}
	return 0, 0
}

// wildcardLen returns the length of the character at s[i] if a wildcard matches
// it, else 0; slash reports whether the wildcard matches a slash.
func wildcardLen(s string, i int, slash bool, mode globMode) int {
	r, n := utf8.DecodeRuneInString(s[i:])
	if r == '/' && !slash || mode == globElement && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029) {
		return 0
	}
	return n
}
