package confine

import (
	"strings"
	"testing"
)

// The table is written as it is compared: names are folded, none is there
// twice, each has a reason and is protected.
func TestNameTables(t *testing.T) {
	checkTable(t, readOnlyNames.kinds, ReadOnlyPath)
	checkTable(t, secretNames.kinds, SecretPath)
}

func checkTable(t *testing.T, kinds []nameKind, reason func(parent, path string) string) {
	seen := map[string]bool{}
	for _, kind := range kinds {
		if kind.why == "" || len(strings.Fields(kind.names)) == 0 {
			t.Errorf("%q has no reason, or no names", kind.names)
		}
		for _, rule := range strings.Fields(kind.names) {
			path := strings.ReplaceAll(rule, "*", "x")
			if seen[rule] || foldName(path) != path {
				t.Errorf("%q is there twice, or not folded", rule)
			}
			if seen[rule] = true; reason("", "a/"+strings.ToUpper(path)) != kind.why {
				t.Errorf("%q: %s", path, reason("", "a/"+strings.ToUpper(path)))
			}
		}
	}
}

func FuzzFoldName(f *testing.F) {
	for _, name := range []string{"main.go", ".GIT/config", ".g\u0131t", ".g\u200dit", "\ufeff.git", ".git. ", "host:443.pem:x", ".ENV.local", "server.\u212aey", ".\u017f\u017fh"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		once := foldName(name)
		if again := foldName(once); again != once {
			t.Errorf("%q folds to %q, that to %q", name, once, again)
		}
		if upper := foldName(strings.ToUpper(name)); isASCII(name) && upper != once {
			t.Errorf("%q folds to %q, in upper case to %q", name, once, upper)
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 0x7F }) < 0
}
