package watch

import (
	"os"
	"path/filepath"
	"slices"
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
		"AGENTS.md", "sub/.github/workflows/a.yml", "sub/.git", "other/.git/config", "src/main.go", "src/deep/AGENTS.md", ".env", "src/deep/.env", "src/deep/deeper/.env", "my/hooks/pre-push", ".vscode/tasks.json")
	write(t, filepath.Join(root, ".git/config"), "[core]\n\thooksPath = my/hooks\n")
	w := New([]string{root}, []string{filepath.Join(root, ".vscode")})
	if got, want := relative(root, w.Protected()), ".git/config .git/hooks .git/modules/sub/config .git/worktrees/w/commondir AGENTS.md my/hooks other/.git/config sub/.git"; got != want {
		t.Errorf("protected:\n%s, want\n%s", got, want)
	}
	if got, want := relative(root, w.Secret()), ".env src/deep/.env"; got != want {
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
			w := New([]string{root}, nil)
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

// TestBounds: neither a link that leads up nor a great many directories take much.
func TestBounds(t *testing.T) {
	root := tree(t, ".github/workflows/a.yml")
	if err := os.Symlink("..", filepath.Join(root, ".github/up")); err != nil {
		t.Fatal(err)
	}
	for i := range maxPlaces + 50 {
		if err := os.Mkdir(filepath.Join(root, "d"+strings.Repeat("x", i%200)+string(rune('a'+i/200))), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	w := New([]string{root, filepath.Join(root, "none")}, nil)
	if len(w.places) > maxPlaces+1 {
		t.Errorf("%d directories are watched", len(w.places))
	}
	if !slices.Equal(w.Protected(), []string{filepath.Join(root, ".github/workflows")}) {
		t.Errorf("%q", w.Protected())
	}
}
