package readable

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	long := strings.Repeat("a", 201)
	for _, c := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"mian.go", []string{"other", "main.go", "man"}, "main.go"},
		{"PATH", []string{"path"}, "path"},
		{"hepl", []string{"shell", "heap", "help"}, "help"},
		{"lgo", []string{"long", "log"}, "log"},
		{"pth", []string{"pattern", "path"}, "path"},
		{"x", []string{"y", "xyz"}, ""},
		{"content", []string{"start_line", "end_line"}, ""},
		{"", []string{"a"}, ""},
		{long, []string{long}, ""},
		{"a", []string{long}, ""},
		{"name", nil, ""},
	} {
		if got := Nearest(c.name, c.candidates); got != c.want {
			t.Errorf("%.20q: %.20q, want %q", c.name, got, c.want)
		}
	}
}
