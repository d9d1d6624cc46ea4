package confine

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRemoveTree: directories without permissions are removed, and what links lead to stays as it is.
// Root needs no permissions: for it only allowRemoving shows something.
func TestRemoveTree(t *testing.T) {
	base := t.TempDir()
	outside, dir := filepath.Join(base, "outside"), filepath.Join(base, "tree")
	modules := filepath.Join(dir, "mod", "x\xff@v1", "deep")
	for _, d := range []string{outside + "/sub", modules} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"up": outside, "mod/relative": "../../outside", "mod/x\xff@v1/sub": outside + "/sub"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(modules+"/file", nil, 0o444); err != nil {
		t.Fatal(err)
	}
	closed := map[string]os.FileMode{outside: 0o555, modules: 0o555, filepath.Dir(modules): 0, filepath.Join(dir, "mod"): 0o100, dir: 0}
	for _, d := range []string{outside, modules, filepath.Dir(modules), filepath.Join(dir, "mod"), dir} {
		if err := os.Chmod(d, closed[d]); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(outside, 0o755) })
	if os.Getuid() == 0 {
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		allowRemoving(root)
		root.Close()
		for d := range closed {
			if info, err := os.Stat(d); err != nil || (d == outside) != (info.Mode().Perm() == 0o555) || d != outside && info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, %v", d, info.Mode(), err)
			}
		}
	}
	if err := RemoveTree(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the tree is still there")
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("outside: %v, %v", info, err)
	}
	if _, err := os.Stat(outside + "/sub"); err != nil {
		t.Error(err)
	}
}
