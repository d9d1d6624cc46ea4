package protected_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/files"
	"toolpipe/mcp/builtin/protected"
	"toolpipe/mcp/process"
	"toolpipe/mcp/process/cage"
	"toolpipe/testdata/servertest"
)

// open are ordinary files beside the secrets.
var open = []string{"notes", ".bashrc", ".gitconfig", ".config/app/settings", ".local/share/app/data", ".cargo/config.toml", ".nuget/NuGet/NuGet.Config", ".config/nix/nix.conf"}

// TestReaders makes a file for each row of the table in a home directory. Neither file tools nor
// a program in a sandbox read it; they read ordinary files beside it.
func TestReaders(t *testing.T) {
	rest := protected.Secrets()
	slices.Sort(rest)
	for rest = slices.Compact(rest); len(rest) > 0; { // a row can be below another one, which would hide it
		var now, later []string
		for _, path := range rest {
			if slices.ContainsFunc(now, func(above string) bool { return strings.HasPrefix(path, above+"/") }) {
				later = append(later, path)
			} else {
				now = append(now, path)
			}
		}
		readAll(t, now)
		rest = later
	}
}

func readAll(t *testing.T, secrets []string) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Concat(secrets, open) {
		servertest.Put(t, filepath.Join(home, path), "content\n")
	}
	area, err := confine.Open(confine.Spec{Root: home, Home: home, Anyway: true})
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.Local(t, files.New(area, files.Spec{Name: "files", Processes: &process.Processes{}}))
	for _, path := range secrets {
		servertest.Fails(t, s, "protected", "read_file", "path", path)
	}
	for _, path := range open {
		servertest.Works(t, s, "read_file", "path", path)
	}

	c, _, err := cage.New(cage.Spec{Hide: protected.Places([]string{home})})
	if err != nil {
		t.Skip(err)
	}
	defer c.Close()
	var out bytes.Buffer
	cmd := exec.Command("grep", slices.Concat([]string{"-sl", "content"}, secrets, open)...)
	cmd.Dir, cmd.Stdout = home, &out
	release, _, err := c.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // it cannot read some files
	release()
	if got := strings.Fields(out.String()); !slices.Equal(got, open) {
		t.Errorf("a program in the sandbox reads %q, not %q", got, open)
	}
}

// TestPlaces holds that a directory without secrets gets one path, so that those made later are
// hidden. A link leads away, so it does not count. A name only for files is not hidden if it is a
// directory.
func TestPlaces(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{".cargo", ".envs", "proj.key", "elsewhere/gh", ".config"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../elsewhere/gh", filepath.Join(home, ".config/gh")); err != nil {
		t.Fatal(err)
	}
	below := map[string]int{}
	for _, path := range protected.Places([]string{home}) {
		below[filepath.Dir(path)]++
		if base := filepath.Base(path); base == ".envs" || base == "proj.key" {
			t.Errorf("%s is hidden", path)
		}
	}
	if below[filepath.Join(home, ".cargo")] < 1 || below[filepath.Join(home, ".config")] < 2 {
		t.Errorf("secrets can be made: %v", below)
	}
}

// TestHides: an option for the sandbox is not advised for a path that it hides.
func TestHides(t *testing.T) {
	for path, want := range map[string]bool{"/h/.aws/x": true, "/h/.aws": true, "/h/new/.git/config": false, "/h/x/.claude/y": false, "/h/.claude/y": true, "/etc/shadow": true, "/x/etc/shadow": false} {
		if got := protected.Hides("/h", path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
