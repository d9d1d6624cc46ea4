package revisions

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMemory(t *testing.T) {
	now := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "cache", "toolpipe", "revisions")
	fresh := func() *Memory { return &Memory{Path: path, Now: func() time.Time { return now }} }
	learn := func(key, revision string) {
		t.Helper()
		if err := fresh().Learn(t.Context(), key, revision); err != nil {
			t.Fatal(err)
		}
	}
	knows := func(key, want string) {
		t.Helper()
		if got := fresh().Known(key); got != want {
			t.Errorf("%s is known as %q, want %q", key, got, want)
		}
	}
	a, b := Key("", []string{"npx", "server"}, ""), Key("", []string{"npx server"}, "")
	if a == b || b == Key("npx server", nil, "") || a != Key("", []string{"npx", "server"}, "") {
		t.Error("servers share a key")
	}
	knows(a, "")
	learn(a, "2025-11-25")
	learn(b, "2026-07-28")
	knows(a, "2025-11-25")
	knows(b, "2026-07-28")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if text, _ := os.ReadFile(path); strings.Contains(string(text), "npx") {
		t.Errorf("%s", text)
	}
	learn(b, "")
	knows(b, "")
	now = now.Add(31 * 24 * time.Hour)
	knows(a, "") // it is too old
	learn(a, "2025-11-25")

	// What others can write is not read, nor what is no memory.
	for _, change := range []func() error{
		func() error { return os.Chmod(path, 0o620) },
		func() error { return os.Chmod(path, 0o602) },
		func() error { return os.Chmod(filepath.Dir(path), 0o777) },
		func() error { return os.WriteFile(path, []byte(a+" 2025-11-25\n"+a+" 2025-11-25 x\n"), 0o600) },
		func() error { return os.WriteFile(path, []byte(strings.Repeat("x", maxBytes)+"\n"), 0o600) },
		func() error {
			if err := os.Rename(path, path+"2"); err != nil {
				return err
			}
			return os.Symlink(path+"2", path)
		},
	} {
		os.Chmod(filepath.Dir(path), 0o700)
		os.Remove(path)
		os.Remove(path + "2")
		learn(a, "2025-11-25")
		knows(a, "2025-11-25")
		if err := change(); err != nil {
			t.Fatal(err)
		}
		knows(a, "")
	}

	// The file does not grow without limit; the newest stay.
	os.Remove(path)
	for i := range maxLines + 20 {
		learn(Key("", []string{strconv.Itoa(i)}, ""), "2025-11-25")
	}
	knows(Key("", []string{"0"}, ""), "")
	knows(Key("", []string{strconv.Itoa(maxLines + 19)}, ""), "2025-11-25")
}

// TestNoMemory: without a directory nothing is remembered, which is no error.
func TestNoMemory(t *testing.T) {
	m := &Memory{}
	if err := m.Learn(t.Context(), "k", "2025-11-25"); err != nil || m.Known("k") != "" {
		t.Errorf("%v %q", err, m.Known("k"))
	}
}
