//go:build unix

package gitdiff

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
)

// privateFiles counts the files that are made to show a repository.
func privateFiles(t *testing.T, dir string) (made int) {
	t.Helper()
	opened, err := confine.Open(confine.Spec{Root: dir})
	check(t, err)
	r, err := openRepository(t.Context(), opened.Access(confine.Bounds{}), Program{os.Environ(), &process.Processes{}}, ".")
	check(t, err)
	defer r.remove()
	_, err = r.list(t.Context(), []string{"HEAD"}, true)
	check(t, err)
	check(t, filepath.WalkDir(r.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			made++
		}
		return err
	}))
	return made
}

// Git ends when it has printed enough, also when it prints nothing more for long: this
// program is git here, as TestMain has it.
func TestGitEndsWhenFull(t *testing.T) {
	needCage(t)
	self, err := os.Executable()
	check(t, err)
	dir := t.TempDir()
	check(t, os.Symlink(self, filepath.Join(dir, "git")))
	r := &repository{access: &confine.Access{Area: &confine.Area{Real: dir}}, caged: caged{program: Program{[]string{"PATH=" + dir}, &process.Processes{}}}}
	check(t, r.findGit(t.Context()))
	began := time.Now()
	if text, err := r.run(t.Context(), nil, 3, "diff"); string(text) != "1234" || err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("%q after %v: %v", text, time.Since(began), err)
	}
}
