//go:build !portable

package process

import (
	"bufio"
	"io"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"toolpipe/mcp/process/cage"
)

// TestSignalsOfWrapped: a signal reaches the program that bubblewrap started, which may
// end by itself; SIGKILL ends both, and what it has started.
func TestSignalsOfWrapped(t *testing.T) {
	holder := cage.FindHolder(exec.LookPath)
	if !holder.Below {
		t.Skip(holder.Without)
	}
	c, _, err := cage.New(cage.Spec{Holder: holder})
	if err != nil {
		t.Skip(err)
	}
	defer c.Close()
	var procs Processes
	in := procs.In(c.Start)
	start := func(script string) (*Process, *bufio.Reader) {
		t.Helper()
		out, theirs := io.Pipe()
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Stdout = theirs
		pr, err := in.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(out)
		if line, err := r.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		return pr, r
	}

	pr, out := start(`trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.05; done`)
	go io.Copy(io.Discard, out)
	if !pr.Signal(syscall.SIGTERM) || !pr.EndsWithin(5*time.Second) || pr.State().ExitCode() != 3 {
		t.Errorf("SIGTERM: %v", pr.State())
	}
	pr, out = start(`trap 'echo asked' TERM; setsid sleep 300 & echo ready; while :; do sleep 0.05; done`)
	go io.Copy(io.Discard, out)
	pr.End(100 * time.Millisecond)
	if pr.State() == nil {
		t.Error("the program has not ended")
	}
	if left := procs.Sweep(5 * time.Second); left != 0 {
		t.Errorf("%d processes are left", left)
	}
}
