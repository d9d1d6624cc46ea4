package protected

import (
	"strings"
	"testing"
)

// TestTables holds that no rule is there twice, and that each has a reason and is found.
func TestTables(t *testing.T) {
	checkTable(t, &obeyed, ReadOnly)
	checkTable(t, &secrets, func(dir, path string) string { return Secret("/h", dir, path) })
}

func checkTable(t *testing.T, table *table, reason func(dir, path string) string) {
	table.once.Do(table.fill)
	seen := map[string]bool{}
	for _, r := range table.rules {
		if seen[r.text] || r.why == "" {
			t.Errorf("%q is there twice, or has no reason", r.text)
		}
		seen[r.text] = true
		dir := "/h"
		if r.scope == inSystem {
			dir = "/"
		}
		if path := exampleOf(r.text); reason(dir, path) == "" || reason(dir, strings.ToUpper(path)) == "" {
			t.Errorf("%q is not protected", path)
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, name := range []string{"main.go", ".GIT/config", ".g\u0131t", ".g\u200dit", "\ufeff.git", ".git. ", "host:443.pem:x", ".ENV.local", "server.\u212aey", ".\u017f\u017fh"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		once := Fold(name)
		if again := Fold(once); again != once {
			t.Errorf("%q folds to %q, that to %q", name, once, again)
		}
		if upper := Fold(strings.ToUpper(name)); isASCII(name) && upper != once {
			t.Errorf("%q folds to %q, in upper case to %q", name, once, upper)
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 0x7F }) < 0
}
