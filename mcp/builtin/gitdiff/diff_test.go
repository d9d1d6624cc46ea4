package gitdiff

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/testdata/servertest"
)

// newRepository is a git repository with one commit, and a session with a server
// whose one tool is get_git_diff.
func newRepository(t *testing.T, files map[string]string) (dir string, s *mcp.Session, git func(args ...string) string) {
	t.Helper()
	needCage(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	for name, content := range files {
		servertest.Put(t, filepath.Join(dir, name), content)
	}
	return dir, diffServer(t, dir), servertest.Git(t, dir)
}

func diffServer(t *testing.T, dir string, protected ...string) *mcp.Session {
	t.Helper()
	tree, err := confine.Open(confine.Spec{Root: dir, Protected: protected})
	check(t, err)
	server := toolserver.New("git", "1")
	server.AddBuiltin(Tool(), func(ctx context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
		answer, err := Diff(ctx, tree.Access(confine.BoundsOf(ctx)), Program{os.Environ(), &process.Processes{}}, args)
		if err != nil {
			return nil, err
		}
		answer, _, _ = bytes.Cut(answer, []byte("[toolpipe] untracked: ")) // TestGitDiffUntracked is about them
		return toolserver.TextResult(answer), nil
	})
	return servertest.Local(t, server)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestGitDiff(t *testing.T) {
	t.Parallel()
	dir, s, git := newRepository(t, map[string]string{"a.txt": "one\n", "b c.txt": "x\n", "sub/d.txt": "d\n", ".env": "K=1\n", "server.key": "k\n", "tab\tname": "t\n"})
	first := git("rev-parse", "HEAD")
	if got := servertest.Works(t, s, "get_git_diff"); got != "no differences\n" {
		t.Errorf("clean: %q", got)
	}
	for _, name := range []string{"a.txt", "b c.txt", "sub/d.txt", ".env", "server.key", "tab\tname"} {
		servertest.Put(t, filepath.Join(dir, name), "changed "+filepath.Ext(name)+"\ndiff --git a/.env b/.env\n")
	}
	all := servertest.Works(t, s, "get_git_diff")
	for _, want := range []string{"+changed .txt", "b/b c.txt", "b/sub/d.txt", `"b/tab\tname"`} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in %s", want, all)
		}
	}
	if strings.Contains(all, "changed .env") || strings.Contains(all, "K=1") || strings.Contains(all, "server.key") {
		t.Errorf("secrets are shown: %s", all)
	}
	if one := servertest.Works(t, s, "get_git_diff", "path", "sub"); strings.Contains(one, "a.txt") || !strings.Contains(one, "sub/d.txt") {
		t.Errorf("path: %s", one)
	}
	git("rm", "-q", "-f", "sub/d.txt")
	git("commit", "-q", "-a", "-m", "second")
	if got := servertest.Works(t, s, "get_git_diff", "base_rev", first, "head_rev", "HEAD", "path", "sub/d.txt"); !strings.Contains(got, "deleted file") {
		t.Errorf("two commits: %s", got)
	}
	blob := git("rev-parse", "HEAD:.env")
	for _, rev := range []string{"-O/etc/passwd", "--output=x", "HEAD..main", "HEAD:.env", ":/first", "no-such", blob, "a b", strings.Repeat("x", 300)} {
		if got, failed := servertest.Do(t, s, "get_git_diff", "base_rev", rev); !failed || strings.Contains(got, "changed .env") {
			t.Errorf("base_rev %q: %s", rev, got)
		}
	}
	servertest.Fails(t, s, "protected", "get_git_diff", "path", ".env")
	servertest.Fails(t, s, dir, "get_git_diff", "path", "../x")
}

