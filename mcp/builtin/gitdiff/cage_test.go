//go:build unix

package gitdiff

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/process/cage"
	"toolpipe/testdata/load"
	"toolpipe/testdata/servertest"
)

// needCage skips a test where there is no cage for git, which TestGitDiffWithoutCage is
// about.
func needCage(t *testing.T) {
	t.Helper()
	c, _, err := cage.New(cage.Spec{Read: []string{}, Execute: []string{}})
	if err != nil {
		t.Skip(err)
	}
	c.Close()
}

// Where there is no cage there is no diff, and the error says why.
func TestGitDiffWithoutCage(t *testing.T) {
	c, _, err := cage.New(cage.Spec{Read: []string{}, Execute: []string{}})
	if err == nil {
		c.Close()
		t.Skip("there is a cage")
	}
	dir := t.TempDir()
	servertest.Put(t, filepath.Join(dir, "a"), "one\n")
	servertest.Git(t, dir)
	servertest.Fails(t, diffServer(t, dir), "there is no sandbox here: "+err.Error(), "get_git_diff")
}

// caging is git in its cage for a repository, with the repository's own git directory and
// configuration: what our configuration keeps from git is tried against the cage alone.
func caging(t *testing.T, dir string) (git func(args ...string) (string, error)) {
	t.Helper()
	opened, err := confine.Open(confine.Spec{Root: dir})
	check(t, err)
	r, err := openRepository(t.Context(), opened.Access(confine.Bounds{}), Program{os.Environ(), &process.Processes{}}, ".")
	check(t, err)
	t.Cleanup(r.remove)
	tree, err := os.Open(dir)
	check(t, err)
	r.may.Read = append(r.may.Read, r.hold(tree))
	for i, kv := range r.git.Env {
		if strings.HasPrefix(kv, "GIT_COMMON_DIR=") || strings.HasPrefix(kv, "GIT_WORK_TREE=") {
			r.git.Env[i] = "X="
		}
	}
	return func(args ...string) (string, error) {
		out, err := r.run(t.Context(), nil, 1<<20, args...)
		return string(out), err
	}
}

// The cage alone, with the repository's own configuration and the options that make git
// run what it names, shows nothing of outside, executes nothing and writes nothing.
func TestCageHoldsGit(t *testing.T) {
	t.Parallel()
	dir, outside, otherID, _, git := walledRepository(t, map[string]string{"a.txt": "one\n", "b.txt": "b\n", "way/f": "x\n"})
	servertest.Put(t, filepath.Join(dir, "a.txt"), "two\n")
	touched := filepath.Join(dir, "touched") // in the root, so that it is the execution that is refused
	script := filepath.Join(dir, "run.sh")
	servertest.Put(t, script, "#!/bin/sh\ntouch "+touched+"\ncat\n")
	check(t, os.Chmod(script, 0o755))
	check(t, os.Symlink(script, filepath.Join(dir, ".git/hooks/post-index-change")))
	servertest.Put(t, filepath.Join(dir, ".gitattributes"), "*.txt diff=evil filter=evil\n")
	inRepository := map[string]string{}
	for _, name := range []string{"config", "objects/info/alternates", "index", "info/attributes"} {
		content, _ := os.ReadFile(filepath.Join(dir, ".git", name))
		inRepository[name] = string(content)
	}
	for i, c := range []struct{ key, value string }{
		{"core.worktree", outside}, {"include.path", filepath.Join(outside, "f")}, {"core.attributesFile", filepath.Join(outside, "f")},
		{"filter.evil.clean", script}, {"filter.evil.process", script}, {"diff.evil.command", script}, {"diff.evil.textconv", script}, {"diff.evil.textconv", "cat " + outside + "/f; true"},
		{"diff.external", script}, {"core.fsmonitor", script}, {"core.pager", script}, {"alias.see", "!" + script}, {"core.alternateRefsCommand", script}, {"diff.orderFile", filepath.Join(outside, "f")},
	} {
		git("config", c.key, c.value)
		run := caging(t, dir)
		for k, args := range [][]string{
			{"diff", "--ext-diff", "--textconv", "HEAD"}, {"-p", "diff", "HEAD"}, {"add", "a.txt"}, {"see"}, // these read most of the keys
			{"-c", "core.hooksPath=" + dir + "/.git/hooks", "update-index", "--refresh"}, {"-c", "core.fsmonitor=" + script, "status"},
			{"cat-file", "-p", otherID}, {"hash-object", "-w", "a.txt"}, {"diff", "--no-index", "a.txt", filepath.Join(outside, "f")}, {"config", "--list"}, {"commit", "--allow-empty", "-m", "x"},
		} {
			if k >= 4 && i > 0 && !load.Full(t) {
				break
			}
			if out, _ := run(args...); strings.Contains(out, "outside secret") {
				t.Errorf("%s=%s: git %v shows %s", c.key, c.value, args, out)
			}
			if _, err := os.Stat(touched); err == nil {
				t.Fatalf("%s=%s: git %v ran the script", c.key, c.value, args)
			}
		}
		servertest.Put(t, filepath.Join(dir, ".git/config"), inRepository["config"])
	}
	git("config", "filter.evil.clean", script)
	if git("diff", "HEAD"); servertest.Get(t, filepath.Join(dir, "a.txt")) != "two\n" || os.Remove(touched) != nil {
		t.Error("the trap does not work: plain git ran nothing")
	}
	servertest.Put(t, filepath.Join(dir, ".git/config"), inRepository["config"])
	git("read-tree", "HEAD") // plain git has written its index
	inRepository["index"] = servertest.Get(t, filepath.Join(dir, ".git/index"))
	run := caging(t, dir)
	for _, args := range [][]string{{"update-index", "--refresh"}, {"add", "a.txt"}, {"status"}, {"commit", "-a", "-m", "x"}} {
		run(args...)
	}
	for name, content := range inRepository {
		if now, _ := os.ReadFile(filepath.Join(dir, ".git", name)); string(now) != content {
			t.Errorf("git wrote %s", name)
		}
	}
	// Objects elsewhere, which the tool refuses before it runs git.
	servertest.Put(t, filepath.Join(dir, ".git/objects/info/alternates"), outside+"/.git/objects\n")
	if git("cat-file", "-p", otherID) != "outside secret" {
		t.Error("the trap does not work: plain git reads no alternates")
	}
	if out, err := run("cat-file", "-p", otherID); err == nil || out != "" {
		t.Errorf("alternates: %s", out)
	}
	if out, err := run("diff", "HEAD"); err != nil && strings.Contains(out, "secret") {
		t.Errorf("alternates: %s, %v", out, err)
	}
}

