//go:build unix

package gitdiff

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolpipe/testdata/load"
	"toolpipe/testdata/servertest"
)

// plainDiff is git's own answer.
func plainDiff(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.quotePath=false", "diff", "--ignore-submodules=dirty"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git diff %v: %v", args, err)
	}
	if len(out) == 0 {
		return "no differences\n"
	}
	return string(out)
}

// TestGitDiffIsGits compares with git, which reads the working tree itself,
// whatever form the repository has.
func TestGitDiffIsGits(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"same": "s\n", "text": "one\ntwo\n", "sub/gone": "g\n", "mode": "m\n", "bin": "b\x00\n", "link/target": "x\n", "file-to-link": "f\n", "dir-to-file/x": "x\n",
		"dir-to-link/x": "x\n", "file-to-dir": "f\n", "crlf.txt": "a\nb\n", ".gitattributes": "*.txt text eol=crlf\nmarked -diff\n", "marked": "1\n", "valid": "v\n", "skipped": "k\n",
		"staged": "1\n", "staged-gone": "1\n", "touched": "t\n", "new\nline": "n\n", "func.go": "package a\n\nfunc f() {\n\t1\n\t2\n\t3\n\t4\n\t5\n}\n", "sub/inner": "i\n", "empty": "",
	}
	noise := make([]byte, 2<<20) // a large object
	rand.NewChaCha8([32]byte{}).Read(noise)
	files["noise"], files["noise-changed"] = string(noise), string(noise[1:])
	dir, s, git := newRepository(t, files)
	in := func(name string) string { return filepath.Join(dir, name) }
	check(t, os.Symlink("text", in("alink")))
	check(t, os.Symlink("text", in("link-to-file")))
	check(t, os.Symlink("nowhere", in("same-link")))
	git("add", "-A")
	git("commit", "-q", "-m", "links")
	first := git("rev-parse", "HEAD")
	if got := servertest.Works(t, s, "get_git_diff"); got != "no differences\n" {
		t.Errorf("clean: %s", got)
	}

	changeEverything(t, in, git, files)
	compare := func(how string) {
		t.Helper()
		for i, c := range []struct{ tool, git []string }{
			{nil, []string{"HEAD"}}, {[]string{"path", "sub"}, []string{"HEAD", "--", "sub"}}, {[]string{"path", "text"}, []string{"HEAD", "--", "text"}},
			{[]string{"base_rev", first + "~1"}, []string{first + "~1"}}, {[]string{"base_rev", "HEAD~1", "head_rev", "HEAD"}, []string{"HEAD~1", "HEAD"}},
			{[]string{"base_rev", "HEAD", "head_rev", first[:10] + "^"}, []string{"HEAD", first + "^"}},
		} {
			if i > 0 && how != "loose" && how != "packed" && !load.Full(t) {
				break
			}
			args := make([]any, len(c.tool))
			for i := range c.tool {
				args[i] = c.tool[i]
			}
			if got, want := servertest.Works(t, s, "get_git_diff", args...), plainDiff(t, dir, c.git...); got != want {
				t.Errorf("%s, %v:\n%s\nwant:\n%s", how, c.git, got, want)
			}
		}
	}
	compare("loose")
	git("update-index", "--index-version", "4")
	compare("index of version 4")
	git("update-index", "--split-index")
	servertest.Put(t, in("staged"), "3\n")
	git("add", "staged")
	compare("split index")
	git("update-index", "--no-split-index")
	git("gc", "-q")
	compare("packed")
	git("commit", "-q", "-m", "side")
	compare("committed")
}

// changeEverything changes each file in the way that its name says.
func changeEverything(t *testing.T, in func(name string) string, git func(args ...string) string, files map[string]string) {
	t.Helper()
	servertest.Put(t, in("text"), "one\n2\n")
	servertest.Put(t, in("noise-changed"), files["noise-changed"][1:])
	servertest.Put(t, in("bin"), "c\x00\n")
	servertest.Put(t, in("marked"), "2\n")
	servertest.Put(t, in("crlf.txt"), "a\r\nc\r\n")
	servertest.Put(t, in("touched"), "t\n")
	servertest.Put(t, in("new\nline"), "changed\n")
	servertest.Put(t, in("func.go"), strings.Replace(files["func.go"], "4", "four", 1))
	servertest.Put(t, in("sub/.gitattributes"), "inner -diff\n") // not tracked
	servertest.Put(t, in("sub/inner"), "changed\n")
	servertest.Put(t, in("empty"), "not any more")
	servertest.Put(t, in("untracked"), "not shown\n")
	for _, name := range []string{"sub/gone", "alink", "link-to-file", "file-to-link", "dir-to-file", "dir-to-link", "file-to-dir"} {
		check(t, os.RemoveAll(in(name)))
	}
	check(t, os.Chmod(in("mode"), 0o755))
	check(t, os.Symlink("same", in("alink")))
	check(t, os.Symlink("same", in("file-to-link")))
	check(t, os.Symlink("link", in("dir-to-link")))
	servertest.Put(t, in("link-to-file"), "text")
	servertest.Put(t, in("dir-to-file"), "file\n")
	servertest.Put(t, in("file-to-dir/x"), "x\n")
	git("update-index", "--assume-unchanged", "valid")
	servertest.Put(t, in("valid"), "changed\n")
	git("update-index", "--skip-worktree", "skipped")
	check(t, os.Remove(in("skipped")))
	servertest.Put(t, in("staged"), "2\n")
	servertest.Put(t, in("added"), "a\n")
	git("add", "staged", "added")
	git("rm", "-q", "--cached", "staged-gone")
	servertest.Put(t, in("intended"), "i\n")
	git("add", "-N", "intended")
}

