package approve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func under(root, dir, path string, wide, lexical bool) bool {
	e := evaluation{lexical: lexical}
	e.begin(context.Background(), &Call{Root: root})
	return e.under(dir, path, wide)
}

// FuzzUnder compares with where the system finds paths that exist: an allowed
// path is inside, and a path that is not denied is outside.
func FuzzUnder(f *testing.F) {
	for _, p := range []string{"docs/a.txt", "docs/out/key", "docs/in/../../secret", "inside/./sub/..", "docs/loop", "docs/abs/../docs", "/", "docs//a.txt/", "../x", "docs/in/../../docs/out/../docs/a.txt"} {
		f.Add(p)
	}
	root := tree(f)
	docs, err := filepath.EvalSymlinks(filepath.Join(root, "docs"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		allowed, denied := under(root, "docs", path, false, false), under(root, "docs", path, true, false)
		if allowed && !denied {
			t.Errorf("%q may be allowed and not denied", path)
		}
		if strings.ContainsRune(path, 0) || filepath.IsAbs(path) {
			return
		}
		// The system follows links before "..", unlike filepath.Join.
		f, err := os.Open(root + "/" + path)
		if err != nil {
			return // the path does not exist
		}
		f.Close()
		real, err := filepath.EvalSymlinks(root + "/" + path)
		if err != nil {
			return
		}
		inside := real == docs || strings.HasPrefix(real, docs+"/")
		if allowed && !inside {
			t.Errorf("%q is allowed and leads to %s", path, real)
		}
		if !denied && inside {
			t.Errorf("%q is not denied and leads to %s", path, real)
		}
	})
}

func TestUnderIdentity(t *testing.T) {
	root := tree(t)
	// A root that is itself a link, and an absolute spelling of a directory in it.
	link := filepath.Join(t.TempDir(), "root")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		root, dir, path string
		want            bool
	}{
		{link, "docs", filepath.Join(root, "docs/a.txt"), true},
		{root, filepath.Join(link, "docs"), "docs/a.txt", true},
		{link, ".", "docs2/a.txt", true},
		{link, ".", "../x", false},
		{root, "/", "docs", true},
		{root, "none/yet", "none/yet/file", true},
		{root, "none/yet", "none/yettoo", false},
		{root, "docs/a.txt", "docs/a.txt", true},
		{root, "docs", "docs/a.txt/../../secret/key", false},
		{"", "/docs", "docs/a", false},
		{"relative", "docs", "docs/a", false},
	} {
		if got := under(x.root, x.dir, x.path, false, false); got != x.want {
			t.Errorf("%q under %q: %v", x.path, x.dir, got)
		}
	}
}

func TestUnderWhatCannotBeRead(t *testing.T) {
	root := tree(t)
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	if err := os.Chmod(filepath.Join(root, "docs/sub"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(root, "docs/sub"), 0o755)
	if under(root, "docs", "docs/sub/x", false, false) || !under(root, "docs2", "docs/sub/x", true, false) {
		t.Error("a path that cannot be resolved is decided by its text")
	}
}
