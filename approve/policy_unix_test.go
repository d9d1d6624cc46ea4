//go:build unix

package approve

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestLoadPolicyRefuses(t *testing.T) {
	good := `{"version":1}`
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{write(t, good, 0o666), "can be written by everybody (mode 0666)"},
		{write(t, good, 0o602), "can be written by everybody (mode 0602)"},
		{fifo, "is not a regular file"},
		{t.TempDir(), "is not a regular file"},
		{"/dev/null", "is not a regular file"},
		{filepath.Join(t.TempDir(), "none"), "no such file"},
		{write(t, good+strings.Repeat(" ", maxPolicy), 0o600), "is larger than 4 MiB"},
	} {
		if _, err := LoadPolicy(c.path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.path, err, c.want)
		}
	}
	if _, err := LoadPolicy(write(t, good, 0o620)); err != nil {
		t.Errorf("writable by the group: %v", err)
	}
}
