package approve

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// slowGlob does what matchGlob does, with a regular expression.
func slowGlob(pattern, s string, narrow bool) bool {
	any, deep := `(?s:.)`, `(?s:.)`
	if narrow {
		any, deep = `[^/\x{0}-\x{1f}\x{7f}-\x{9f}\x{2028}\x{2029}]`, `[^\x{0}-\x{1f}\x{7f}-\x{9f}\x{2028}\x{2029}]`
	}
	var re strings.Builder
	for i := 0; i < len(pattern); {
		switch {
		case strings.HasPrefix(pattern[i:], "**"):
			re.WriteString(deep + "*")
			i += len(pattern[i:]) - len(strings.TrimLeft(pattern[i:], "*"))
		case pattern[i] == '*':
			re.WriteString(any + "*")
			i++
		case pattern[i] == '?':
			re.WriteString(any)
			i++
		default:
			_, n := utf8.DecodeRuneInString(pattern[i:])
			re.WriteString(regexp.QuoteMeta(pattern[i : i+n]))
			i += n
		}
	}
	return regexp.MustCompile(`\A` + re.String() + `\z`).MatchString(s)
}

func FuzzGlob(f *testing.F) {
	for _, x := range [][2]string{{"a*b?c", "axxbyc"}, {"docs/**/*.md", "docs/a/b/c.md"}, {"*/*b", "x/y/zb"}, {"**a*b", "a/xab"}, {"*a/*", "aa/a/"}, {"?*?", "世界"}, {"", ""}, {"**", "\n"}, {"*a**a/*b", "a/aa/a/b"}, {"K*s?", "kelvinKſ"}, {"kS", "Kſ"}, {"ab*", "ABC"}} {
		f.Add(x[0], x[1])
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(s) {
			return // a pattern and a text come from checked JSON, or are ASCII
		}
		for _, narrow := range []bool{false, true} {
			if got, want := matchGlob(pattern, s, map[bool]globMode{true: globElement}[narrow], nil), slowGlob(pattern, s, narrow); got != want {
				t.Errorf("%q on %q, narrow %v: %v", pattern, s, narrow, got)
			}
		}
		if got, want := matchGlob(pattern, s, globFold, nil), matchGlob(foldString(pattern), foldString(s), globAny, nil); got != want {
			t.Errorf("%q on %q in any case: %v", pattern, s, got)
		}
		g := glob(pattern)
		if got, want := g.matches(s, false), slowGlob(pattern, s, false); got != want {
			t.Errorf("%q on the name %q: %v", pattern, s, got)
		}
		if matchGlob(pattern, s, globAny, nil) {
			for i := range s {
				if !strings.Contains(pattern[:min(i, len(pattern))], "?") && !g.matchesPrefix(s[:i], false) {
					t.Errorf("%q matches %q, and nothing that begins with %q", pattern, s, s[:i])
				}
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

func TestGlobIsNotSlow(t *testing.T) {
	t.Parallel()
	pattern, s := strings.Repeat("*a", 500)+"b", strings.Repeat("a", 20_000)
	if matchGlob(pattern, s, globAny, nil) || matchGlob(strings.ReplaceAll(pattern, "*", "**"), s, globElement, nil) || matchGlob(pattern, s, globElement, nil) {
		t.Error("it matches")
	}
}

// A match ends, without a result, when its budget is exhausted.
func TestGlobBudget(t *testing.T) {
	pattern, s := "*"+strings.Repeat("a", 100)+"b", strings.Repeat("a", 10_000)+"b"
	for steps, want := range map[int]bool{100_000: false, maxSteps: true} {
		b := newBudget(t.Context())
		b.left = steps
		if got := matchGlob(pattern, s, globAny, &b); got != want || b.exhausted() == want {
			t.Errorf("with %d steps: %t, exhausted: %t", steps, got, b.exhausted())
		}
	}
}
