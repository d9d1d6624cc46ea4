package code

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"toolpipe/testdata/servertest"
)

// An edit for which there is no room leaves the file as it was, and nothing else.
func TestEditOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("no small file system: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	before := "package a\n\nvar A = 1\n" + strings.Repeat("// a\n", 100_000)
	servertest.Put(t, filepath.Join(dir, "a.go"), before)
	s := serverOver(t, dir)
	servertest.Fails(t, s, "no space left", "edit_definition", "path", "a.go", "name", "A", "operation", "insert_after", "content", strings.Repeat("// b\n", 100_000))
	if servertest.Get(t, filepath.Join(dir, "a.go")) != before {
		t.Error("the file was changed")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
}