// TestGitRunsNothing tries what a repository can make git run.
func TestGitRunsNothing(t *testing.T) {
	t.Parallel()
	dir, s, git := newRepository(t, map[string]string{"a.txt": "one\n", "b.bin": "x\n", "inner/x": "x"})
	outside := t.TempDir()
	touch := filepath.Join(outside, "ran")
	script := filepath.Join(outside, "run.sh")
	servertest.Put(t, script, "#!/bin/sh\necho \"$0 $@\" >> "+touch+"\ncat\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"filter.evil.clean", script}, {"filter.evil.smudge", script}, {"filter.evil.process", script}, {"filter.evil.required", "true"},
		{"diff.evil.command", script}, {"diff.evil.textconv", script}, {"diff.external", script}, {"core.fsmonitor", script}, {"core.pager", script},
		{"pager.diff", script}, {"core.hooksPath", outside}, {"core.editor", script}, {"core.sshCommand", script}, {"core.gitProxy", script},
		{"remote.origin.url", "ext::" + script}, {"remote.origin.promisor", "true"}, {"protocol.ext.allow", "always"}, {"interactive.diffFilter", script},
		{"core.alternateRefsCommand", script}, {"gpg.program", script}, {"diff.submodule", "log"}, {"credential.helper", "!" + script}, {"alias.diff", "!" + script},
	} {
		git("config", c[0], c[1])
	}
	servertest.Put(t, filepath.Join(outside, "post-index-change"), "#!/bin/sh\necho hook >> "+touch+"\n")
	os.Chmod(filepath.Join(outside, "post-index-change"), 0o755)
	servertest.Put(t, filepath.Join(dir, ".gitattributes"), "* filter=evil diff=evil\n")
	servertest.Put(t, filepath.Join(dir, ".git/info/attributes"), "* filter=evil diff=evil\n")
	servertest.Put(t, filepath.Join(dir, "a.txt"), "two\n")
	servertest.Put(t, filepath.Join(dir, "b.bin"), "y\x00\n")
	plain := exec.Command("git", "diff", "HEAD")
	plain.Dir = dir
	plain.Run()
	if _, err := os.Stat(touch); err != nil {
		t.Error("the trap does not work: plain git ran nothing")
	}
	os.Remove(touch)
	got := servertest.Works(t, s, "get_git_diff")
	if ran, err := os.ReadFile(touch); err == nil {
		t.Errorf("git ran %s", ran)
	}
	if !strings.Contains(got, "+two") || !strings.Contains(got, "Binary files") {
		t.Errorf("diff: %s", got)
	}
	servertest.Works(t, s, "get_git_diff", "base_rev", "HEAD", "head_rev", "HEAD")
}

func TestGitOnlyInside(t *testing.T) {
	t.Parallel()
	dir, s, git := newRepository(t, map[string]string{"a.txt": "one\n", "sub/b.txt": "b\n"})
	servertest.Fails(t, diffServer(t, filepath.Join(dir, "sub")), "not a git repository", "get_git_diff")
	servertest.Put(t, filepath.Join(dir, "a.txt"), "two\n")
	git("config", "core.worktree", t.TempDir())
	if got := servertest.Works(t, s, "get_git_diff"); !strings.Contains(got, "+two") {
		t.Errorf("core.worktree is followed: %s", got)
	}
	outside := filepath.Join(t.TempDir(), "config")
	servertest.Put(t, outside, "no configuration\n")
	servertest.Put(t, filepath.Join(dir, ".git/config"), "[include]\n\tpath = "+outside+"\n")
	if got := servertest.Works(t, s, "get_git_diff"); !strings.Contains(got, "+two") {
		t.Errorf("include.path is followed: %s", got)
	}
	servertest.Put(t, filepath.Join(dir, ".git/objects/info/alternates"), t.TempDir())
	servertest.Fails(t, s, "elsewhere", "get_git_diff")
	moved := filepath.Join(t.TempDir(), "git")
	if err := os.Rename(filepath.Join(dir, ".git"), moved); err != nil {
		t.Fatal(err)
	}
	servertest.Put(t, filepath.Join(dir, ".git"), "gitdir: "+moved+"\n")
	servertest.Fails(t, s, "not a git repository", "get_git_diff")
	os.Remove(filepath.Join(dir, ".git"))
	os.Symlink(moved, filepath.Join(dir, ".git"))
	servertest.Fails(t, s, "not a git repository", "get_git_diff")
}

// "no differences" is not said of a file that was left out.
func TestGitDiffNothingShown(t *testing.T) {
	t.Parallel()
	dir, s, git := newRepository(t, map[string]string{"a.txt": "one\n", ".env": "K=1\n", "sub/b.txt": "b\n"})
	servertest.Put(t, filepath.Join(dir, ".env"), "K=2, longer\n")
	const hidden = "no differences in what is shown\n"
	if got := servertest.Works(t, s, "get_git_diff"); got != hidden {
		t.Errorf("changed: %q", got)
	}
	if got := servertest.Works(t, s, "get_git_diff", "path", "sub"); got != "no differences\n" {
		t.Errorf("elsewhere: %q", got)
	}
	git("commit", "-q", "-a", "-m", "second")
	if got := servertest.Works(t, s, "get_git_diff", "base_rev", "HEAD~1", "head_rev", "HEAD"); got != hidden {
		t.Errorf("committed: %q", got)
	}
	if got := servertest.Works(t, s, "get_git_diff"); got != "no differences\n" {
		t.Errorf("clean: %q", got)
	}
	check(t, os.Remove(filepath.Join(dir, ".env")))
	if got := servertest.Works(t, s, "get_git_diff"); got != hidden {
		t.Errorf("removed: %q", got)
	}
	git("reset", "-q", "--hard")
	servertest.Put(t, filepath.Join(dir, "server.key"), "one\n")
	git("add", "-f", "server.key")
	servertest.Put(t, filepath.Join(dir, "server.key"), "one\ntwo\n")
	if got := servertest.Works(t, s, "get_git_diff"); got != hidden {
		t.Errorf("added: %q", got)
	}
}

