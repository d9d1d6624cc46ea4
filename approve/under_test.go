package approve

import (
	"context"
	"fmt"
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

// A path that a program may read in another way, or that cannot be followed, is
// neither allowed nor passed by a rule that denies, also when it is asked about again.
func TestUnderUndecidable(t *testing.T) {
	root := tree(t)
	long := strings.Repeat("./", maxPath/2-3) + "docs/x"
	for _, path := range []string{"", long + "y", "docs/\x00a", "~/x", "~", "docs/x://y", "file:", "FILE:x", `docs\a`, "/proc/self/cwd", "/proc"} {
		for _, lexical := range []bool{true, false} {
			e := evaluation{lexical: lexical}
			e.begin(context.Background(), &Call{Root: root})
			for range 2 {
				if e.under("/", path, false) || !e.under("/none", path, true) {
					t.Errorf("%.20q of %d bytes, lexical %t: it is decided", path, len(path), lexical)
				}
			}
		}
	}
	tooLong := "docs/" + strings.Repeat("x", 300)
	if under(root, ".", tooLong, false, false) || !under(root, "none", tooLong, true, false) {
		t.Error("a name that no file system has")
	}
	for _, path := range []string{long, "docs/file", "docs/files", "docs/a.txt/x", "docs/" + strings.Repeat("a/", 50) + "x", "./docs//./x"} {
		if !under(root, "docs", path, false, false) || !under(root, "docs", path, true, false) || under(root, "none", path, true, false) {
			t.Errorf("%.20q of %d bytes", path, len(path))
		}
	}
	if docs := filepath.Join(root, "docs"); !under("", docs, docs+"/a.txt", false, false) || !under("", "/docs", "/docs/a", false, true) || !under(root, "docs", "DOCS", true, true) {
		t.Error("an absolute path without a root, or a name in other case")
	}
}

// Links are followed as far as the system does, and not at all for an example.
func TestUnderLinks(t *testing.T) {
	root, err := filepath.EvalSymlinks(tree(t))
	if err != nil {
		t.Fatal(err)
	}
	link := func(name, target string) {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Skip(err)
		}
	}
	link("l0", "docs")
	for i := range maxLinks {
		link(fmt.Sprintf("l%d", i+1), fmt.Sprintf("l%d", i))
	}
	link("far", "docs/sub")
	for _, x := range []struct {
		path         string
		narrow, wide bool
	}{
		{fmt.Sprintf("l%d/a.txt", maxLinks-1), true, true},
		{fmt.Sprintf("l%d/a.txt", maxLinks), false, true},
		{"far/../a.txt", false, true},  // the file is docs/a.txt, the text is a.txt
		{"docs/out/../x", false, true}, // the file is x, the text is docs/x
		{"far/../../x", false, false},
	} {
		if narrow, wide := under(root, "docs", x.path, false, false), under(root, "docs", x.path, true, false); narrow != x.narrow || wide != x.wide {
			t.Errorf("%s: narrow %t, wide %t", x.path, narrow, wide)
		}
	}
	if docs := filepath.Join(root, "docs"); !under("", docs, docs+"/out/key", false, true) || under("", docs, root+"/inside/x", true, true) || under("", docs, root+"/inside", true, true) {
		t.Error("an example depends on the file system")
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
