package mcp

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLookPath: security.md R5.
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