// The names that git leaves beside HEAD are revisions (gitrevisions(7)), and a
// branch may have no commit yet.
func TestGitDiffHeads(t *testing.T) {
	t.Parallel()
	dir, s, git := newRepository(t, map[string]string{"a.txt": "one\n"})
	first := git("rev-parse", "HEAD")
	servertest.Put(t, filepath.Join(dir, "a.txt"), "two\n")
	git("commit", "-q", "-a", "-m", "second")
	for _, name := range []string{"ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD"} {
		servertest.Put(t, filepath.Join(dir, ".git", name), first+"\n")
	}
	servertest.Put(t, filepath.Join(dir, ".git/FETCH_HEAD"), first+"\t\tbranch 'main' of elsewhere\n"+first+"\tnot-for-merge\tbranch 'x' of elsewhere\n")
	for _, name := range []string{"ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "FETCH_HEAD", "ORIG_HEAD^{commit}"} {
		if got := servertest.Works(t, s, "get_git_diff", "base_rev", name); !strings.Contains(got, "-one\n+two\n") {
			t.Errorf("%s: %s", name, got)
		}
	}
	servertest.Fails(t, s, "a revision names no commit", "get_git_diff", "base_rev", "REVERT_HEAD")
	servertest.Fails(t, s, "a revision names no commit", "get_git_diff", "head_rev", "REVERT_HEAD")
	git("checkout", "-q", "--orphan", "fresh")
	if got := servertest.Works(t, s, "get_git_diff"); !strings.Contains(got, "new file mode 100644\n") || !strings.Contains(got, "+two\n") {
		t.Errorf("before the first commit: %s", got)
	}
	servertest.Fails(t, s, "there is no commit yet", "get_git_diff", "head_rev", first)
	servertest.Fails(t, s, "a revision names no commit", "get_git_diff", "base_rev", "no-such")
}

// The attributes of .git/info rule over what is shown, as in git.
func TestGitDiffInfoAttributes(t *testing.T) {
	t.Parallel()
	dir, s, _ := newRepository(t, map[string]string{"a.txt": "one\n", "b.txt": "one\n"})
	servertest.Put(t, filepath.Join(dir, "a.txt"), "two\n")
	servertest.Put(t, filepath.Join(dir, "b.txt"), "two\n")
	at := filepath.Join(dir, ".git/info/attributes")
	servertest.Put(t, at, "a.txt -diff\n")
	if got := servertest.Works(t, s, "get_git_diff"); !strings.Contains(got, "Binary files a/a.txt and b/a.txt differ") || !strings.Contains(got, "b/b.txt\n@@") {
		t.Errorf("%s", got)
	}
	outside := filepath.Join(t.TempDir(), "attributes")
	servertest.Put(t, outside, "b.txt -diff\n")
	check(t, os.Remove(at))
	if err := os.Symlink(outside, at); err != nil {
		t.Skip(err)
	}
	servertest.Fails(t, s, "info/attributes cannot be read: it is a link", "get_git_diff")
}

// A directory that took the place of a file has that file's name before its own
// files' names: what is hidden in it is not shown with the file.
func TestGitDiffHiddenBelowFile(t *testing.T) {
	t.Parallel()
	dir, s, git := newRepository(t, map[string]string{"a": "one\n", "b": "one\n"})
	check(t, os.Remove(filepath.Join(dir, "a")))
	servertest.Put(t, filepath.Join(dir, "a/.env"), "K=hidden\n")
	servertest.Put(t, filepath.Join(dir, "b"), "two\n")
	git("add", "-A", "-f")
	git("commit", "-q", "-m", "second")
	for _, args := range [][]any{{"base_rev", "HEAD~1"}, {"base_rev", "HEAD~1", "head_rev", "HEAD"}} {
		if got := servertest.Works(t, s, "get_git_diff", args...); strings.Contains(got, "hidden") || !strings.Contains(got, "+two") {
			t.Errorf("%v: %s", args, got)
		}
	}
}

// An error names the file of the repository that cannot be read.
func TestGitDiffUnreadable(t *testing.T) {
	t.Parallel()
	dir, s, _ := newRepository(t, map[string]string{"a": "one\n"})
	servertest.Put(t, filepath.Join(dir, ".git/refs/heads/x"), "")
	if check(t, os.Chmod(filepath.Join(dir, ".git/refs/heads/x"), 0)); os.Geteuid() == 0 {
		t.Skip("root reads every file")
	}
	servertest.Fails(t, s, `the repository's refs/heads/x cannot be read: permission denied`, "get_git_diff")
}
