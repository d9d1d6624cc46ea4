package confine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestWritableRoot: a broad directory is refused under each of its names, and the kernel's files
// always.
func TestWritableRoot(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "users", "me")
	project := filepath.Join(home, "project")
	if err := os.MkdirAll(project, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"home": home, "above": dir + "/users", "all": "/", "link": project} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/", "/home", "/home/somebody", "/root", home, home + "/project/..", dir, dir + "/users", dir + "/home", dir + "/above", dir + "/all"} {
		if _, err := os.Stat(path); err != nil && Broad(path, home) == "" {
			t.Errorf("%s is not broad", path)
		} else if _, err := WritableRoot(path, home, false); err == nil {
			t.Errorf("%s is allowed", path)
		}
		if real, err := WritableRoot(path, home, true); errors.Is(err, ErrBroadRoot) {
			t.Errorf("%s anyway: %q, %v", path, real, err)
		}
	}
	for _, path := range []string{project, dir + "/link", home + "/../me/project"} {
		if real, err := WritableRoot(path, dir+"/home", false); real != project || err != nil {
			t.Errorf("%s: %q, %v", path, real, err)
		}
	}
	for _, path := range []string{"/proc", "/proc/sys/kernel", "/proc/sys/kernel/core_pattern", "/sys", "/dev", "/dev/shm", dir + "/none"} {
		if _, err := WritableRoot(path, home, true); err == nil {
			t.Errorf("%s is allowed", path)
		}
	}
	if _, err := WritableRoot("/dev/null", home, false); err != nil {
		t.Error(err)
	}
}

// TestAccountHomes: HOME does not decide alone what is a home directory.
func TestAccountHomes(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root is told the homes of all accounts")
	}
	for _, home := range accountHomes() {
		if real, err := filepath.EvalSymlinks(home); err == nil && Broad(real, "/somewhere") == "" {
			t.Errorf("%s is not broad", real)
		}
	}
}
