// Package processtest lets tests start real child processes without building anything: called
// as "BINARY program:NAME ARG...", a test binary runs one of its Programs. Processes write
// their pids into files, so that tests find them, and temporary files are in memory. Only
// tests import it.
package processtest

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Programs are the programs that a test binary can run instead of tests. Test files add
// theirs in init.
var Programs = map[string]func(args []string) int{
	// sleeper FILE notes its pid and does not end by itself.
	"sleeper": func(args []string) int {
		Note(args[0])
		time.Sleep(time.Hour) // without cgo an empty select is a deadlock that ends the process
		return 0
	},
}

// Main is the body of TestMain. With program:NAME in args it runs one of the Programs;
// otherwise it calls each function of before and runs the tests. It returns the exit status.
func Main(m *testing.M, args []string, before ...func()) int {
	if len(args) > 1 {
		if name, ok := strings.CutPrefix(args[1], "program:"); ok {
			syscall.Exit(Programs[name](args[2:])) // not os.Exit, which would look for a directory for coverage data
		}
	}
	FilesInMemory()
	flag.CommandLine.Parse(args[1:])
	// Tests of processes mostly wait for their time limits.
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		flag.Set("test.parallel", "8")
	}
	for _, prepare := range before {
		prepare()
	}
	return m.Run()
}

// FindPython puts the directory of the interpreter first in PATH if python3 is a script that
// starts it. The script of pyenv needs twenty times the time of the interpreter.
func FindPython() {
	script, _ := exec.LookPath("python3")
	start := make([]byte, 2)
	f, err := os.Open(script)
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := io.ReadFull(f, start); err != nil || string(start) != "#!" {
		return
	}
	path, err := exec.Command(script, "-c", "import sys; print(sys.executable)").Output()
	if err == nil {
		os.Setenv("PATH", filepath.Dir(string(path))+":"+os.Getenv("PATH"))
	}
}

// Argv is the argument vector that runs one of the Programs.
func Argv(name string, args ...string) []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return append([]string{self, "program:" + name}, args...)
}

// Command is one of the Programs, not started.
func Command(name string, args ...string) *exec.Cmd {
	argv := Argv(name, args...)
	return exec.Command(argv[0], argv[1:]...)
}

// Note appends the pid of this process to a file.
func Note(file string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, os.Getpid())
	f.Close()
}

// Pids are the pids in a file.
func Pids(file string) (pids []int) {
	b, _ := os.ReadFile(file)
	for line := range strings.Lines(string(b)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// LeaveSleeper starts a sleeper with stdout open, and returns when the file has two pids: the
// caller's and the sleeper's.
func LeaveSleeper(file string, stdout *os.File, ownSession bool) {
	cmd := Command("sleeper", file)
	cmd.Stdout = stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: ownSession}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	for len(Pids(file)) < 2 {
		time.Sleep(time.Millisecond)
	}
}

// Running reports whether a process exists and, if the system can report it, has not ended.
func Running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(b), ") ")
	return syscall.Kill(pid, 0) == nil && (err != nil || !strings.HasPrefix(state, "Z"))
}

// AwaitGone waits for the end of a process that was killed.
func AwaitGone(t testing.TB, pid int) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); Running(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d is alive", pid)
		}
	}
}
