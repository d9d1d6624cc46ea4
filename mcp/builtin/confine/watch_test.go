package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tree makes files, whose directories it makes too, and returns their root.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		write(t, filepath.Join(root, name), "old")
	}
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// relative are paths from root.
func relative(root string, paths []string) string {
	var all []string
	for _, path := range paths {
		all = append(all, strings.TrimPrefix(path, root+"/"))
	}
	return strings.Join(all, " ")
}

func TestProtected(t *testing.T) {
	root := tree(t, ".git/HEAD", ".git/config", ".git/hooks/pre-commit.sample", ".git/modules/sub/HEAD", ".git/modules/sub/config", ".git/worktrees/w/HEAD", ".git/worktrees/w/commondir",
		"AGENTS.md", "sub/.github/workflows/a.yml", "sub/.git", "other/.git/config", "src/main.go", "src/deep/AGENTS.md", ".env", "src/deep/.env", "src/deep/deeper/.env", "my/hooks/pre-push", ".vscode/tasks.json", ".npmrc", "sub/.envrc")
	write(t, filepath.Join(root, ".git/config"), "[core]\n\thooksPath = my/hooks\n")
	w := NewWatch([]string{root}, []string{filepath.Join(root, ".vscode")}, true)
	if got, want := relative(root, w.Protected()), ".git/config .git/hooks .git/modules/sub/config .git/worktrees/w/commondir .npmrc AGENTS.md my/hooks other/.git/config sub/.envrc sub/.git sub/.github/workflows"; got != want {
		t.Errorf("protected:\n%s, want\n%s", got, want)
	}
	if got, want := relative(root, w.Secret()), ".env .npmrc src/deep/.env sub/.envrc"; got != want {
		t.Errorf("secret: %s, want %s", got, want)
	}
}

