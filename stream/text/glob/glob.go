// Package glob is the one matcher for patterns with * and ?: of rules, of tools that search
// files, and of ignore files.
package glob

import (
	"strings"
	"unicode/utf8"
)

// A Mode says what the characters of a pattern mean.
type Mode uint8

const (
	Any     Mode = iota // * is any run of characters, ? any character
	Fold                // as Any, and letters match in any case
	Element             // * and ? match no slash and no control character; ** also matches slashes
	Paths               // as in gitignore(5): see Pattern
)

// stepsAtATime is how many steps of a match are paid at a time. A shorter match costs nothing:
// reading its text was paid for.
const stepsAtATime = 256

// Match reports whether pattern matches the whole of s. It takes at most len(pattern) times
// len(s) steps. It pays for them with spend, and gives up when spend is false; nil: no limit.
func Match(pattern, s string, mode Mode, spend func(steps int) bool) bool {
	none := point{p: -1}
	star, deepStar := none, none // the last star, and the last that matches slashes
	p, i := 0, 0
	for steps := 1; p < len(pattern) || i < len(s); steps++ {
		if steps%stepsAtATime == 0 && spend != nil && !spend(stepsAtATime) {
			return false
		}
		if p < len(pattern) && pattern[p] == '*' {
			next, deep, names := stars(pattern, p, mode)
			if deep {
				deepStar, star = point{next, i, names}, none
			} else {
				star = point{next, i, false}
			}
			p = next
			continue
		}
		if m, n := matchOne(pattern[p:], s[i:], mode); n > 0 {
			p += m
			i += n
			continue
		}
		if star.p >= 0 && star.widen(s, mode < Element, mode) {
			p, i = star.p, star.s
		} else if deepStar.p >= 0 && deepStar.widen(s, true, mode) {
			p, i, star = deepStar.p, deepStar.s, none
		} else {
			return false
		}
	}
	return true
}

// A point is where a match goes back to: the pattern after a star, and the first character
// that the star does not match yet.
type point struct {
	p, s  int
	names bool // the star matches only complete names, each with its slash
}

// widen makes the star match one more character or name, if it can. slash: it matches slashes.
func (t *point) widen(s string, slash bool, mode Mode) bool {
	n := 0
	if t.names {
		n = 1 + strings.IndexByte(s[t.s:], '/')
	} else {
		n = wildcardLen(s[t.s:], slash, mode)
	}
	t.s += n
	return n > 0
}

// stars reads the stars at an offset of a pattern. deep: they match slashes. names: they match
// complete names with their slashes, and the slash after them was read too.
func stars(pattern string, at int, mode Mode) (next int, deep, names bool) {
	next = at + len(pattern[at:]) - len(strings.TrimLeft(pattern[at:], "*"))
	if mode != Paths {
		return next, next-at > 1 || mode < Element, false
	}
	ends := next == len(pattern) || pattern[next] == '/'
	if deep = next-at > 1 && ends && (at == 0 || pattern[at-1] == '/'); !deep || next == len(pattern) {
		return next, deep, false
	}
	return next + 1, true, true
}

// matchOne matches the first element of pattern, which is not a star, with the first character
// of s. It returns the length of both; 0, 0 for no match.
func matchOne(pattern, s string, mode Mode) (m, n int) {
	if pattern == "" || s == "" {
		return 0, 0
	}
	escape := 0
	switch {
	case pattern[0] == '?':
		return 1, wildcardLen(s, mode < Element, mode)
	case mode == Paths && pattern[0] == '[':
		c, n := utf8.DecodeRuneInString(s)
		if m, has := class(pattern, c); m > 0 && has {
			return m, n
		}
		return 0, 0
	case mode == Paths && pattern[0] == '\\':
		escape = 1
	}
	_, m = utf8.DecodeRuneInString(pattern[escape:])
	if m > 0 && strings.HasPrefix(s, pattern[escape:escape+m]) {
		return escape + m, m
	}
	if mode == Fold {
		if _, n := utf8.DecodeRuneInString(s); strings.EqualFold(pattern[:m], s[:n]) {
			return m, n
		}
	}
	return 0, 0
}

// wildcardLen returns the length of the first character of s if a wildcard matches it, else 0;
// slash reports whether the wildcard matches a slash.
func wildcardLen(s string, slash bool, mode Mode) int {
	r, n := utf8.DecodeRuneInString(s)
	if r == '/' && !slash || mode == Element && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029) {
		return 0
	}
	return n
}
