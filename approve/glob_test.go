package approve

import (
	"strings"
	"testing"
	"unicode/utf8"

	globs "toolpipe/stream/text/glob"
)

// If a pattern matches a text, then it may match a text with each beginning of it.
func FuzzPrefix(f *testing.F) {
	for _, x := range [][2]string{{"a*b?c", "axxbyc"}, {"*/*b", "x/y/zb"}, {"fs__*", "fs__read"}, {"", ""}, {"?*?", "世界"}} {
		f.Add(x[0], x[1])
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(s) || !MatchGlob(pattern, s) {
			return // a pattern and a text come from checked JSON, or are ASCII
		}
		for i := range s {
			if !strings.Contains(pattern[:min(i, len(pattern))], "?") && !MatchGlobPrefix(pattern, s[:i]) {
				t.Errorf("%q matches %q, and nothing that begins with %q", pattern, s, s[:i])
			}
		}
	})
}

func TestMatchGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true}, {"fs__*", "fs__read", true}, {"fs__*", "fs2__read", false}, {"*read*", "fs__read_file", true},
		{"f?__x", "fs__x", true}, {"f?__x", "f__x", false}, {"", "", true}, {"a", "ab", false}, {"*a*b", "xaxxb", true}, {"*a*b", "xaxxbc", false}, {"a?", "a世", true}, {"a/*", "a/b/c", true},
	} {
		if got := MatchGlob(c.pattern, c.name); got != c.want {
			t.Errorf("%q, %q: %v", c.pattern, c.name, got)
		}
	}
}

// A match ends, without a result, when its budget is exhausted.
func TestGlobBudget(t *testing.T) {
	pattern, s := "*"+strings.Repeat("a", 100)+"b", strings.Repeat("a", 10_000)+"b"
	for steps, want := range map[int]bool{100_000: false, maxSteps: true} {
		b := newBudget(t.Context())
		b.left = steps
		if got := globs.Match(pattern, s, globs.Any, b.spend); got != want || b.exhausted() == want {
			t.Errorf("with %d steps: %t, exhausted: %t", steps, got, b.exhausted())
		}
	}
}