// TestChanged: every change of what is protected is seen, once, and no other.
func TestChanged(t *testing.T) {
	names := []string{".git/HEAD", ".git/config", ".git/index", ".git/hooks/pre-commit", ".github/workflows/a.yml", "AGENTS.md", "src/main.go", "node_modules/pkg/x"}
	for _, x := range []struct {
		name   string
		change func(in func(string) string) error
		want   string
	}{
		{"content", func(in func(string) string) error { return os.WriteFile(in("AGENTS.md"), []byte("new"), 0o666) }, "AGENTS.md"},
		{"content and times", func(in func(string) string) error {
			info, err := os.Stat(in(".git/config"))
			if err == nil {
				err = os.WriteFile(in(".git/config"), []byte("new"), 0o666)
			}
			if err == nil {
				err = os.Chtimes(in(".git/config"), info.ModTime(), info.ModTime())
			}
			return err
		}, ".git/config"},
		{"another file in its place", func(in func(string) string) error {
			err := os.WriteFile(in("x"), []byte("new"), 0o666)
			if err == nil {
				err = os.Rename(in("x"), in("AGENTS.md"))
			}
			return err
		}, "AGENTS.md"},
		{"mode", func(in func(string) string) error { return os.Chmod(in(".git/hooks/pre-commit"), 0o755) }, ".git/hooks/pre-commit"},
		{"link", func(in func(string) string) error {
			err := os.Remove(in("AGENTS.md"))
			if err == nil {
				err = os.Symlink("src/main.go", in("AGENTS.md"))
			}
			return err
		}, "AGENTS.md"},
		{"gone", func(in func(string) string) error { return os.Remove(in(".git/hooks/pre-commit")) }, ".git/hooks/pre-commit"},
		{"new", func(in func(string) string) error { return os.WriteFile(in("src/.mcp.json"), nil, 0o666) }, "src/.mcp.json"},
		{"new hook", func(in func(string) string) error { return os.WriteFile(in(".git/hooks/post-merge"), nil, 0o777) }, ".git/hooks/post-merge"},
		{"new name that git obeys", func(in func(string) string) error { return os.WriteFile(in(".git/commondir"), nil, 0o666) }, ".git/commondir"},
		{"renamed", func(in func(string) string) error {
			err := os.Rename(in(".git"), in("y"))
			if err == nil {
				err = os.MkdirAll(in(".git/hooks"), 0o777)
			}
			if err == nil {
				err = os.WriteFile(in(".git/hooks/pre-commit"), []byte("new"), 0o666)
			}
			return err
		}, ".git/config .git/hooks/pre-commit"},
		{"repository", func(in func(string) string) error {
			err := os.MkdirAll(in("src/.git/hooks"), 0o777)
			if err == nil {
				err = os.WriteFile(in("src/.git/hooks/pre-commit"), nil, 0o666)
			}
			return err
		}, "src/.git"},
		{"first of its directory", func(in func(string) string) error {
			err := os.RemoveAll(in("src/.github"))
			if err == nil {
				err = os.MkdirAll(in("src/.github/workflows"), 0o777)
			}
			if err == nil {
				err = os.WriteFile(in("src/.github/workflows/a.yml"), nil, 0o666)
			}
			return err
		}, "src/.github/workflows"},
		{"a program of its own", func(in func(string) string) error { // as scaffolding makes it
			err := os.MkdirAll(in("new/.git/hooks"), 0o777)
			if err == nil {
				err = os.WriteFile(in("new/AGENTS.md"), nil, 0o666)
			}
			return err
		}, ""},
		{"index", func(in func(string) string) error { return os.WriteFile(in(".git/index"), []byte("new"), 0o666) }, ""},
		{"same content", func(in func(string) string) error { return os.WriteFile(in("AGENTS.md"), []byte("old"), 0o666) }, ""},
		{"other file", func(in func(string) string) error { return os.WriteFile(in("src/new.go"), nil, 0o666) }, ""},
		{"in a package", func(in func(string) string) error {
			return os.WriteFile(in("node_modules/pkg/.travis.yml"), nil, 0o666)
		}, ""},
	} {
		for _, pause := range []time.Duration{0, 60 * time.Millisecond} { // the second is beyond what counts as recent
			root := tree(t, names...)
			time.Sleep(pause)
			w := NewWatch([]string{root}, nil, true)
			if err := x.change(func(name string) string { return filepath.Join(root, name) }); err != nil {
				t.Fatal(err)
			}
			if got := relative(root, w.Changed()); got != x.want {
				t.Errorf("%s: %q, want %q", x.name, got, x.want)
			}
			if again := w.Changed(); again != nil {
				t.Errorf("%s: told twice: %q", x.name, again)
			}
		}
	}
}

// TestHostile: a repository can neither hold a look up nor use up the places of others.
func TestHostile(t *testing.T) {
	root := tree(t, ".github/workflows/a.yml", ".git/HEAD", ".git/config", ".git/modules/m/HEAD")
	for link, target := range map[string]string{".github/up": "..", ".git/modules/loop": "..", ".git/modules/m/modules": "../..", ".git/worktrees": "."} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	w := NewWatch([]string{root, filepath.Join(root, "none")}, nil, true)
	if len(w.places) > 12 || w.Full() {
		t.Errorf("%d directories are watched", len(w.places))
	}
	if got, want := relative(root, w.Protected()), ".git/config .github/workflows"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestBounds: of a great many directories those that are nearest to the root are looked at, and
// that there are more is known.
func TestBounds(t *testing.T) {
	root := tree(t, "zz/.github/workflows/a.yml", "zzz.txt")
	for i := range 70 {
		for k := range 70 {
			if err := os.MkdirAll(filepath.Join(root, fmt.Sprintf("d%d/e%d", i, k)), 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	w := NewWatch([]string{root}, nil, true)
	if !w.Full() || len(w.places) > maxPlaces {
		t.Errorf("%d directories are watched; full: %v", len(w.places), w.Full())
	}
	write(t, filepath.Join(root, "zz/.mcp.json"), "")
	if got := relative(root, w.Changed()); got != "zz/.mcp.json" {
		t.Errorf("changed: %q", got)
	}
}
