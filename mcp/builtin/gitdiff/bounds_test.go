//go:build unix

package gitdiff

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/servertest"
)

// privateFiles counts the files that are made to show the working tree of a
// repository: those of the private git directory without references, and the
// copies of changed files.
func privateFiles(t *testing.T, dir string) (private, copies int) {
	t.Helper()
	opened, err := confine.Open(confine.Spec{Root: dir})
	check(t, err)
	r, err := openRepository(t.Context(), opened.Access(confine.Bounds{}), Program{os.Environ(), &process.Processes{}}, ".")
	check(t, err)
	defer r.remove()
	check(t, r.compare(t.Context()))
	check(t, filepath.WalkDir(r.dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir():
		case strings.HasPrefix(path, filepath.Join(r.dir, "tree")):
			copies++
		case !strings.HasPrefix(path, filepath.Join(r.dir, "git/refs")):
			private++
		}
		return err
	}))
	return private, copies
}

// No more files are copied than a bound says, and an answer names what it leaves out.
func TestGitDiffMaxChanged(t *testing.T) {
	old := maxCopied
	t.Cleanup(func() { maxCopied = old })
	maxCopied = 30 * leastCopied
	many := map[string]string{".gitattributes": "*.txt text eol=crlf\n"}
	for i := range 60 {
		many[fmt.Sprintf("d%d/f%02d.txt", i%7, i)] = "same\n"
	}
	dir, s, _ := newRepository(t, many)
	for name := range many {
		if name != ".gitattributes" {
			servertest.Put(t, filepath.Join(dir, name), "same\r\n")
		}
	}
	if _, copies := privateFiles(t, dir); copies != 30 {
		t.Errorf("%d files were copied", copies)
	}
	got := servertest.Works(t, s, "get_git_diff")
	if !strings.HasPrefix(got, "no differences in what is shown\n") || strings.Count(got, " is left out: too much has changed; a path shows less of it\n") != maxLeft || !strings.HasSuffix(got, "[toolpipe] 10 more files are left out\n") {
		t.Errorf("only line ends: %s", got)
	}
	if got := servertest.Works(t, s, "get_git_diff", "path", "d1"); got != "no differences\n" {
		t.Errorf("a path: %s", got)
	}
}

// Git ends when it has printed enough, also when it prints nothing more for long.
func TestGitEndsWhenFull(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Mkdir(filepath.Join(dir, "tree"), 0o700))
	servertest.Put(t, filepath.Join(dir, "git"), "#!/bin/sh\nprintf 12345\nexec sleep 20\n")
	check(t, os.Chmod(filepath.Join(dir, "git"), 0o700))
	r := &repository{dir: dir, program: Program{[]string{"PATH=" + dir + ":" + os.Getenv("PATH")}, &process.Processes{}}}
	began := time.Now()
	if text, err := r.git(t.Context(), nil, 3, "diff"); string(text) != "1234" || err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("%q after %v: %v", text, time.Since(began), err)
	}
}
