//go:build unix

package gitdiff

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp"
	"toolpipe/mcp/toolserver"
	"toolpipe/testdata/servertest"
)

// manyLooseObjects is a repository with many loose objects and references.
func manyLooseObjects(t *testing.T) (dir string, s *mcp.Session, git func(args ...string) string, first string) {
	t.Helper()
	files := map[string]string{"a": "one\n"}
	for i := range 60 {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = fmt.Sprintln("content", i)
	}
	dir, s, git = newRepository(t, files)
	first = git("rev-parse", "HEAD")
	servertest.Put(t, filepath.Join(dir, "d3/f3"), "staged\n")
	git("add", "d3/f3")
	git("commit", "-q", "-m", "second")
	git("tag", "-a", "-m", "t", "annotated")
	git("pack-refs", "--all")
	git("symbolic-ref", "refs/heads/chain", "refs/heads/link")
	git("symbolic-ref", "refs/heads/link", "refs/tags/annotated")
	git("branch", "moved", "HEAD~1")
	git("pack-refs", "--all")
	git("branch", "-f", "moved", "HEAD")
	for i := range 60 {
		servertest.Put(t, filepath.Join(dir, fmt.Sprintf(".git/refs/heads/b%d/x%d", i%7, i)), first+"\n")
	}
	servertest.Put(t, filepath.Join(dir, ".git/refs/remotes/origin/HEAD"), "ref: refs/remotes/origin/main\n")
	servertest.Put(t, filepath.Join(dir, ".git/refs/remotes/origin/main"), first+"\n")
	return dir, s, git, first
}

// The number of files that are made does not grow with the loose objects of a
// repository, and every way to name a commit leads to the commit that git finds.
func TestGitDiffManyLooseObjects(t *testing.T) {
	t.Parallel()
	dir, s, git, first := manyLooseObjects(t)
	if made := privateFiles(t, dir); made > 10 {
		t.Errorf("%d files were made", made)
	}
	servertest.Put(t, filepath.Join(dir, "a"), "two\n")
	check(t, os.Remove(filepath.Join(dir, "d4/f4")))
	for _, base := range []string{"HEAD", "@~", "b3/x3", "heads/b3/x3", "refs/heads/b3/x3", "moved", "annotated", "chain^{}", "link^", "origin", "origin/main", first[:12], git("describe", "--long", "--always")} {
		if got, want := servertest.Works(t, s, "get_git_diff", "base_rev", base), plainDiff(t, dir, base); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", base, got, want)
		}
	}
	if got, want := servertest.Works(t, s, "get_git_diff", "base_rev", "b3/x3", "head_rev", "HEAD"), plainDiff(t, dir, "b3/x3", "HEAD"); got != want {
		t.Errorf("two commits:\n%s\nwant:\n%s", got, want)
	}
	servertest.Fails(t, s, "names no commit", "get_git_diff", "base_rev", "b3")
	gone := git("rev-parse", "HEAD:a")
	check(t, os.Remove(filepath.Join(dir, ".git/objects", gone[:2], gone[2:])))
	servertest.Fails(t, s, "git diff failed", "get_git_diff")
}

// What is longer than an answer is cut, and the answer says so.
func TestGitDiffManyChanges(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	long := strings.Repeat("0123456789\n", toolserver.MaxText/11/20)
	for i := range 30 {
		files[fmt.Sprintf("d%d/f%02d.txt", i%7, i)] = "same\n" + long
	}
	dir, s, git := newRepository(t, files)
	compare := func(how string, args []any, plain ...string) {
		t.Helper()
		got, whole := servertest.Works(t, s, "get_git_diff", args...), plainDiff(t, dir, plain...)
		shown, ok := strings.CutSuffix(got, "\n[toolpipe] the diff goes on and is cut here; a path shows less of it\n")
		if !ok || len(shown) < toolserver.MaxText-4 || !strings.HasPrefix(whole, shown) {
			t.Errorf("%s: %d bytes, %q", how, len(got), got[len(got)-200:])
		}
	}
	for name := range files {
		servertest.Put(t, filepath.Join(dir, name), strings.ReplaceAll(long, "5", "five"))
	}
	compare("other content", nil, "HEAD")
	git("commit", "-q", "-a", "-m", "second")
	compare("two commits", []any{"base_rev", "HEAD~1", "head_rev", "HEAD"}, "HEAD~1", "HEAD")
	for name := range files {
		check(t, os.Remove(filepath.Join(dir, name)))
	}
	compare("all removed", nil, "HEAD")
}

// More changed files than an answer names are cut, and the answer says so.
func TestGitDiffManyNames(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range maxNames + 1 {
		files[fmt.Sprintf("f%04d", i)] = "x\n"
	}
	dir, s, _ := newRepository(t, files)
	for name := range files {
		check(t, os.Remove(filepath.Join(dir, name)))
	}
	whole := plainDiff(t, dir, "HEAD")
	want := whole[:strings.LastIndex(whole, "diff --git ")] + "[toolpipe] the diff goes on and is cut here; a path shows less of it\n"
	if got := servertest.Works(t, s, "get_git_diff"); got != want {
		t.Errorf("%d bytes, want %d: %q", len(got), len(want), got[max(0, len(got)-300):])
	}
}
