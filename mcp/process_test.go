//go:build unix

package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolpipe/mcp/process"
)

// Each survivor is a server that leaves something behind when it is treated
// only as one process. It writes the pids of all its processes to a file.
var survivors = map[string]func(file string){
	"plain": func(file string) {
		note(file)
		(&double{in: bufio.NewReader(os.Stdin), out: os.Stdout}).serve()
	},
	// It ignores the end of its stdin and SIGTERM.
	"deaf": func(file string) {
		signal.Ignore(syscall.SIGTERM)
		note(file)
		(&double{in: bufio.NewReader(os.Stdin), out: os.Stdout}).serve()
		time.Sleep(time.Hour) // without cgo an empty select is a deadlock that ends the process
	},
	// As npx and uvx do: the server is a child of what was started.
	"launcher": func(file string) {
		note(file)
		cmd := exec.Command(os.Args[0], "program:survivor", "deaf", file)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.Run()
	},
	// A helper keeps the pipes open after the server has ended.
	"helper": func(file string) {
		note(file)
		keep(file, false)
		(&double{in: bufio.NewReader(os.Stdin), out: os.Stdout}).serve()
	},
	// It leaves its session and its parent, as daemons do.
	"daemon": func(file string) {
		note(file)
		keep(file, true)
		(&double{in: bufio.NewReader(os.Stdin), out: os.Stdout}).serve()
	},
	"sleeper": func(file string) {
		note(file)
		time.Sleep(time.Hour) // without cgo an empty select is a deadlock that ends the process
	},
	"exits": func(file string) {
		note(file)
		keep(file, false)
		os.Exit(1)
	},
}

func note(file string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, os.Getpid())
	f.Close()
}

// keep starts a sleeper that holds stdout and waits until it runs.
func keep(file string, ownSession bool) {
	cmd := exec.Command(os.Args[0], "program:survivor", "sleeper", file)
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: ownSession}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	for len(pidsIn(file)) < 2 {
		time.Sleep(time.Millisecond)
	}
}

func pidsIn(file string) (pids []int) {
	b, _ := os.ReadFile(file)
	for line := range strings.Lines(string(b)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func pidAlive(pid int) bool { return syscall.Kill(pid, 0) == nil }

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
		if _, err := procs.Start(exec.Command("/bin/true")); err != process.errClosed {
			fmt.Println("start after KillAll:", err)
			return 4
		}
	}
	if left := procs.Sweep(hang); left != 0 {
		fmt.Println("left:", left)
		return 5
	}
	if orphans := orphans(); len(orphans) > 0 {
		fmt.Println("children:", orphans)
		return 6
	}
	return 0
}

func TestNoProcessSurvives(t *testing.T) {
	for _, server := range []string{"plain", "deaf", "launcher", "helper", "daemon", "exits"} {
		for _, how := range []string{"close", "kill", "sweep"} {
			t.Run(server+"/"+how, func(t *testing.T) {
				t.Parallel()
				if server == "daemon" && !native {
					t.Skip("only on Linux is a process found that has left its session")
				}
				file := filepath.Join(t.TempDir(), "pids")
				argv := program("run", server, file, how)
				out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				pids := pidsIn(file)
				if want := map[string]int{"plain": 1, "deaf": 1, "exits": 2}[server]; len(pids) < max(want, 1) {
					t.Errorf("pids %v", pids)
				}
				for _, pid := range pids {
					awaitGone(t, pid)
				}
			})
		}
	}
}

// pidRunning says whether a process is there and, where that can be told, not
// only waited for.
func pidRunning(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(b), ") ")
	return syscall.Kill(pid, 0) == nil && (err != nil || !strings.HasPrefix(state, "Z"))
}

// awaitGone waits for the end of a process that was killed.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(hang / 4); pidRunning(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d is alive", pid)
		}
	}
}

// TestWaitLeavesTheGroup: what a command left in the background goes on until
// its group is ended.
func TestWaitLeavesTheGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	var procs process.Processes
	argv := program("survivor", "exits", file)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout = io.Discard
	p, err := procs.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err == nil || err.Error() != "exit status 1" {
		t.Errorf("wait: %v", err)
	}
	pids := pidsIn(file)
	if len(pids) != 2 || !pidRunning(pids[1]) {
		t.Fatalf("the sleeper of %v is gone", pids)
	}
	procs.KillAll()
	awaitGone(t, pids[1])
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
	p := &process.Process{pid: cmd.Process.Pid, reaped: true}
	p.Kill()
	procs := process.Processes{left: []*process.Process{p}}
	procs.KillAll()
	time.Sleep(20 * time.Millisecond)
	if !pidRunning(p.pid) || p.groupLeft() {
		t.Error("another process was killed, or taken for a member of the group")
	}
}

// TestStoppedServer: a server that is stopped has not ended.
func TestStoppedServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	s, _ := connect(t, Spec{Command: program("survivor", "plain", file)})
	pid := pidsIn(file)[0]
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

func TestChildHasNoTerminalAndNoExtraFiles(t *testing.T) {
	var procs process.Processes
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
