package confine

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What stands in place of a file that was among the entries of a directory is not read, and
// no end of a FIFO is waited for.
func TestBatchOpensFilesAlone(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.WriteFile(at("file"), []byte("text\n"), 0o600), os.WriteFile(at("own"), []byte("x"), 0o600), os.Link(at("own"), at("other name")),
		os.Symlink("file", at("link")), os.Symlink("none", at("broken")), os.Mkdir(at("directory"), 0o700), syscall.Mkfifo(at("fifo"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	area, err := Open(Spec{Root: dir, Protected: []string{at("own")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { area.Root.Close() })
	b, err := area.Access(Bounds{}).Batch(&Walked{Dir: area.Root, At: "."})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	f, size, err := b.Open("file")
	if err != nil || size != 5 {
		t.Fatal(size, err)
	}
	if text, err := io.ReadAll(f); string(text) != "text\n" || err != nil || f.Close() != nil {
		t.Errorf("%q, %v", text, err)
	}
	for _, name := range []string{"link", "broken", "directory", "fifo"} {
		if f, _, err := b.Open(name); f != nil || err == nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	for _, name := range []string{"none", "own", "other name"} { // they are not there to be seen
		if f, _, err := b.Open(name); f != nil || err != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	if f, _, err := b.Open(strings.Repeat("x", 300)); f != nil || err == nil {
		t.Error(f, err)
	}
}
