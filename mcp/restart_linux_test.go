//go:build !portable

package mcp

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolpipe/mcp/process"
)

// TestRestartOneCopy: a server that reads the probe and does not answer is ended,
// with all that it started, before the next process of it starts. What has ended may
// wait to be reaped.
func TestRestartOneCopy(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid")
	}
	dir := t.TempDir()
	spec := stdio("-fault", "silent-discover")
	quickProbe(&spec)
	// A launcher, as npx is one, with the server as its child, which leaves the group.
	spec.Command = append([]string{"/bin/sh", "-c", `exec 3<&0
		for other in "$0"/pid.*; do grep -qs "^State:.[^ZX]" "/proc/${other##*.}/status" && echo "${other##*.}" >> "$0/twice"; done
		echo > "$0/pid.$$"
		setsid /bin/sh -c 'echo > "$0/pid.$$"; exec "$@"' "$0" "$@" <&3 3<&- & wait`, dir}, spec.Command...)
	s, _ := connect(t, spec)
	if s.Protocol() != "2025-11-25" {
		t.Errorf("speaks %s", s.Protocol())
	}
	if pids, _ := filepath.Glob(dir + "/pid.*"); len(pids) != 4 {
		t.Errorf("processes: %q, want two of each start", pids)
	}
	if twice, err := os.ReadFile(dir + "/twice"); err == nil {
		t.Errorf("at the second start these were alive: %s", strings.Fields(string(twice)))
	}
}

// TestProbeAwaitsTheReader: as long as nothing has read the probe, the server is
// being started, and is not ended.
func TestProbeAwaitsTheReader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	c := &stdioTransport{in: w}
	w.Write([]byte("probe"))
	if !process.Unread(w) {
		t.Skip("the system does not tell what was read")
	}
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	if d := c.silentFor(ago(time.Hour), time.Minute); d != 0 {
		t.Errorf("silent for %v before it read the probe", d)
	}
	r.Read(make([]byte, 10))
	c.heard.Store(ago(3 * time.Second).UnixNano())
	if d := c.silentFor(ago(10*time.Second), time.Minute); d < 3*time.Second || d > 8*time.Second {
		t.Errorf("silent for %v, want 3s", d)
	}
	if d := c.silentFor(ago(10*time.Second), 5*time.Second); d < 10*time.Second {
		t.Errorf("one that writes and does not answer is silent for %v, want 10s", d)
	}
}
