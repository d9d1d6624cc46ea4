package approve

import (
	"slices"
	"strings"

	globs "toolpipe/stream/text/glob"
)

// MatchGlob reports whether pattern matches the whole of name. In pattern * is
// any run of characters and ? is any character.
func MatchGlob(pattern, name string) bool { return globs.Match(pattern, name, globs.Any, nil) }

// MatchGlobPrefix reports whether pattern, as with MatchGlob, matches a text that
// begins with prefix.
func MatchGlobPrefix(pattern, prefix string) bool { return glob(pattern).matchesPrefix(prefix, false) }

type glob string

// matches reports whether the pattern matches the whole of name; with fold the
// case of letters does not matter.
func (g glob) matches(name string, fold bool) bool {
	mode := globs.Any
	if fold {
		mode = globs.Fold
	}
	return globs.Match(string(g), name, mode, nil)
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
