//go:build !portable

package process

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestExitWatch shows that the end of a child is seen with a pidfd, without one, and
// with a descriptor that no poller takes, and that the child is not reaped by that.
func TestExitWatch(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*exitWatch){
		"pidfd": func(*exitWatch) {},
		"none":  func(w *exitWatch) { syscall.Close(w.pidfd); w.pidfd = -1 },
		"file":  func(w *exitWatch) { syscall.Dup3(int(file.Fd()), w.pidfd, syscall.O_CLOEXEC) },
	} {
		for _, program := range []string{"true", "cat"} {
			var w exitWatch
			cmd := exec.Command(program)
			cmd.SysProcAttr = new(syscall.SysProcAttr)
			w.ask(cmd.SysProcAttr)
			in, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			if name == "pidfd" && w.pidfd < 0 {
				t.Skip("this system gives no pidfd")
			}
			change(&w)
			ended := make(chan bool)
			go func() { ended <- w.await(cmd.Process.Pid) }()
			if program == "cat" {
				select {
				case <-ended:
					t.Errorf("%s: the child had not ended", name)
				default:
				}
				in.Close()
			}
			if !<-ended {
				t.Errorf("%s, %s: the system cannot wait", name, program)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s, %s: %v", name, program, err)
			}
		}
	}
	if (&exitWatch{pidfd: -1}).await(os.Getpid()) {
		t.Error("a process that is no child was waited for")
	}
}