// A conflict is shown, and so is what is in the file.
func TestGitDiffConflict(t *testing.T) {
	t.Parallel()
	dir, s, git := newRepository(t, map[string]string{"f": "one\n", "gone": "g\n", ".env": "K=1\n", "other": "o\n"})
	for _, branch := range []string{"a", "b"} {
		git("checkout", "-q", "-b", branch, "main")
		servertest.Put(t, filepath.Join(dir, "f"), branch+"\n")
		servertest.Put(t, filepath.Join(dir, ".env"), "K="+branch+"\n")
		git("commit", "-q", "-a", "-m", branch)
	}
	merge := exec.Command("git", "-c", "user.name=n", "-c", "user.email=e@example.com", "merge", "-q", "a")
	merge.Dir = dir
	if merge.Run() == nil {
		t.Fatal("no conflict")
	}
	got := servertest.Works(t, s, "get_git_diff")
	var want strings.Builder
	shown := false
	for line := range strings.Lines(plainDiff(t, dir, "HEAD")) {
		if strings.HasPrefix(line, "* Unmerged path ") || strings.HasPrefix(line, "diff --git ") {
			shown = !strings.Contains(line, ".env")
		}
		if shown {
			want.WriteString(line)
		}
	}
	if got != want.String() || !strings.Contains(got, "+<<<<<<<") {
		t.Errorf("%s\nwant:\n%s", got, want.String())
	}
}

// A file that is too large to be compared is said to be left out; the others
// are shown.
func TestGitDiffBounds(t *testing.T) {
	t.Parallel()
	dir, s, _ := newRepository(t, map[string]string{"a": "one\n", "big": "small\n"})
	servertest.Put(t, filepath.Join(dir, "a"), "two\n")
	if err := os.Truncate(filepath.Join(dir, "big"), 100<<30); err != nil {
		t.Skip(err)
	}
	got := servertest.Works(t, s, "get_git_diff")
	if !strings.Contains(got, "+two") || !strings.Contains(got, `[toolpipe] "big" is left out: it has 107374182400 bytes`) || strings.Contains(got, "-small") {
		t.Errorf("%s", got)
	}
}

// A change is seen although the file's size and modification time are as before.
func TestGitDiffTimePutBack(t *testing.T) {
	t.Parallel()
	dir, s, git := newRepository(t, map[string]string{"a": "one\n"})
	name, long := filepath.Join(dir, "a"), time.Unix(1e9, 0)
	check(t, os.Chtimes(name, long, long))
	git("add", "a")
	time.Sleep(1100 * time.Millisecond) // git looks at the seconds of the time of the last change of any kind
	servertest.Put(t, name, "two\n")
	check(t, os.Chtimes(name, long, long))
	if got := servertest.Works(t, s, "get_git_diff"); !strings.Contains(got, "+two") {
		t.Error(got)
	}
}

// A repository without a configuration, and links that became files and files
// that became links.
func TestGitDiffNoConfiguration(t *testing.T) {
	t.Parallel()
	dir, s, git := newRepository(t, map[string]string{"a": "one\n", "file": "a"})
	in := func(name string) string { return filepath.Join(dir, name) }
	check(t, os.Symlink("a", in("link")))
	check(t, os.Symlink("a", in("other")))
	git("add", "-A")
	git("commit", "-q", "-m", "links")
	for _, name := range []string{"link", "other", "file", ".git/config"} {
		check(t, os.Remove(in(name)))
	}
	check(t, os.Symlink("b", in("link")))
	check(t, os.Symlink("a", in("file")))
	servertest.Put(t, in("other"), "a")
	if got, want := servertest.Works(t, s, "get_git_diff"), plainDiff(t, dir, "HEAD"); got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}

	// Where links are files by the configuration, such a file is the link.
	git("reset", "-q", "--hard")
	check(t, os.Remove(in("link")))
	servertest.Put(t, in("link"), "a")
	check(t, os.Remove(in("other")))
	servertest.Put(t, in("other"), "c")
	for _, word := range []string{"false", "No", "off", "0", ""} {
		git("config", "core.symlinks", word)
		if got, want := servertest.Works(t, s, "get_git_diff"), plainDiff(t, dir, "HEAD"); got != want || strings.Contains(got, "b/link") || !strings.Contains(got, "+c") {
			t.Errorf("with links %q:\n%s\nwant:\n%s", word, got, want)
		}
	}
}

// The configuration is read as git reads it, also where people write it by hand.
func TestGitDiffConfiguration(t *testing.T) {
	t.Parallel()
	dir, s, _ := newRepository(t, map[string]string{"a": "one\ntwo\n"})
	servertest.Put(t, filepath.Join(dir, "a"), "one\r\n2\r\n")
	for _, config := range []string{
		"", "[core]\n\tautocrlf = true\n", "[core] autocrlf = true\n", "[core]autocrlf=TRUE", "[CORE]\r\nAutoCRLF = input\r\n", "[core]\n\tautocrlf\n",
		"[core] # x\n\tautocrlf = true # a comment\n", "[core]\n\tautocrlf = true;x\n", "[core]\n\tautocrlf = \"true\"\n", "[core]\n\tautocrlf = true\n\tautocrlf = false\n",
		"[user][core] autocrlf = true\n", "[core \"x\"] autocrlf = true\n", "[core] # autocrlf = true\n", "[x \"] # [core\"] autocrlf = true\n", "[x]\n\tk = \"[core]\"\n\tautocrlf = true\n",
	} {
		servertest.Put(t, filepath.Join(dir, ".git/config"), config)
		if got, want := servertest.Works(t, s, "get_git_diff"), plainDiff(t, dir, "HEAD"); got != want {
			t.Errorf("%q:\n%s\nwant:\n%s", config, got, want)
		}
	}
}
