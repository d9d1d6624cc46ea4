//go:build unix

package gitdiff

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/testdata/servertest"
)

// The git directory may be elsewhere in the root, and so may be what it shares
// with other worktrees.
func TestGitDiffWorktree(t *testing.T) {
	t.Parallel()
	dir, s, git := newRepository(t, map[string]string{"a.txt": "one\n", "crlf.txt": "c\n"})
	in := func(name string) string { return filepath.Join(dir, name) }
	same := func(how string, args ...any) {
		t.Helper()
		plain := []string{"HEAD"}
		for i := 1; i < len(args); i += 2 {
			plain = []string{args[i].(string)}
		}
		if got, want := servertest.Works(t, s, "get_git_diff", args...), plainDiff(t, dir, plain...); got != want || !strings.Contains(got, "+two") {
			t.Errorf("%s, %v: %s\nwant: %s", how, args, got, want)
		}
	}
	git("commit", "-q", "--allow-empty", "-m", "second")
	git("branch", "side")
	check(t, os.Rename(in(".git"), in(".bare")))
	for _, path := range []string{".bare", "./.bare", in(".bare")} {
		servertest.Put(t, in(".git"), "gitdir: "+path+"\n")
		// Of another size: in the tick of the index git itself sees no other change.
		servertest.Put(t, in("a.txt"), "two\ntwo\n")
		same(path)
		same(path, "base_rev", "side~1")
	}

	work := in(".bare/worktrees/w")
	check(t, os.MkdirAll(filepath.Join(work, "refs/bisect"), 0o755))
	servertest.Put(t, filepath.Join(work, "index"), servertest.Get(t, in(".bare/index")))
	servertest.Put(t, filepath.Join(work, "HEAD"), "ref: refs/heads/side\n")
	servertest.Put(t, filepath.Join(work, "gitdir"), in(".git")+"\n")
	servertest.Put(t, in(".git"), "gitdir: "+work+"\n")
	servertest.Put(t, filepath.Join(work, "commondir"), "../..\n")
	servertest.Put(t, filepath.Join(work, "refs/bisect/bad"), git("rev-parse", "HEAD~1")+"\n")
	servertest.Put(t, filepath.Join(work, "BISECT_HEAD"), git("rev-parse", "HEAD~1")+"\n")
	servertest.Put(t, in(".bare/ORIG_HEAD"), git("rev-parse", "HEAD~1")+"\n")
	servertest.Put(t, in(".bare/info/attributes"), "crlf.txt text eol=crlf\n")
	servertest.Put(t, in("crlf.txt"), "c\r\n")
	servertest.Put(t, in("staged.txt"), "two\n")
	git("add", "staged.txt")
	git("commit", "-q", "-m", "on side")
	for _, rev := range []string{"HEAD~1", "side~1", "main", "refs/bisect/bad", "BISECT_HEAD", "main-worktree/ORIG_HEAD"} {
		same("worktree", "base_rev", rev)
	}
	servertest.Fails(t, s, "a revision names no commit", "get_git_diff", "base_rev", "ORIG_HEAD") // it is the main worktree's
	denied := confine.WithBounds(t.Context(), confine.Bounds{Denied: []string{in(".bare")}})
	if r, err := s.Call(denied, "get_git_diff", []byte(`{}`), nil); err != nil || !r.IsError || strings.Contains(string(r.Raw), "+two") {
		t.Errorf("a denied git directory: %s, %v", r.Raw, err)
	}

	outside := filepath.Join(t.TempDir(), "bare")
	check(t, os.CopyFS(outside, os.DirFS(in(".bare"))))
	servertest.Put(t, filepath.Join(work, "commondir"), outside+"\n")
	servertest.Fails(t, s, "commondir cannot be read: it leads out of the root", "get_git_diff")
	check(t, os.Remove(filepath.Join(work, "commondir")))
	check(t, os.Symlink(filepath.Join(outside, "worktrees/w/commondir"), filepath.Join(work, "commondir")))
	servertest.Fails(t, s, "commondir cannot be read: it is a link", "get_git_diff")
	check(t, os.Symlink(outside, in("link")))
	for _, path := range []string{outside, "../x", ".", "", "/", "link", "link/worktrees/w", "a.txt", "gone"} {
		servertest.Put(t, in(".git"), "gitdir: "+path+"\n")
		if got, failed := servertest.Do(t, s, "get_git_diff"); !failed || strings.Contains(got, "+two") {
			t.Errorf("gitdir %q: %s", path, got)
		}
	}
}
