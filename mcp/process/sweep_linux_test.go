//go:build !portable

package process

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolpipe/testdata/processtest"
)

func init() { processtest.Programs["hung-start"] = hungStart }

// hungStart starts a program that cannot be read: its file is leased, and who
// opens it, exec as well, waits for the holder or for lease-break-time, 45 s
// (fcntl(2)). It sweeps meanwhile and prints what that came to.
func hungStart(args []string) int {
	BecomeSubreaper()
	f, err := os.Open(args[0])
	if err != nil {
		panic(err)
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETLEASE, syscall.F_WRLCK); errno != 0 {
		fmt.Print("no leases: ", errno)
		return 0
	}
	var procs Processes
	started := make(chan struct{})
	go func() {
		procs.Start(exec.Command(args[0]))
		close(started)
	}()
	for len(children()) == 0 {
		time.Sleep(time.Millisecond)
	}
	left := procs.Sweep(8 * time.Second) // much less than lease-break-time
	<-started
	fmt.Print("left ", left, " ", len(children()))
	return 0
}

// TestSweepHungStart: what hangs in exec holds up nobody, and is ended.
func TestSweepHungStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // less than lease-break-time
	defer cancel()
	argv := processtest.Argv("hung-start", file)
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if strings.HasPrefix(string(out), "no leases") {
		t.Skip(string(out))
	}
	if err != nil || string(out) != "left 0 0" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestDetachedMark: a program that is to go on does not inherit the mark of a child that
// is started at the same time, with which KillTree would kill it.
func TestDetachedMark(t *testing.T) {
	var procs Processes
	marks.Lock()
	started := make(chan error)
	cmd := exec.Command("/bin/sleep", "300")
	go func() { started <- procs.StartDetached(cmd) }()
	select {
	case err := <-started:
		t.Errorf("it was started while the mark of another child may be set: %v", err)
		marks.Unlock()
	case <-time.After(50 * time.Millisecond):
		marks.Unlock()
		if err := <-started; err != nil {
			t.Fatal(err)
		}
	}
	cmd.Process.Kill()
}

// TestParentIsKilled: a child that only sleeps would not
// notice a closed pipe.
func TestParentIsKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	cmd := processtest.Command("parent", file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	bufio.NewReader(out).ReadString('\n')
	cmd.Process.Kill()
	cmd.Wait()
	pid := processtest.Pids(file)[0]
	processtest.AwaitGone(t, pid)
}

func init() {
	processtest.Programs["parent"] = func(args []string) int {
		var procs Processes
		if _, err := procs.Start(processtest.Command("sleeper", args[0])); err != nil {
			panic(err)
		}
		for len(processtest.Pids(args[0])) == 0 {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("ready")
		time.Sleep(time.Hour) // without cgo an empty select is a deadlock that ends the process
		return 0
	}
}
