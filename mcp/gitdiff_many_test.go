//go:build unix

package mcp

import (
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// borrowedFiles is how many files are made to show a repository.
func borrowedFiles(t *testing.T, dir string, revs ...string) (files int) {
	t.Helper()
	tree, err := openTree(rootSpec{Root: dir})
	check(t, err)
	b, err := tree.view(Bounds{}).borrowRepository(t.Context(), gitProgram{environ: os.Environ()}, revs...)
	check(t, err)
	defer b.remove()
	check(t, filepath.WalkDir(b.dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files++
		}
		return err
	}))
	return files
}

// What git gets of a repository does not grow with its loose objects and its
// references.
func TestGitDiffManyLooseObjects(t *testing.T) {
	files := map[string]string{"a": "one\n"}
	for i := range 7000 {
		files[fmt.Sprintf("d%d/f%d", i%70, i)] = fmt.Sprintln("content", i)
	}
	dir, s, git := repository(t, files)
	git("config", "gc.auto", "0")
	first := git("rev-parse", "HEAD")
	put(t, filepath.Join(dir, "d3/f3"), "staged\n")
	git("add", "d3/f3")
	git("commit", "-q", "-m", "second")
	git("tag", "-a", "-m", "t", "annotated")
	git("symbolic-ref", "refs/heads/chain", "refs/heads/link")
	git("symbolic-ref", "refs/heads/link", "refs/tags/annotated")
	for i := range 5000 {
		put(t, filepath.Join(dir, fmt.Sprintf(".git/refs/heads/b%d/x%d", i%7, i)), first+"\n")
	}
	put(t, filepath.Join(dir, ".git/refs/remotes/origin/HEAD"), "ref: refs/remotes/origin/main\n")
	put(t, filepath.Join(dir, ".git/refs/remotes/origin/main"), first+"\n")
	if files := borrowedFiles(t, dir, "HEAD"); files > 50 {
		t.Errorf("%d files were made", files)
	}
	put(t, filepath.Join(dir, "a"), "two\n")
	check(t, os.Remove(filepath.Join(dir, "d4/f4")))
	for _, base := range []string{"HEAD", "HEAD~1", "@~", "b3/x3", "heads/b3/x3", "refs/heads/b3/x3", "annotated", "chain^{}", "link^", "origin", "origin/main", "main~1", first[:12], git("describe", "--long", "--always")} {
		if got, want := works(t, s, "get_git_diff", "base_rev", base), plainDiff(t, dir, base); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", base, got, want)
		}
		if got, want := works(t, s, "get_git_diff", "base_rev", base, "head_rev", "HEAD"), plainDiff(t, dir, base, "HEAD"); got != want {
			t.Errorf("%s to HEAD:\n%s\nwant:\n%s", base, got, want)
		}
	}
	fails(t, s, "names no commit", "get_git_diff", "base_rev", "b3")
	gone := git("rev-parse", "HEAD:a")
	check(t, os.Remove(filepath.Join(dir, ".git/objects", gone[:2], gone[2:])))
	fails(t, s, "git diff failed", "get_git_diff")
}

// An object that git packs between the look at it and its use is still there.
func TestGitDiffPackedMeanwhile(t *testing.T) {
	dir, _, git := repository(t, map[string]string{"a": "one\n"})
	id, err := hex.DecodeString(git("rev-parse", "HEAD:a"))
	check(t, err)
	tree, err := openTree(rootSpec{Root: dir})
	check(t, err)
	b, err := tree.view(Bounds{}).borrowRepository(t.Context(), gitProgram{environ: os.Environ()}, "HEAD")
	check(t, err)
	defer b.remove()
	git("gc", "-q")
	check(t, b.content(t.Context(), id))
	check(t, b.finish())
	check(t, b.run(t.Context(), func(r io.Reader) error {
		got, err := io.ReadAll(r)
		if string(got) != "one\n" {
			t.Errorf("%q", got)
		}
		return err
	}, "cat-file", "blob", "HEAD:a"))
}

// No more files are copied than an answer can show, and it says so, also if
// what was copied turns out not to differ.
func TestGitDiffManyChanges(t *testing.T) {
	files := map[string]string{".gitattributes": "*.txt text eol=crlf\n"}
	for i := range 6000 {
		files[fmt.Sprintf("d%d/f%d.txt", i%70, i)] = "same\n"
	}
	dir, s, git := repository(t, files)
	compared := func(what string, most int) {
		t.Helper()
		tree, err := openTree(rootSpec{Root: dir})
		check(t, err)
		b, err := tree.view(Bounds{}).borrowRepository(t.Context(), gitProgram{environ: os.Environ()}, "HEAD")
		check(t, err)
		defer b.remove()
		snapshot, err := b.snapshot(".")
		check(t, err)
		defer snapshot.close()
		check(t, snapshot.compare(t.Context()))
		if n := len(snapshot.copied); n > most {
			t.Errorf("%s: %d files were copied", what, n)
		}
	}
	rewrite := func(content string) {
		t.Helper()
		for name := range files {
			if name != ".gitattributes" {
				put(t, filepath.Join(dir, name), content)
			}
		}
	}
	const cut = "\n[toolpipe] the diff goes on and is cut here; a path shows less of it\n"
	rewrite("same\r\n")
	compared("only line ends", 5000)
	if got := works(t, s, "get_git_diff"); got != cut[1:] {
		t.Errorf("only line ends: %.200q", got)
	}
	rewrite("other\r\n")
	compared("other content", 5000)
	got, whole := works(t, s, "get_git_diff"), plainDiff(t, dir, "HEAD")
	if shown, ok := strings.CutSuffix(got, cut); !ok || len(shown) < maxText-4 || !strings.HasPrefix(whole, shown) {
		t.Errorf("other content: %d bytes, %q", len(got), got[len(got)-200:])
	}
	git("commit", "-q", "-a", "-m", "second")
	got, whole = works(t, s, "get_git_diff", "base_rev", "HEAD~1", "head_rev", "HEAD"), plainDiff(t, dir, "HEAD~1", "HEAD")
	if shown, ok := strings.CutSuffix(got, cut); !ok || len(shown) < maxText-4 || !strings.HasPrefix(whole, shown) {
		t.Errorf("two commits: %d bytes, %q", len(got), got[len(got)-200:])
	}
	for name := range files {
		check(t, os.Remove(filepath.Join(dir, name)))
	}
	got, whole = works(t, s, "get_git_diff"), plainDiff(t, dir, "HEAD")
	if shown, ok := strings.CutSuffix(got, cut); !ok || len(shown) < maxText-4 || !strings.HasPrefix(whole, shown) {
		t.Errorf("all removed: %d bytes, %q", len(got), got[len(got)-200:])
	}
}
