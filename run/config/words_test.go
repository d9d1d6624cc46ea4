package config

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"  a  b\tc\n", []string{"a", "b", "c"}},
		{`a 'b c' "d e"`, []string{"a", "b c", "d e"}},
		{`a'b'"c"d`, []string{"abcd"}},
		{`'' ""`, []string{"", ""}},
		{`a\ b \'`, []string{"a b", "'"}},
		{`"a\"b\\c\$d\e"`, []string{`a"b\c$d\e`}},
		{`'a\b'`, []string{`a\b`}},
		{"a\\\nb", []string{"ab"}},
		{`$HOME *.go ; | &`, []string{"$HOME", "*.go", ";", "|", "&"}},
	} {
		got, err := SplitWords(c.in)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v, want %q", c.in, got, err, c.want)
		}
	}
	for _, bad := range []string{`'a`, `"a`, `a\`, `"a\`} {
		if words, err := SplitWords(bad); err == nil {
			t.Errorf("%q gave %q", bad, words)
		}
	}
}

// FuzzSplitWords: what is quoted splits into what it was, and a real shell
// agrees.
func FuzzSplitWords(f *testing.F) {
	f.Add("a b", "")
	f.Add("it's", `\"$`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.ContainsRune(a+b, 0) {
			return
		}
		line := QuoteWords([]string{a, b})
		got, err := SplitWords(line)
		if err != nil || !slices.Equal(got, []string{a, b}) {
			t.Fatalf("%q: %q, %v", line, got, err)
		}
	})
}

// TestShellAgrees: words without expansions split as /bin/sh splits them.
func TestShellAgrees(t *testing.T) {
	for _, line := range []string{`a 'b c' "d\"e" f\ g`, `'it'\''s' "" x'y'z`, `"a\\b" 'c\d'`} {
		out, err := exec.Command("/bin/sh", "-c", `printf '%s\n' `+line).Output()
		if err != nil {
			t.Skipf("no shell: %v", err)
		}
		got, _ := SplitWords(line)
		if want := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, the shell says %q", line, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"model", "color", "tools", "log", "list-tools"}
	for in, want := range map[string]string{"colr": "color", "colour": "color", "modle": "model", "list-tool": "list-tools", "tool": "tools", "x": "", "xy": "", "": "", "temperature": "", "lgo": "log"} {
		if got := Nearest(in, words); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
