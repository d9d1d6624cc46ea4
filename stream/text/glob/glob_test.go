package glob

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
)

// differs maps a reason to the lines of the table for which a program finds other paths.
var differs = map[string][]string{
	"git and fd count bytes, not characters": {"git ??", "git [é]a", "git ?a", "git 日?", "git [日月]本",
		"fd ??", "fd [é]a", "fd ?a", "fd 日?", "fd [日月]本", "fd ?{a,b}"},
	"git matches slashes, although gitignore(5) says that such stars are regular ones": {"git src/x**/a", "git src/a**/x.go", "git foo**/bar"},
	"fd has no named classes":                      {"fd [[:alpha:]]", "fd [[:digit:]]", "fd [[:upper:]]*", "fd [![:alnum:]]*", "fd [[:punct:]]*", "fd [_[:digit:]]*"},
	"in bash named classes follow the locale":      {"bash [![:alnum:]]*"},
	"in fd a class may match a slash":              {"fd src[/]x.go"},
	"fd ignores an empty alternative":              {"fd x{,_test}.go", "fd x{_test,}.go", "fd {a,b}{b,}", "fd foo/{x/,}bar"},
	"fd and bash read a brace in a class":          {"fd [{]a,b}", "bash [{]a,b}"},
	"bash needs a comma between braces":            {"bash {a}"},
	"in bash only two stars match any names":       {"bash ***"},
	"in bash ** also matches the directory itself": {"bash src/**/"},
}

// The table has the paths of a directory, and for many patterns those of them that a program
// finds: git check-ignore, fd --glob, and bash with globstar and dotglob. All agree with this
// package, except for the lines in differs.
func TestPrograms(t *testing.T) {
	text, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if fields[0] == "paths" {
			paths = fields[1:]
			continue
		}
		program, pattern, want := fields[0], fields[1], fields[2:]
		if len(want) == 1 && want[0] == "" {
			want = nil
		}
		got := found(t, program, pattern, paths)
		other := false
		for _, lines := range differs {
			other = other || slices.Contains(lines, program+" "+pattern)
		}
		if slices.Equal(got, want) == other {
			t.Errorf("%s: %q finds %q, here %q", program, pattern, want, got)
		}
	}
}

