//go:build !portable

package process

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe"
)

// TestAwaitExit shows that the end of a child is seen with the pidfd of package os, and
// with one that no poller takes, and that the child is not reaped by that.
func TestAwaitExit(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	for _, unpollable := range []bool{false, true} {
		for _, program := range []string{"true", "cat"} {
			cmd := exec.Command(program)
			in, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			if unpollable {
				cmd.Process.WithHandle(func(pidfd uintptr) { syscall.Dup3(int(file.Fd()), int(pidfd), syscall.O_CLOEXEC) })
			}
			ended := make(chan bool)
			go func() { ended <- awaitExit(cmd.Process) }()
			if program == "cat" {
				select {
				case <-ended:
					t.Errorf("%s: the child had not ended", program)
				default:
				}
				in.Close()
			}
			if !<-ended {
				t.Errorf("%s: the system cannot wait", program)
			}
			if pid, err := syscall.Wait4(cmd.Process.Pid, nil, syscall.WNOHANG, nil); pid != cmd.Process.Pid || err != nil {
				t.Errorf("%s: reaping gave %d, %v", program, pid, err)
			}
			cmd.Process.Release()
		}
	}
	if self, _ := os.FindProcess(os.Getpid()); awaitExit(self) {
		t.Error("a process that is no child was waited for")
	}
}

// TestPidfdRefused runs the tests of this package where clone(2) refuses to give a pidfd:
// a filter of seccomp(2) stands for QEMU in user mode and for other sandboxes.
func TestPidfdRefused(t *testing.T) {
	const mark, noFilter = "TOOLPIPE_TEST_REFUSE_PIDFD=1", 77 // a status that no test has
	if !slices.Contains(os.Environ(), mark) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPidfdRefused$")
		cmd.Env = append(os.Environ(), mark)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == noFilter {
			t.Skip("this system takes no filter of seccomp")
		}
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	runtime.LockOSThread() // the filter is that of a thread, and of the program that it executes
	const (
		load, equal, anyBit, answer = 0x20, 0x15, 0x45, 0x06 // instructions: classes and modes of <linux/bpf_common.h>
		number, firstArgument       = 0, 16                  // offsets in struct seccomp_data
		clonePidfd                  = 0x1000
		allow, refuse               = 0x7fff0000, 0x50000 | uint32(syscall.EINVAL)
	)
	code := []syscall.SockFilter{
		{Code: load, K: number},
		{Code: equal, K: syscall.SYS_CLONE, Jf: 3},
		{Code: load, K: firstArgument},
		{Code: anyBit, K: clonePidfd, Jf: 1},
		{Code: answer, K: refuse},
		{Code: answer, K: allow},
	}
	program := syscall.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	const prSetNoNewPrivs, prSetSeccomp, modeFilter = 38, 22, 2
	syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetSeccomp, modeFilter, uintptr(unsafe.Pointer(&program))); errno != 0 {
		os.Exit(noFilter)
	}
	t.Fatal(syscall.Exec(os.Args[0], []string{os.Args[0], "-test.skip=^TestPidfdRefused$"}, os.Environ()))
}
