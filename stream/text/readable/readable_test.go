package readable

import (
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aé", 3, "aé"}, {"aéb", 2, "a…"}, {"😀", 3, "…"}, {"a\xff\xff\xff\xffb", 5, "a\xff\xff\xff\xff…"},
	} {
		if got := Cut(c.text, c.limit, "…"); got != c.want {
			t.Errorf("%q in %d: %q", c.text, c.limit, got)
		}
	}
}

func TestWholeRunes(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", "é": "é", "é\xc3": "é", "a😀\xf0\x9f\x98": "a😀", "\x98": "\x98", "a\xff": "a\xff", "\xf0": "",
	} {
		if got := string(WholeRunes([]byte(in))); got != want || WholeRunes(in) != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestFromRune(t *testing.T) {
	for in, want := range map[string]string{"": "", "a": "a", "\x98\x80a": "a", "\xa9é": "é", "\x98": "", "\x98\x98\x98\x98a": "\x98\x98\x98\x98a"} {
		if got := FromRune(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzEnds: the ends of a text in UTF-8 are UTF-8, and lack less than a character.
func FuzzEnds(f *testing.F) {
	f.Add("aé漢😀b", 2, 3)
	f.Fuzz(func(t *testing.T, text string, first, last int) {
		if first < 0 || last < 0 || first > len(text) || last > len(text)-first || !utf8.ValidString(text) {
			return
		}
		head, tail := Ends(text, first, last)
		lacks := max(first-len(head), last-len(tail))
		if !utf8.ValidString(head) || !utf8.ValidString(tail) || lacks >= utf8.UTFMax || text[:len(head)] != head || text[len(text)-len(tail):] != tail {
			t.Errorf("%q: %q and %q", text, head, tail)
		}
	})
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := Grouped(n); got != want || Grouped(int64(n)) != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
