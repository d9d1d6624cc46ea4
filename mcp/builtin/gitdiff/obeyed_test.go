package gitdiff

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolpipe/mcp/process"
)

// TestAskGit: the answer has every file that git obeys, however the configuration names it, and
// no program of the repository runs.
func TestAskGit(t *testing.T) {
	needCage(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	home := filepath.Join(dir, "home")
	tree := filepath.Join(dir, "tree")
	check(t, exec.Command("git", "init", "-q", tree).Run())
	put := func(name, text string) {
		check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777))
	}
	put("tree/evil.sh", "#!/bin/sh\ntouch "+dir+"/ran\n")
	put("tree/a.inc", "[include]\n\tpath = b.inc\n")
	put("tree/b.inc", "")
	put("tree/cond.inc", "[include]\n\tpath = inner.inc\n")
	put("tree/inner.inc", "[alias]\n\tx = !./evil.sh\n")
	put("tree/filter.py", "")
	put("tree/home.hooks/x", "")
	put("home/.gitconfig", "[include]\n\tpath = "+tree+"/global.inc\n")
	put("tree/.gitmodules", "[submodule \"m\"]\n\tpath = deep/down/mod\n\turl = x\n")
	config := filepath.Join(tree, ".git/config")
	plain, err := os.ReadFile(config)
	check(t, err)
	ask := AskGit(t.Context(), Program{[]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, &process.Processes{}})
	for _, x := range []struct{ config, want string }{
		{"", ".git/hooks .git/config"},
		{"[core] hooksPath = ci/hooks # shared\n", "ci/hooks"},
		{"[core]\n\thooksPath = \"ci/\\\n  hooks\"\n", "ci/  hooks"},
		{"[core]\n\thooksPath = x\n\thookspath = .githooks ; last\n", ".githooks"},
		{"[include]\n\tpath = ../a.inc\n", "a.inc b.inc"},
		{"[includeIf \"onbranch:other\"]\n\tpath = ../cond.inc\n[include]\n\tpath = ../missing.inc\n", "cond.inc inner.inc evil.sh missing.inc"},
		{"[filter \"f\"]\n\tclean = python3 ./filter.py\n[core]\n\tfsmonitor = ./evil.sh\n[pager]\n\tconfig = ./evil.sh\n", "filter.py evil.sh"},
		{"[include]\n\tpath = ~/../tree/from-home.inc\n", "from-home.inc global.inc"},
	} {
		check(t, os.WriteFile(config, append(slices.Clone(plain), x.config...), 0o666))
		o, err := ask(filepath.Join(tree, ".git"), tree)
		if err != nil {
			t.Errorf("%s: %v", x.config, err)
		}
		for want := range strings.FieldsSeq(strings.ReplaceAll(x.want, "  ", "\x00")) {
			if want = filepath.Join(tree, strings.ReplaceAll(want, "\x00", "  ")); !slices.Contains(o.Files, want) {
				t.Errorf("%s: %q lacks %s", x.config, o.Files, want)
			}
		}
		if got, want := strings.Join(o.Dirs, " "), tree+"/.git "+tree+"/.git"; got != want {
			t.Errorf("directories %q, want %q", got, want)
		}
		if got, want := strings.Join(o.Trees, " "), tree+" "+tree+"/deep/down/mod"; got != want {
			t.Errorf("trees %q, want %q", got, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a program of the repository ran")
	}
	check(t, os.WriteFile(config, []byte("[broken"), 0o666))
	if _, err := ask(filepath.Join(tree, ".git"), tree); err == nil {
		t.Error("a broken configuration has an answer")
	}
	check(t, os.Rename(filepath.Join(tree, ".git"), filepath.Join(tree, "moved")))
	check(t, os.WriteFile(filepath.Join(tree, "moved/config"), append(slices.Clone(plain), "[core]\n\tworktree = ../tree2\n"...), 0o666))
	put("tree/.git", "gitdir: moved\n")
	if o, err := ask(filepath.Join(tree, ".git"), tree); err != nil || !slices.Contains(o.Dirs, filepath.Join(tree, "moved")) || !slices.Contains(o.Files, filepath.Join(tree, "moved/hooks")) {
		t.Errorf("a file .git: %v, %v", o, err)
	}
}

// Without git the reason is said.
func TestAskGitWithout(t *testing.T) {
	needCage(t)
	_, err := AskGit(t.Context(), Program{[]string{"PATH=/nowhere"}, &process.Processes{}})("/x/.git", "/x")
	if err == nil || err.Error() != "git is not installed" {
		t.Error(err)
	}
}
