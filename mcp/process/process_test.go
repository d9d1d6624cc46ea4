//go:build unix

package process

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolpipe/mcp/process/cage"
	"toolpipe/testdata/processtest"
)

func TestMain(m *testing.M) {
	if err := cage.Enter(os.Args); err != nil {
		panic(err)
	}
	os.Exit(processtest.Main(m, os.Args))
}

func init() {
	processtest.Programs["leaves-sleeper"] = func(args []string) int {
		processtest.Note(args[0])
		processtest.LeaveSleeper(args[0], os.Stdout, false)
		return 1
	}
}

// TestWaitLeavesTheGroup: what a command left in the background goes on until
// its group is ended.
func TestWaitLeavesTheGroup(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	var procs Processes
	cmd := processtest.Command("leaves-sleeper", file)
	cmd.Stdout = io.Discard
	p, err := procs.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err == nil || err.Error() != "exit status 1" {
		t.Errorf("wait: %v", err)
	}
	pids := processtest.Pids(file)
	if len(pids) != 2 || !processtest.Running(pids[1]) {
		t.Fatalf("the sleeper of %v is gone", pids)
	}
	procs.KillAll()
	processtest.AwaitGone(t, pids[1])
}

// Run leaves nothing of the group: when the leader ends, and when the context does.
func TestRun(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{"leaves-sleeper": "exit status 1", "sleeper": "over"} {
		file := filepath.Join(t.TempDir(), "pids")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		if program == "sleeper" {
			go func() {
				for len(processtest.Pids(file)) == 0 {
					time.Sleep(time.Millisecond)
				}
				cancel(errors.New("over"))
			}()
		}
		cmd := processtest.Command(program, file)
		cmd.Stdout = io.Discard
		err := new(Processes).Run(ctx, cmd)
		pids := processtest.Pids(file)
		if err == nil || err.Error() != want || processtest.Running(pids[0]) {
			t.Errorf("%s: %v", program, err)
		}
		for _, pid := range pids {
			processtest.AwaitGone(t, pid)
		}
	}
}

// TestNumberOfAnother: the number of a leader that was reaped may be given to
// somebody else, who gets no signal.
func TestNumberOfAnother(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	p := &Process{pid: cmd.Process.Pid, reaped: true}
	p.Kill()
	procs := Processes{left: []*Process{p}}
	procs.KillAll()
	time.Sleep(20 * time.Millisecond)
	if !processtest.Running(p.pid) || p.groupLeft() {
		t.Error("another process was killed, or taken for a member of the group")
	}
}

func TestChildHasNoTerminalAndNoExtraFiles(t *testing.T) {
	var procs Processes
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "ls /dev/fd; ps -o sid= -p $$ 2>/dev/null; exec 3</dev/tty && echo terminal")
	cmd.Stdout = w
	p, err := procs.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	out, _ := io.ReadAll(r)
	p.Wait()
	if strings.Contains(string(out), "terminal") || strings.Contains(string(out), "\n7\n") {
		t.Errorf("the child sees %q", out)
	}
	if sid, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(p.Pid()), 0, 0); int(sid) == os.Getpid() {
		t.Error("the child is in our session")
	}
}
