//go:build !portable

package mcp

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

	"toolpipe/mcp/process"
)

func init() { programs["hung-start"] = hungStart }

// native says that the package has its Linux files.
const native = true

func orphans() []int { return process.children() }

// hungStart starts a program that cannot be read: its file is leased, and who
// opens it, exec as well, waits for the holder or for lease-break-time, 45 s
// (fcntl(2)). It sweeps meanwhile and prints what that came to.
func hungStart(args []string) int {
	process.BecomeSubreaper()
	f, err := os.Open(args[0])
	if err != nil {
		panic(err)
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETLEASE, syscall.F_WRLCK); errno != 0 {
		fmt.Print("no leases: ", errno)
		return 0
	}
	var procs process.Processes
	started := make(chan struct{})
	go func() {
		procs.Start(exec.Command(args[0]))
		close(started)
	}()
	for len(process.children()) == 0 {
		time.Sleep(time.Millisecond)
	}
	left := procs.Sweep(8 * time.Second) // much less than lease-break-time
	<-started
	fmt.Print("left ", left, " ", len(process.children()))
	return 0
}

// TestSweepHungStart: what hangs in exec holds up nobody, and is ended.
func TestSweepHungStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang/2) // less than lease-break-time
	defer cancel()
	argv := program("hung-start", file)
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if strings.HasPrefix(string(out), "no leases") {
		t.Skip(string(out))
	}
	if err != nil || string(out) != "left 0 0" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestParentIsKilled: a child that only sleeps would not
// notice a closed pipe.
func TestParentIsKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	argv := program("parent", file)
	cmd := exec.Command(argv[0], argv[1:]...)
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
	pid := pidsIn(file)[0]
	awaitGone(t, pid)
}

func init() {
	programs["parent"] = func(args []string) int {
		var procs process.Processes
		argv := program("survivor", "sleeper", args[0])
		if _, err := procs.Start(exec.Command(argv[0], argv[1:]...)); err != nil {
			panic(err)
		}
		for len(pidsIn(args[0])) == 0 {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("ready")
		time.Sleep(time.Hour) // without cgo an empty select is a deadlock that ends the process
		return 0
	}
}
