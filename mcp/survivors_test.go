//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/mcp/testdata/mcpdouble"
	"toolpipe/testdata/processtest"
)

// Each survivor is a server that leaves something behind when it is treated
// only as one process. It writes the pids of all its processes to a file.
var survivors = map[string]func(file string){
	"plain": func(file string) {
		processtest.Note(file)
		mcpdouble.Main([]string{"-tools", "t"})
	},
	// It ignores the end of its stdin and SIGTERM.
	"deaf": func(file string) {
		signal.Ignore(syscall.SIGTERM)
		processtest.Note(file)
		mcpdouble.Main([]string{"-tools", "t"})
		time.Sleep(time.Hour) // without cgo an empty select is a deadlock that ends the process
	},
	// As npx and uvx do: the server is a child of what was started.
	"launcher": func(file string) {
		processtest.Note(file)
		cmd := exec.Command(os.Args[0], "program:survivor", "deaf", file)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.Run()
	},
	// A helper keeps the pipes open after the server has ended.
	"helper": func(file string) {
		processtest.Note(file)
		processtest.LeaveSleeper(file, os.Stdout, false)
		mcpdouble.Main([]string{"-tools", "t"})
	},
	"exits": func(file string) {
		processtest.Note(file)
		processtest.LeaveSleeper(file, os.Stdout, false)
		os.Exit(1)
	},
}

func init() {
	programs["survivor"] = func(args []string) int {
		survivors[args[0]](args[1])
		return 0
	}
	programs["run"] = func(args []string) int { return oneRun(args[0], args[1], args[2]) }
}

// oneRun is a whole use of a server by a process of its own, which makes
// itself a subreaper and looks at the end whether any child is left. The
// status says what went wrong.
func oneRun(server, file, how string) int {
	process.BecomeSubreaper()
	var procs process.Processes
	spec := Spec{Name: "s", Command: program("survivor", server, file), StartupTimeout: hang, ToolTimeout: hang}
	s, err := Connect(context.Background(), spec, Hooks{}, &procs)
	if (err != nil) != (server == "exits") {
		fmt.Println("connect:", err)
		return 2
	}
	if err == nil {
		if _, err := s.Call(context.Background(), "t", json.RawMessage(`{}`), nil); err != nil {
			fmt.Println("call:", err)
			return 3
		}
	}
	switch how {
	case "close":
		if s != nil {
			s.Close()
		}
	case "kill":
		procs.KillAll()
		if _, err := procs.Start(exec.Command("/bin/true")); err == nil {
			fmt.Println("start after KillAll:", err)
			return 4
		}
	}
	if left := procs.Sweep(hang); left != 0 {
		fmt.Println("left:", left)
		return 5
	}
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		if pids, _ := os.ReadFile(list); len(pids) > 0 {
			fmt.Println("children:", string(pids))
			return 6
		}
	}
	return 0
}

func TestNoProcessSurvives(t *testing.T) {
	for _, server := range slices.Sorted(maps.Keys(survivors)) {
		for _, how := range []string{"close", "kill", "sweep"} {
			t.Run(server+"/"+how, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "pids")
				argv := program("run", server, file, how)
				out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				pids := processtest.Pids(file)
				if want := map[string]int{"plain": 1, "deaf": 1, "exits": 2}[server]; len(pids) < max(want, 1) {
					t.Errorf("pids %v", pids)
				}
				for _, pid := range pids {
					processtest.AwaitGone(t, pid)
				}
			})
		}
	}
}

// TestStoppedServer: a server that is stopped has not ended.
func TestStoppedServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	s, _ := connect(t, Spec{Command: program("survivor", "plain", file)})
	pid := processtest.Pids(file)[0]
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := called(t, s, "t", `{}`); got != "ok" {
		t.Errorf("after a stop: %s", got)
	}
}
