//go:build unix

package gitdiff

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/servertest"
)

// privateFiles is how many files are made to show the working tree of a
// repository, and how many of those for changed
func privateFiles(t *testing.T, dir string) (all, made int) {
	t.Helper()
	tree, err := confine.Open(confine.Spec{Root: dir})
	check(t, err)
	g, err := openRepository(t.Context(), tree.Access(confine.Bounds{}), Program{Environ: os.Environ()})
	check(t, err)
	defer g.remove()
	snapshot, err := g.snapshot(".")
	check(t, err)
	defer snapshot.close()
	check(t, snapshot.compare(t.Context()))
	check(t, filepath.WalkDir(g.dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all++
		}
		return err
	}))
	return all, min(snapshot.files, maxChanged)
}

// The number of files that are made does not grow with the loose objects and
// references of a repository.
func TestGitDiffFewFilesMade(t *testing.T) {
	dir, _, _, _ := manyLooseObjects(t)
	if all, made := privateFiles(t, dir); all > 20 || made > 0 {
		t.Errorf("%d files were made, %d of them copies", all, made)
	}
}

// No more files are copied than a bound says, and an answer says so.
func TestGitDiffMaxChanged(t *testing.T) {
	old := maxChanged
	t.Cleanup(func() { maxChanged = old })
	maxChanged = 50
	many := map[string]string{".gitattributes": "*.txt text eol=crlf\n"}
	for i := range 60 {
		many[fmt.Sprintf("d%d/f%02d.txt", i%7, i)] = "same\n"
	}
	dir, s, _ := repository(t, many)
	for name := range many {
		if name != ".gitattributes" {
			servertest.Put(t, filepath.Join(dir, name), "same\r\n")
		}
	}
	if _, copied := privateFiles(t, dir); copied != maxChanged {
		t.Errorf("%d files were copied", copied)
	}
	want := "[toolpipe] the diff goes on and is cut here; a path shows less of it\n"
	if got := servertest.Works(t, s, "get_git_diff"); got != want {
		t.Errorf("only line ends: %s", got)
	}
	if got := servertest.Works(t, s, "get_git_diff", "path", "d1"); got != "no differences\n" {
		t.Errorf("a path: %s", got)
	}
}
