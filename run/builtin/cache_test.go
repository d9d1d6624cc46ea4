package builtin

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolpipe/approve"
	"toolpipe/mcp/process/cage"
	"toolpipe/run/config"
)

// TestOpenCache: the directory is the user's, nobody else uses it, and it is made.
func TestOpenCache(t *testing.T) {
	s, real := refusing(t)
	open := real("D/open")
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(real("D/file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/", "H!", "D!", "R!", "R/a/b", "~/", "~/out/root", "~/out/root/x", "~/.cache", "~/.npm", "~/.cargo", "H/xdg", "/proc/x", "/dev/shm/x/y", "D/open", "D/file", "D/file/x"} {
		if got, err := s.openCache(real(dir), real("H/xdg")); err == nil {
			t.Errorf("%s: %q", dir, got)
		}
	}
	for _, made := range []string{"R/a", "R/x", "/dev/shm/x"} {
		if _, err := os.Lstat(real(made)); err == nil {
			t.Errorf("%s was made", made)
		}
	}
	for dir, want := range map[string]string{"~/.cache/toolpipe": "H/.cache/toolpipe", "H/kept": "H/kept", "D/a/b": "D/a/b"} {
		got, err := s.openCache(real(dir), real("H/xdg"))
		if err != nil || got != real(want) {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
		if info, err := os.Stat(got); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
}

// TestCacheVariables: all caches are in one directory, and downloads only where they are possible.
func TestCacheVariables(t *testing.T) {
	s := &Sandbox{said: config.Sandbox{}}
	s.spec.Write = []string{"/temp"}
	check := func(dir string, names ...string) {
		t.Helper()
		vars := s.Environ()
		if vars["TMPDIR"] != "/temp" {
			t.Errorf("TMPDIR=%s", vars["TMPDIR"])
		}
		delete(vars, "TMPDIR")
		for name, value := range vars {
			if filepath.Dir(value) != dir {
				t.Errorf("%s=%s", name, value)
			}
		}
		if got := slices.Sorted(maps.Keys(vars)); !slices.Equal(got, names) {
			t.Errorf("%q", got)
		}
	}
	check("/temp", "GOCACHE", "PIP_CACHE_DIR", "XDG_CACHE_HOME", "npm_config_cache")
	s.said.Cache = "/kept"
	check("/kept", "GOCACHE", "PIP_CACHE_DIR", "XDG_CACHE_HOME", "npm_config_cache")
	if about := s.about(); !strings.Contains(about, "/kept, $TMPDIR") {
		t.Error(about)
	}
	s.spec.Network = cage.WholeNetwork
	check("/kept", "CARGO_HOME", "GOCACHE", "GOMODCACHE", "PIP_CACHE_DIR", "XDG_CACHE_HOME", "npm_config_cache")
}

// TestAllowCache: a rule that denies writing there counts.
func TestAllowCache(t *testing.T) {
	for closed, want := range map[string]bool{"/other": true, "/kept/x": true, "/kept": false, "/": false} {
		s := &Sandbox{said: config.Sandbox{Cache: "/kept"}}
		s.allowCache(approve.Closed{Writes: []string{closed}})
		if got := slices.Contains(s.spec.Write, "/kept"); got != want || (s.partial != nil) != (closed == "/kept/x") {
			t.Errorf("%s: %v, %q", closed, got, s.partial)
		}
	}
}