// Whatever the configuration names, the answer is what git says without it.
func TestGitDiffHostileConfiguration(t *testing.T) {
	t.Parallel()
	dir, outside, _, s, git := walledRepository(t, map[string]string{"a.txt": "one\n", "b.txt": "b\n"})
	servertest.Put(t, filepath.Join(dir, "a.txt"), "two\n")
	plain := plainDiff(t, dir, "HEAD")
	touched := filepath.Join(dir, "touched")
	script := filepath.Join(dir, "run.sh")
	servertest.Put(t, script, "#!/bin/sh\ntouch "+touched+"\ncat\n")
	check(t, os.Chmod(script, 0o755))
	servertest.Put(t, filepath.Join(dir, ".git/info/attributes"), "*.txt diff=evil filter=evil\n")
	servertest.Put(t, filepath.Join(outside, "attributes"), "*.txt -diff\n")
	servertest.Put(t, filepath.Join(outside, "config"), "[diff]\n\tnoprefix = true\n\tcontext = 0\n")
	config := servertest.Get(t, filepath.Join(dir, ".git/config"))
	type setting struct{ key, value string }
	settings := []setting{
		{"core.worktree", outside}, {"include.path", outside + "/config"}, {"includeIf.gitdir:" + dir + "/.path", outside + "/config"}, {"core.attributesFile", outside + "/attributes"}, {"filter.evil.clean", script}, {"filter.evil.required", "true"},
		{"diff.evil.command", script}, {"diff.evil.textconv", script}, {"diff.evil.binary", "true"}, {"diff.evil.xfuncname", "t"}, {"diff.external", script}, {"core.fsmonitor", script}, {"core.hooksPath", dir}, {"core.pager", script}, {"color.ui", "always"}, {"color.diff", "always"},
		{"diff.noprefix", "true"}, {"diff.mnemonicPrefix", "true"}, {"diff.context", "0"}, {"diff.renames", "copies"}, {"diff.orderFile", outside + "/f"}, {"diff.srcPrefix", "x/"}, {"diff.wordRegex", "."}, {"diff.relative", "true"}, {"core.abbrev", "40"}, {"core.bare", "true"}, {"core.ignoreStat", "true"}, {"extensions.worktreeConfig", "true"},
	}
	all := [][]setting{settings}
	if load.Full(t) { // one by one
		all = slices.Collect(slices.Chunk(settings, 1))
	}
	for _, some := range all {
		for _, c := range some { // by its file, since git may obey one that is there already
			git("config", "--file", filepath.Join(dir, ".git/config"), c.key, c.value)
		}
		if got := servertest.Works(t, s, "get_git_diff"); got != plain {
			t.Errorf("%q: %s\nwant: %s", some, got, plain)
		}
		if _, err := os.Stat(touched); err == nil {
			t.Fatalf("%q: git ran the script", some)
		}
		servertest.Put(t, filepath.Join(dir, ".git/config"), config)
	}
	for _, link := range []string{".gitattributes", ".gitmodules"} {
		check(t, os.Symlink(outside+"/attributes", filepath.Join(dir, link)))
	}
	if got := servertest.Works(t, s, "get_git_diff"); got != plain {
		t.Errorf("attributes of outside: %s", got)
	}
}

