package face

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestElapsed(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 s", 59999 * time.Millisecond: "59 s", time.Minute: "1 min 00 s", 3*time.Hour + 5*time.Second: "180 min 05 s"} {
		if got := elapsed(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 ms", 999 * time.Millisecond: "999 ms", 1999 * time.Millisecond: "1.9 s", 61 * time.Second: "1 min 01 s"} {
		if got := duration(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
}

// FuzzLiteralPrefix: the beginning of a literal is a beginning of its text, to
// its end if there is room, and hardly shorter than allowed.
func FuzzLiteralPrefix(f *testing.F) {
	f.Add(`a\n\u00e9\ud83d\ude42b漢\\`, 7)
	f.Add(`\ud83d\ude42\ud83d\ude42`, 13)
	f.Fuzz(func(t *testing.T, inner string, most int) {
		in := []byte(`"` + inner + `"`)
		var whole string
		if !utf8.ValidString(inner) || most < 1 || json.Unmarshal(in, &whole) != nil {
			return
		}
		for i := range whole {
			if whole[i:] != "" && strings.HasPrefix(whole[i:], string(utf8.RuneError)) {
				return // a lone surrogate, refused where results are read
			}
		}
		got, cut := literalPrefix(in, most)
		switch {
		case !strings.HasPrefix(whole, string(got)):
			t.Errorf("%q: %q is no beginning of %q", in, got, whole)
		case cut == (len(got) == len(whole)):
			t.Errorf("%q in %d: %q, cut: %v", in, most, got, cut)
		case cut && len(in)-2 < most:
			t.Errorf("%q was cut, though %d bytes are allowed", in, most)
		}
	})
}
