package process

import (
	"bufio"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolpipe/testdata/processtest"
)

// detaches starts two programs that are to outlive it and an ordinary one, sweeps,
// and ends. Each of the three prints its pid, that of its child, and stays.
func detaches([]string) int {
	BecomeSubreaper()
	var procs Processes
	start := func(begin func(*exec.Cmd) error) {
		cmd := exec.Command("/bin/sh", "-c", "sleep 600 & echo $$ $!; exec >&-; wait")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = begin(cmd)
		}
		if err != nil {
			panic(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		fmt.Print(line)
	}
	start(procs.StartDetached)
	start(procs.StartDetached)
	start(func(cmd *exec.Cmd) error {
		_, err := procs.Start(cmd)
		return err
	})
	fmt.Println(procs.Sweep(20 * time.Second))
	return 0
}

func init() { processtest.Programs["detaches"] = detaches }

// TestStartDetached: a browser goes on when the program that started it has swept
// and ended, its own children too; everything else does not.
func TestStartDetached(t *testing.T) {
	argv := processtest.Argv("detaches")
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(out))
	if len(words) != 7 || words[6] != "0" {
		t.Fatalf("%q", out)
	}
	for i, word := range words[:5] { // the last may be killed and wait for process 1 to reap it
		pid, _ := strconv.Atoi(word)
		defer syscall.Kill(pid, syscall.SIGKILL)
		if alive := syscall.Kill(pid, 0) == nil; alive != (i < 4) {
			t.Errorf("process %d of %q is alive: %t", i, words, alive)
		}
	}
}
