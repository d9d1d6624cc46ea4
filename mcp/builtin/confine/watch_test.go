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

// Whether a watch searches deeper for secrets.
func always() bool { return true }
func never() bool  { return false }

func full(w *Watch) bool {
	return strings.Contains(strings.Join(w.Gaps(), ""), "more directories and files")
}

func TestProtected(t *testing.T) {
	root := tree(t, ".git/HEAD", ".git/config", ".git/hooks/pre-commit.sample", ".git/modules/sub/HEAD", ".git/modules/sub/config", ".git/worktrees/w/HEAD", ".git/worktrees/w/commondir",
		"AGENTS.md", "sub/.github/workflows/a.yml", "sub/.git", "other/.git/config", "src/main.go", "src/deep/AGENTS.md", ".env", "src/deep/.env", "src/deep/deeper/.env", ".vscode/tasks.json", ".npmrc", "sub/.envrc")
	w := NewWatch([]Scope{{[]string{root}, []string{filepath.Join(root, ".vscode")}}}, always, nil)
	if got, want := relative(root, w.Protected()), ".git/config .git/hooks .git/modules/sub/config .git/worktrees/w/commondir .npmrc AGENTS.md other/.git/config sub/.envrc sub/.git sub/.github/workflows"; got != want {
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
			w := NewWatch([]Scope{{Roots: []string{root}}}, always, nil)
			if err := x.change(func(name string) string { return filepath.Join(root, name) }); err != nil {
				t.Fatal(err)
			}
			if got := relative(root, w.Changed(false)); got != x.want {
				t.Errorf("%s: %q, want %q", x.name, got, x.want)
			}
			if again := w.Changed(false); again != nil {
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
	w := NewWatch([]Scope{{Roots: []string{root, filepath.Join(root, "none")}}}, always, nil)
	if len(w.places) > 12 || full(w) {
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
	w := NewWatch([]Scope{{Roots: []string{root}}}, always, nil)
	if !full(w) || len(w.places) > maxPlaces {
		t.Errorf("%d directories are watched; full: %v", len(w.places), full(w))
	}
	write(t, filepath.Join(root, "zz/.mcp.json"), "")
	if got := relative(root, w.Changed(false)); got != "zz/.mcp.json" {
		t.Errorf("changed: %q", got)
	}
}

// watch makes the list of one sandbox that may write below root.
func watch(root string, except ...string) *Watch {
	return NewWatch([]Scope{{[]string{root}, except}}, always, nil)
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// TestWatchLinks: a link is on the list with its target, and with what is on the way to it.
func TestWatchLinks(t *testing.T) {
	root := tree(t, ".git/hooks/x.sample", "scripts/pre-commit.sh", "docs/x.md", "docs/y.md", "ci/run.sh")
	link(t, "../../scripts/pre-commit.sh", filepath.Join(root, ".git/hooks/pre-commit"))
	link(t, "middle", filepath.Join(root, "AGENTS.md"))
	link(t, "docs/x.md", filepath.Join(root, "middle"))
	link(t, "nowhere", filepath.Join(root, "CLAUDE.md"))
	link(t, ".", filepath.Join(root, ".vscode"))
	w := watch(root)
	if got, want := relative(root, w.Protected()), ".git/hooks docs/x.md scripts/pre-commit.sh"; got != want {
		t.Errorf("protected: %s, want %s", got, want)
	}
	if gaps := strings.Join(w.Gaps(), ""); !strings.Contains(gaps, "vscode") {
		t.Errorf("gaps: %q", gaps)
	}
	write(t, filepath.Join(root, "scripts/pre-commit.sh"), "new")
	write(t, filepath.Join(root, "nowhere"), "new")
	os.Remove(filepath.Join(root, "middle"))
	link(t, "docs/y.md", filepath.Join(root, "middle"))
	if got, want := relative(root, w.Changed(false)), "AGENTS.md CLAUDE.md scripts/pre-commit.sh"; got != want {
		t.Errorf("changed: %s, want %s", got, want)
	}
}

// TestWatchLast: the last look reads a file also if its state is unchanged, as after a write
// through a mapping that was made before.
func TestWatchLast(t *testing.T) {
	root := tree(t, "AGENTS.md", ".git/config")
	w := watch(root)
	write(t, filepath.Join(root, "AGENTS.md"), "new")
	for path, n := range w.files {
		n.info, n.recent = noteOf(path).info, false
		w.files[path] = n
	}
	if got := w.Changed(false); got != nil {
		t.Fatalf("the state shows %q", got)
	}
	if got := relative(root, w.Changed(true)); got != "AGENTS.md" {
		t.Errorf("changed: %q", got)
	}
	if got := w.Changed(true); got != nil {
		t.Errorf("reported twice: %q", got)
	}
}

// TestWatchIsBounded: what is found does not decide how long a look takes.
func TestWatchIsBounded(t *testing.T) {
	sparse := func(path string, size int64) {
		write(t, path, "")
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
	}
	root := tree(t, "AGENTS.md", ".claude/x")
	large := filepath.Join(root, ".claude/large")
	sparse(large, 1<<40)
	began := time.Now()
	w := watch(root)
	if gaps := strings.Join(w.Gaps(), ""); !strings.HasPrefix(gaps, "1 files that other programs run cannot be read") {
		t.Errorf("gaps: %q", gaps)
	}
	if got := w.Changed(true); got != nil {
		t.Errorf("changed: %q", got)
	}
	for i := range 1000 {
		sparse(filepath.Join(root, fmt.Sprint(".claude/f", i)), 4<<20)
	}
	if got := w.Changed(false); len(got) != 1000 {
		t.Errorf("%d files are new", len(got))
	}
	write(t, filepath.Join(root, "AGENTS.md"), "new")
	sparse(large, 1<<40)
	sparse(filepath.Join(root, ".claude/x"), 1<<40)
	if got := relative(root, w.Changed(true)); got != ".claude/large .claude/x AGENTS.md" {
		t.Errorf("changed: %q", got)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	w.reading = reading{bytes: 1}
	old := w.files[filepath.Join(root, "AGENTS.md")]
	now := noteOf(filepath.Join(root, "AGENTS.md"))
	if old.unread = false; w.equal(filepath.Join(root, "AGENTS.md"), &old, &now) {
		t.Error("a file that cannot be read within the limit is unchanged")
	}
}

// TestWatchScopes: a change counts unless each sandbox that can make it allows it.
func TestWatchScopes(t *testing.T) {
	root := tree(t, ".git/config", "AGENTS.md", "sub/AGENTS.md")
	git := filepath.Join(root, ".git")
	for _, x := range []struct {
		scopes []Scope
		want   string
	}{
		{[]Scope{{[]string{root, git}, []string{git}}}, "AGENTS.md sub/AGENTS.md"},
		{[]Scope{{[]string{root, git}, []string{git}}, {Roots: []string{filepath.Join(root, "sub")}}}, "AGENTS.md sub/AGENTS.md"},
		{[]Scope{{[]string{root, git}, []string{git}}, {Roots: []string{root}}}, ".git/config AGENTS.md sub/AGENTS.md"},
	} {
		w := NewWatch(x.scopes, never, nil)
		if got := relative(root, w.Protected()); got != x.want {
			t.Errorf("%v: %s, want %s", x.scopes, got, x.want)
		}
	}
}

// TestWatchGit: what git says is on the list, and submodules and worktrees at any depth are found.
func TestWatchGit(t *testing.T) {
	root := tree(t, ".git/HEAD", ".git/objects/x", ".git/refs/x", ".git/config", "ci/hooks/pre-commit", "shared/gitconfig",
		".git/modules/a/b/HEAD", ".git/modules/a/b/config", ".git/worktrees/w/HEAD", ".git/worktrees/w/commondir",
		"deep/down/mod/AGENTS.md", "deep/down/tree/.git", "elsewhere/HEAD", "elsewhere/config", "elsewhere/hooks/pre-push", "linked/main.go", ".npmrc", ".envrc")
	in := func(name string) string { return filepath.Join(root, name) }
	write(t, in(".git/worktrees/w/gitdir"), in("deep/down/tree/.git")+"\n")
	write(t, in("linked/.git"), "gitdir: ../elsewhere\n")
	ask := func(dir, tree string) (Obeyed, error) {
		if dir != in(".git") || tree != root {
			return Obeyed{}, fmt.Errorf("asked about %s", dir)
		}
		return Obeyed{Dirs: []string{dir}, Files: []string{in("ci/hooks"), in("shared/gitconfig"), in("later"), "/etc/gitconfig"}, Trees: []string{root, in("deep/down/mod")}}, nil
	}
	w := NewWatch([]Scope{{Roots: []string{root}}}, never, ask)
	want := ".envrc .git/config .git/modules/a/b/config .git/worktrees/w/commondir .git/worktrees/w/gitdir .npmrc ci/hooks deep/down/mod/AGENTS.md deep/down/tree/.git elsewhere/config elsewhere/hooks linked/.git shared/gitconfig"
	if got := relative(root, w.Protected()); got != want {
		t.Errorf("protected:\n%s, want\n%s", got, want)
	}
	write(t, in("later"), "new")
	write(t, in("deep/down/mod/.mcp.json"), "new")
	if got, want := relative(root, w.Changed(true)), "deep/down/mod/.mcp.json later"; got != want {
		t.Errorf("changed: %s, want %s", got, want)
	}
	write(t, in("ci/hooks/post-merge"), "new")
	if got := relative(root, w.Changed(false)); got != "ci/hooks/post-merge" {
		t.Errorf("changed: %q", got)
	}
	other := tree(t, "a.hooks/pre-push", "sub/.git/HEAD", "sub/.git/objects/x", "sub/.git/refs/x")
	w = NewWatch([]Scope{{Roots: []string{other}}}, never, func(dir, _ string) (Obeyed, error) {
		return Obeyed{Dirs: []string{dir}, Files: []string{filepath.Join(other, "a.hooks")}}, nil
	})
	write(t, filepath.Join(other, "a.hooks/pre-push"), "new")
	if got := relative(other, w.Changed(false)); got != "a.hooks/pre-push" {
		t.Errorf("a directory that was a place before: %q", got)
	}
	w = NewWatch([]Scope{{Roots: []string{root}}}, never, func(string, string) (Obeyed, error) { return Obeyed{}, fmt.Errorf("no git") })
	if gaps := strings.Join(w.Gaps(), ""); !strings.Contains(gaps, "of what git obeys in "+fmt.Sprintf("%q", in(".git"))+", only the usual files are protected: no git") {
		t.Errorf("gaps: %q", gaps)
	}
}
