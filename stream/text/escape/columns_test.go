package escape

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in      string
		columns int
		want    string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"漢字", 4, "漢字"}, {"漢字", 3, "漢…"}, {"漢字", 2, "…"},
		{"e\u0301e\u0301", 2, "e\u0301e\u0301"}, {"e\u0301e\u0301x", 2, "e\u0301…"}, {"a─│", 3, "a─│"}, {"⚠\ufe0f", 3, "⚠\ufe0f"},
	} {
		if got := Cut(c.in, c.columns); got != c.want {
			t.Errorf("%q in %d: %q", c.in, c.columns, got)
		}
	}
}

// FuzzCut: what is cut fits, is a beginning of what it was, and is cut
// only when it has to be.
func FuzzCut(f *testing.F) {
	f.Add("abc漢字e\u0301🙂", 5)
	f.Fuzz(func(t *testing.T, s string, columns int) {
		if !utf8.ValidString(s) || columns < 1 || columns > 1000 {
			return
		}
		got := Cut(s, columns)
		rest, cut := strings.CutSuffix(got, "…")
		switch {
		case Columns(got) > columns:
			t.Errorf("%q takes more than %d columns", got, columns)
		case got != s && (!cut || !strings.HasPrefix(s, rest)):
			t.Errorf("%q became %q", s, got)
		case got != s && Columns(s) <= columns:
			t.Errorf("%q fits in %d columns and became %q", s, columns, got)
		}
	})
}