// Of the working tree git reads nothing to list names, and to show them these files only.
func TestGitDiffReadsOnlyShown(t *testing.T) {
	t.Parallel()
	dir, _, _ := newRepository(t, map[string]string{"a": "one\n", ".env": "K=1\n", "sub/b": "b\n", "sub/.gitattributes": "x text\n"})
	for _, name := range []string{"a", ".env", "sub/b"} {
		servertest.Put(t, filepath.Join(dir, name), "changed, longer\n")
	}
	opened, err := confine.Open(confine.Spec{Root: dir})
	check(t, err)
	r, err := openRepository(t.Context(), opened.Access(confine.Bounds{}), Program{os.Environ(), &process.Processes{}}, ".")
	check(t, err)
	defer r.remove()
	names, err := r.list(t.Context(), []string{"HEAD"}, true)
	check(t, err)
	if got := strings.Join(names, " "); got != ".env a sub/b" {
		t.Errorf("listed: %s", got)
	}
	shown, read, _ := r.shown(names, true)
	if got := strings.Join(shown, " "); got != "a sub/b" {
		t.Errorf("shown: %s", got)
	}
	for name, want := range map[string]bool{"a": true, "sub/b": true, "sub/.gitattributes": true, ".env": false, "../x": false} {
		out, err := r.run(t.Context(), read, 1<<20, "hash-object", "--no-filters", filepath.Join(dir, name))
		if (err == nil) != want {
			t.Errorf("%s: %s, %v", name, out, err)
		}
		if out, err := r.run(t.Context(), nil, 1<<20, "hash-object", "--no-filters", filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is read for the list: %s", name, out)
		}
	}
}

// In a copied tree the state of no file is as the index says: those that differ are found
// by their content, however many there are.
func TestGitDiffCopiedTree(t *testing.T) {
	t.Parallel()
	files := map[string]string{".gitattributes": "*.crlf text eol=crlf\n*.sjis working-tree-encoding=SHIFT-JIS\n", "a.sjis": "\u3042\n", ".env": "K=1\n"}
	for i := range maxNames + 100 {
		files["d/"+strings.Repeat("f", i%5+1)+string(rune('a'+i%26))+"/"+time.Duration(i).String()+".crlf"] = "x\n"
	}
	dir, s, git := newRepository(t, map[string]string{"first": "x\n"})
	for name, content := range files {
		servertest.Put(t, filepath.Join(dir, name), content)
	}
	servertest.Put(t, filepath.Join(dir, "a.sjis"), "\x82\xa0\n")
	git("add", "-f", "-A")
	git("commit", "-q", "-m", "second")
	git("update-index", "--refresh")
	old := time.Now().Add(-time.Hour)
	for name, content := range files {
		if strings.HasSuffix(name, ".crlf") {
			servertest.Put(t, filepath.Join(dir, name), strings.ReplaceAll(content, "\n", "\r\n"))
		}
		check(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
	if got := servertest.Works(t, s, "get_git_diff"); got != "no differences\n" {
		t.Errorf("nothing differs: %.300s", got)
	}
	servertest.Put(t, filepath.Join(dir, "a.sjis"), "\x82\xa2\n")
	servertest.Put(t, filepath.Join(dir, "first"), "y\n")
	if got, want := servertest.Works(t, s, "get_git_diff"), plainDiff(t, dir, "HEAD"); got != want || !strings.Contains(got, "+\u3044") {
		t.Errorf("%.1000s\nwant: %.1000s", got, want)
	}
}

// A directory of another user is shown (safe.directory in git-config(1)).
func TestGitDiffForeignDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes files of another user")
	}
	dir, s, _ := newRepository(t, map[string]string{"a": "one\n"})
	servertest.Put(t, filepath.Join(dir, "a"), "two\n")
	check(t, exec.Command("chown", "-R", "1234:1234", dir).Run())
	if got := servertest.Works(t, s, "get_git_diff"); !strings.Contains(got, "+two") {
		t.Error(got)
	}
}

// A git that is a script, which starts another program, cannot be held.
func TestGitIsScript(t *testing.T) {
	needCage(t)
	dir := t.TempDir()
	servertest.Put(t, filepath.Join(dir, "git"), "#!/bin/sh\nexec /usr/bin/git \"$@\"\n")
	check(t, os.Chmod(filepath.Join(dir, "git"), 0o755))
	r := &repository{access: &confine.Access{Area: &confine.Area{Real: dir}}, caged: caged{program: Program{[]string{"PATH=" + dir}, &process.Processes{}}}}
	err := r.findGit(t.Context())
	if err == nil || !strings.Contains(err.Error(), "but perhaps a script") {
		t.Error(err)
	}
}
