package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLookPath: a program is found as a shell finds it, but never in the current directory.
func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"tool": 0o755, "data": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, path, want string }{
		{"tool", "/nonexistent:" + dir, dir + "/tool"},
		{"tool", "", "not found"},
		{"tool", ".", "not found"},
		{"tool", "::relative:", "not found"},
		{"data", dir, "not executable"},
		{"sub", dir, "is a directory"},
		{"./tool", dir, "is relative"},
		{"sub/../tool", dir, "is relative"},
		{dir + "/tool", "", dir + "/tool"},
		{dir + "/none", "", "no such file"},
		{"", dir, "no program"},
	} {
		got, err := LookPath(tt.name, []string{"PATH=/elsewhere", "PATH=" + tt.path})
		if strings.HasPrefix(tt.want, "/") {
			if err != nil || got != tt.want {
				t.Errorf("%q in %q: %q, %v", tt.name, tt.path, got, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), tt.want) && !(tt.name == "sub" && errors.Is(err, exec.ErrNotFound)) {
			t.Errorf("%q in %q: %q, %v, want %q", tt.name, tt.path, got, err, tt.want)
		}
	}
}

// TestChildEnvSecrets: no child gets a proxy's password, or anything by a name
// that only looks like one of a locale, unless it is named.
func TestChildEnvSecrets(t *testing.T) {
	environ := []string{
		"HTTP_PROXY=http://me:p%40ss@proxy.test:3128", "https_proxy=me:pa/ss@proxy.test", "ALL_PROXY=socks5://me:p@ss@[::1]:1080/",
		"http_proxy=http://token@proxy.test", "HTTPS_PROXY=me:p://x@proxy.test:1", "all_proxy=", "NO_PROXY=a.test,b@c.test",
		"LC_ALL=C", "LC_CTYPE=de_DE.UTF-8@euro", "LC_TELEPHONE=C", "LC_SECRET=s", "LC_=s", "LC_PASSWORD=s", "LC_ALLOW=s",
	}
	want := []string{
		"HTTP_PROXY=http://proxy.test:3128", "https_proxy=proxy.test", "ALL_PROXY=socks5://[::1]:1080/",
		"http_proxy=http://proxy.test", "HTTPS_PROXY=proxy.test:1", "all_proxy=", "NO_PROXY=a.test,b@c.test",
		"LC_ALL=C", "LC_CTYPE=de_DE.UTF-8@euro", "LC_TELEPHONE=C",
	}
	if got := ChildEnv(environ, nil, nil); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	want = []string{"HTTP_PROXY=http://me:p%40ss@proxy.test:3128", "LC_SECRET=s"}
	if got := ChildEnv([]string{environ[0], environ[10]}, nil, []string{"HTTP_PROXY", "LC_SECRET"}); !slices.Equal(got, want) {
		t.Errorf("asked for: %q", got)
	}
}