// found returns the paths that a pattern matches in the way of a program, in order. In the table
// directories end in a slash.
func found(t *testing.T, program, pattern string, paths []string) (all []string) {
	t.Helper()
	alternatives := []string{pattern}
	if program != "git" {
		var err error
		if alternatives, err = Expand(pattern); err != nil {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	anchored := program == "bash" || strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
	for _, p := range paths {
		p, isDir := strings.CutSuffix(p, "/")
		inFound := program == "git" && slices.ContainsFunc(all, func(dir string) bool { return strings.HasPrefix(p, dir+"/") })
		matches := slices.ContainsFunc(alternatives, func(one string) bool {
			pattern := New(one)
			pattern.NameOnly = !anchored
			return pattern.Matches(p, path.Base(p), isDir)
		})
		if matches && !inFound {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return all
}

// slowMatch does what Match does, with a regular expression.
func slowMatch(pattern, s string, narrow bool) bool {
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

func FuzzMatch(f *testing.F) {
	for _, x := range [][2]string{{"a*b?c", "axxbyc"}, {"docs/**/*.md", "docs/a/b/c.md"}, {"*/*b", "x/y/zb"}, {"**a*b", "a/xab"}, {"*a/*", "aa/a/"}, {"?*?", "世界"}, {"", ""}, {"**", "\n"}, {"*a**a/*b", "a/aa/a/b"}, {"K*s?", "kelvinKſ"}, {"kS", "Kſ"}, {"ab*", "ABC"}} {
		f.Add(x[0], x[1])
	}
	fold := func(s string) string { return strings.Map(jsontext.FoldRune, s) }
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(s) {
			return // a pattern and a text come from checked JSON, or are ASCII
		}
		for mode, narrow := range map[Mode]bool{Any: false, Element: true} {
			if got, want := Match(pattern, s, mode, nil), slowMatch(pattern, s, narrow); got != want {
				t.Errorf("%q on %q, narrow %v: %v", pattern, s, narrow, got)
			}
		}
		if got, want := Match(pattern, s, Fold, nil), Match(fold(pattern), fold(s), Any, nil); got != want {
			t.Errorf("%q on %q in any case: %v", pattern, s, got)
		}
	})
}

// FuzzPaths compares the match of a path with one that tries every way.
func FuzzPaths(f *testing.F) {
	for _, x := range [][2]string{{"**/a*/b", "x/ab/b"}, {"a/**", "a/b/c"}, {"a/**/b*/**/c", "a/x/b/b/c/c"}, {"*a/**/?b*", "ba/x/ab/bbb"}, {"a**/[b-]/***", "ab/-/c"}, {"**/**/a", "a"}} {
		f.Add(x[0], x[1])
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 30 || len(s) > 30 || strings.Contains("/"+s+"/", "//") || strings.Contains("/"+pattern+"/", "//") || strings.ContainsAny(pattern, `\[`) || !utf8.ValidString(pattern+s) {
			return
		}
		if got, want := Match(pattern, s, Paths, nil), slowNames(strings.Split(pattern, "/"), strings.Split(s, "/")); got != want {
			t.Errorf("%q on %q: %t", pattern, s, got)
		}
	})
}

// slowNames tries every number of names for each **.
func slowNames(pattern, names []string) bool {
	if len(pattern) == 0 {
		return len(names) == 0
	}
	if len(pattern[0]) > 1 && strings.Trim(pattern[0], "*") == "" {
		if len(pattern) == 1 {
			return len(names) > 0
		}
		for i := range len(names) {
			if slowNames(pattern[1:], names[i:]) {
				return true
			}
		}
		return false
	}
	fits, err := path.Match(pattern[0], strings.Join(names[:min(1, len(names))], ""))
	return len(names) > 0 && err == nil && fits && slowNames(pattern[1:], names[1:])
}

func TestIsNotSlow(t *testing.T) {
	t.Parallel()
	pattern, s := strings.Repeat("*a", 500)+"b", strings.Repeat("a", 20_000)
	deep, names := strings.Repeat("**/a/", 500)+"b", strings.Repeat("a/", 20_000)
	if Match(pattern, s, Any, nil) || Match(strings.ReplaceAll(pattern, "*", "**"), s, Element, nil) || Match(pattern, s, Element, nil) || Match(pattern, s, Paths, nil) || Match(deep, names, Paths, nil) {
		t.Error("it matches")
	}
}

func TestExpand(t *testing.T) {
	for pattern, want := range map[string]string{
		"a": "a", "{a,b}c": "ac bc", "x{a,{b,c}}d": "xad xbd xcd", "{a{b,c},d}": "ab ac d", "{a}{,b}": "a ab", "a}": "a}", "a}{b,c}}": "a}b} a}c}", "{{a,b},{c,d}}": "a b c d", "{a": "{ without }", "{{a}": "{ without }",
		`\{a,b\}`: `\{a,b\}`, "[{]a,b}": "[{]a,b}", `{a\,b,c}`: `a\,b c`, "[a": `"[a" is not complete ([ needs ], a final \ a character)`, "{a,b[}": `"[}" is not complete ([ needs ], a final \ a character)`, `a\`: `"\\" is not complete ([ needs ], a final \ a character)`,
		strings.Repeat("{a,b}", 9):                         "more than 256 alternatives, or 65536 bytes in all of them",
		"{a,b}{a,b}{a,b}{a,b}" + strings.Repeat("c", 5000): "more than 256 alternatives, or 65536 bytes in all of them",
	} {
		got, err := Expand(pattern)
		if err != nil {
			got = []string{err.Error()}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", pattern, got)
		}
	}
}
