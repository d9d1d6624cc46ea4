//go:build unix

package gitdiff

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/testdata/servertest"
)

// answer is the complete answer of a call without revisions.
func answer(t *testing.T, dir, path string) string {
	t.Helper()
	opened, err := confine.Open(confine.Spec{Root: dir})
	check(t, err)
	args, err := Tool().Read([]byte(`{"path":"` + path + `"}`))
	check(t, err)
	text, err := Diff(t.Context(), opened.Access(confine.Bounds{}), Program{os.Environ(), &process.Processes{}}, toolserver.Arguments(args))
	check(t, err)
	return string(text)
}

// The commits of submodules are compared, as git compares them, and no file of them is shown.
func TestGitDiffSubmodules(t *testing.T) {
	t.Parallel()
	dir, s, git := newRepository(t, map[string]string{"a": "one\n"})
	from, _, gitFrom := newRepository(t, map[string]string{"f": "submodule\n"})
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"vendor/moved", "vendor/same", "absent", "outside"} {
		git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, name)
	}
	git("clone", "-q", from, in("inner")) // it keeps its directory .git
	git("add", "inner")
	git("commit", "-q", "-m", "submodules")
	gitFrom("commit", "-q", "--allow-empty", "-m", "next")
	for _, name := range []string{"vendor/moved", "inner"} {
		git("-C", in(name), "pull", "-q")
		servertest.Put(t, in(name+"/f"), "changed\n")
	}
	check(t, os.RemoveAll(in("absent")))
	check(t, os.Mkdir(in("absent"), 0o755))
	servertest.Put(t, in("a"), "two\n")
	want := plainDiff(t, dir, "HEAD")
	if got := servertest.Works(t, s, "get_git_diff"); got != want || strings.Count(got, "+Subproject commit ") != 2 {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
	if got, want := servertest.Works(t, s, "get_git_diff", "base_rev", "HEAD~1", "head_rev", "HEAD"), plainDiff(t, dir, "HEAD~1", "HEAD"); got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
	servertest.Fails(t, s, `"vendor/moved" is a submodule`, "get_git_diff", "path", "vendor/moved/f")

	elsewhere := filepath.Join(t.TempDir(), "git")
	check(t, os.Rename(in(".git/modules/outside"), elsewhere))
	servertest.Put(t, in("outside/.git"), "gitdir: "+elsewhere+"\n")
	if got := servertest.Works(t, s, "get_git_diff"); got != want+"[toolpipe] \"outside\" is left out: its git directory cannot be read: it leads out of the root\n" {
		t.Errorf("a git directory outside the root:\n%s", got)
	}
}

// A file with another name is shown as a rename, unless one of its names is hidden.
func TestGitDiffRenames(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a line that stays\n", 20)
	dir, s, git := newRepository(t, map[string]string{"a": text, "b": text + "b\n", "c": "c" + text})
	git("mv", "a", "new")
	git("mv", "c", ".env")
	git("mv", "b", "d")
	servertest.Put(t, filepath.Join(dir, "d"), text+"other\n")
	got := servertest.Works(t, s, "get_git_diff")
	if !strings.Contains(got, "similarity index 100%\nrename from a\nrename to new\n") || !strings.Contains(got, "rename from b\nrename to d\n") || strings.Contains(got, ".env") || !strings.Contains(got, "deleted file mode 100644\n") {
		t.Error(got)
	}
}

// Without a revision the untracked files are named, except ignored and protected ones.
func TestGitDiffUntracked(t *testing.T) {
	t.Parallel()
	dir, _, _ := newRepository(t, map[string]string{"a": "one\n", ".gitignore": "*.o\n"})
	if got := answer(t, dir, "."); got != "no differences\n" {
		t.Error(got)
	}
	for _, name := range []string{"x.o", ".env", "sub/new\nline", "sub/z", "b"} {
		servertest.Put(t, filepath.Join(dir, name), "")
	}
	if got := answer(t, dir, "."); got != "no differences\n[toolpipe] untracked: 3 files\n  b\n  \"sub/new\\nline\"\n  sub/z\n" {
		t.Error(got)
	}
	if got := answer(t, dir, "b"); got != "no differences\n[toolpipe] untracked: 1 file\n  b\n" {
		t.Error(got)
	}
	for i := range maxUntracked {
		servertest.Put(t, filepath.Join(dir, "many", strings.Repeat("x", i+1)), "")
	}
	if got := answer(t, dir, "."); !strings.Contains(got, "untracked: 103 files\n") || !strings.HasSuffix(got, "  and 3 more\n") {
		t.Error(got)
	}
}

// Before the first commit every file of the index is new.
func TestGitDiffBeforeFirstCommit(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		dir, _, git := newRepository(t, map[string]string{"a": "one\n", "b": "b\n"})
		check(t, os.RemoveAll(filepath.Join(dir, ".git")))
		git("init", "-q", "--object-format="+format)
		git("add", "a")
		got := answer(t, dir, ".")
		if !strings.Contains(got, "new file mode 100644\n") || !strings.Contains(got, "+++ b/a\n@@ -0,0 +1 @@\n+one\n[toolpipe] HEAD names no commit: all files in the index are new\n[toolpipe] untracked: 1 file\n  b\n") {
			t.Errorf("%s: %s", format, got)
		}
	}
}
