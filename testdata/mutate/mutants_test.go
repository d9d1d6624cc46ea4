package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sample = `package p

func (g *gate) judge(n int, err error) (ok bool, out []byte, failed error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n > 0 && err == nil {
		g.count++
		return true, nil, nil
	}
	for i := 0; i < n; i++ {
		if func() bool { return i < g.count }() {
			continue
		}
	}
	switch {
	case n == 7:
		n, _ = g.next(), 1
	}
	return g.find(n)
}
`

// TestMutants checks which changes are made, and that the source with all of them
// is valid Go and keeps the number of lines.
func TestMutants(t *testing.T) {
	mutants, err := makeMutants("p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace("p.go:6: gate.judge: `n > 0 && err == nil` is true"+`
p.go:6: gate.judge: "n > 0 && err == nil" is false
p.go:6: gate.judge: "n > 0" is true
p.go:6: gate.judge: "err == nil" is true
p.go:6: gate.judge: "n > 0" with >=
p.go:7: gate.judge: without "g.count++"
p.go:8: gate.judge: "true" is false
p.go:10: gate.judge: "i < n" is false
p.go:10: gate.judge: "i < n" with <=
p.go:11: gate.judge: "func() bool { return i < g.count }()" is true
p.go:11: gate.judge: "func() bool { return i < g.count }()" is false
p.go:11: gate.judge: "i < g.count" is true
p.go:11: gate.judge: "i < g.count" is false
p.go:11: gate.judge: "i < g.count" with <=
p.go:12: gate.judge: without "continue"
p.go:16: gate.judge: "n == 7" is true
p.go:16: gate.judge: "n == 7" is false
p.go:17: gate.judge: without "n, _ = g.next(), 1"
p.go:19: gate.judge: zero values for "g.find(n)"`), "\n")
	var got []string
	for i := range mutants {
		got = append(got, mutants[i].String())
		mutants[i].number = i + 1
	}
	changed := instrument([]byte(sample), mutants)
	if _, err := parser.ParseFile(token.NewFileSet(), "p.go", changed, 0); err != nil {
		t.Errorf("%v:\n%s", err, changed)
	}
	if strings.Count(string(changed), "\n") != strings.Count(sample, "\n") {
		t.Errorf("other lines:\n%s", changed)
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], `"`, "`")
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSurvivors checks that a known survivor is recognised, and reported when it
// does not survive any more.
func TestSurvivors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "survivors.txt")
	if err := os.WriteFile(file, []byte("# x\np.go\tf\twithout `a()`\tit only saves time\np.go\tf\twithout `b()`\tit is equal\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	known, err := readSurvivors(file)
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]bool{"without `a()`": true, "without `b()`": true, "without `c()`": false} {
		if got := known.tried(&mutant{file: "p.go", function: "f", what: what}, what == "without `a()`"); got != want {
			t.Errorf("%s: known %t", what, got)
		}
	}
	if stale := known.stale(); len(stale) != 1 || !strings.Contains(stale[0], "b()") {
		t.Errorf("stale %q", stale)
	}
	if err := os.WriteFile(file, []byte("p.go\tf\twithout `a()`\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readSurvivors(file); err == nil {
		t.Error("a line without a reason is taken")
	}
}
