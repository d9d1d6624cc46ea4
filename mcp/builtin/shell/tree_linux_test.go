//go:build !portable

package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/testdata/processtest"
)

func init() {
	processtest.Programs["astray"] = astray
	processtest.Programs["roamer"] = roamer
	processtest.Programs["hydra"] = hydra
	processtest.Programs["shell-tree"] = func(args []string) int { return shellTree(args[0], args[1]) }
	processtest.Programs["shell-claims"] = func(args []string) int { return shellClaims(args[0], args[1]) }
	processtest.Programs["unlimited"] = unlimited
}

// limitLocks is RLIMIT_LOCKS: the soft limit marks what a command started.
const limitLocks = 10

// astray leaves a sleeper behind as a daemon: in a session of its own, without
// environment, streams and parent.
func astray(args []string) int {
	cmd := processtest.Command("sleeper", args[0])
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return 0
}

// roamer has a sleeper in another session for a child.
func roamer(args []string) int {
	processtest.Note(args[0])
	processtest.LeaveSleeper(args[0], os.Stdout, true)
	time.Sleep(time.Hour)
	return 0
}

// hydra is never the same process for long: each one starts the next, in a
// session of its own, and ends. Without the directory of the file it gives up.
func hydra(args []string) int {
	processtest.Note(args[0])
	cmd := processtest.Command("hydra", args[0])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return 0
}

// wanderers is a script that starts a process in another group, a daemon, a
// child in another session and, if asked, a hydra, and goes on. What ran notes
// its pid in file.
func wanderers(file string, withHydra bool) string {
	self := processtest.Argv("")[0]
	script := fmt.Sprintf("%[1]s program:astray %[2]s; set -m; %[1]s program:sleeper %[2]s & %[1]s program:roamer %[2]s.d & ", self, file)
	if withHydra {
		script += fmt.Sprintf("%s program:hydra %s.h; ", self, file)
	}
	return script + "sleep 300"
}

// ran reports whether everything of wanderers runs.
func ran(file string, withHydra bool) bool {
	return len(processtest.Pids(file)) == 2 && len(processtest.Pids(file+".d")) == 2 && (!withHydra || len(processtest.Pids(file+".h")) > 2)
}

// shellTree is a run in which a command ends by how, a timeout or a cancel,
// among others that do not. It prints what went wrong.
func shellTree(how, dir string) int {
	process.BecomeSubreaper()
	var procs process.Processes
	defer procs.Sweep(time.Minute)
	run := func(ctx context.Context, script string, timeout float64) *wire.Result {
		r, _ := runScript(ctx, CommandSpec{Dir: dir, Environ: os.Environ(), Processes: &procs}, script, timeout)
		return r
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	await := func(ok func() bool) {
		for !ok() {
			time.Sleep(time.Millisecond)
		}
	}

	others := []string{file("earlier"), file("beside"), file("beside.d"), file("server")}
	astrayNow := processtest.Argv("astray", others[0])
	run(context.Background(), strings.Join(astrayNow, " "), 100)
	go run(context.Background(), wanderers(others[1], false), 100)
	ctx, cancel := context.WithCancel(context.Background())
	var answer *wire.Result
	ended := make(chan struct{})
	mine := file("mine")
	start := func(timeout float64) {
		answer = run(ctx, wanderers(mine, true), timeout)
		close(ended)
	}
	if how == "cancel" {
		go start(100)
		await(func() bool { return ran(mine, true) })
	}
	// The server leaves a daemon after the command began.
	cmd := processtest.Command("roamer", others[3])
	if _, err := cmd.StdinPipe(); err != nil {
		panic(err)
	}
	if _, err := procs.StartGroup(cmd, true); err != nil {
		panic(err)
	}
	await(func() bool {
		return len(processtest.Pids(others[0])) == 1 && ran(others[1], false) && len(processtest.Pids(others[3])) == 2
	})
	cancelled := how == "cancel"
	cancel()
	if cancelled {
		<-ended
		return inspect(mine, others, answer, "")
	}
	ctx = context.Background()
	for timeout := 0.5; ; timeout *= 2 { // until one is enough for all to begin
		mine = file(fmt.Sprint("mine", timeout))
		ended = make(chan struct{})
		start(timeout)
		if status := inspect(mine, others, answer, "timed out; "+killedAll+"\n"); status != 0 || ran(mine, true) {
			return status
		}
	}
}

// inspect prints and counts what is alive and should not be, and the reverse.
func inspect(mine string, others []string, answer *wire.Result, begins string) (wrong int) {
	complain := func(format string, args ...any) {
		fmt.Printf(format+"\n", args...)
		wrong++
	}
	for _, file := range []string{mine, mine + ".d", mine + ".h"} {
		for _, pid := range processtest.Pids(file) {
			if syscall.Kill(pid, 0) == nil {
				complain("%d of the command is left", pid)
			}
		}
	}
	var known []int
	var children []string
	for _, file := range others {
		for _, pid := range processtest.Pids(file) {
			known = append(known, pid)
			if !processtest.Running(pid) {
				complain("%d of %s was killed too", pid, filepath.Base(file))
			}
		}
	}
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		pids, _ := os.ReadFile(list)
		children = append(children, strings.Fields(string(pids))...)
	}
	for _, child := range children {
		pid, _ := strconv.Atoi(child)
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if !slices.Contains(known, pid) && !strings.Contains(string(args), "beside") {
			complain("child %d is left: %q", pid, args)
		}
	}
	if text := shown(answer); !strings.HasPrefix(text, begins) {
		complain("the answer is %q", text)
	}
	return wrong
}

func shown(r *wire.Result) string {
	if r == nil || len(r.Content) == 0 {
		return ""
	}
	return jsontext.Unquote(r.Content[0].Text)
}

// TestShellTree: a timeout and a cancel end all that the command started,
// also what went to other sessions and what lost its parent, and nothing of
// anybody else.
func TestShellTree(t *testing.T) {
	for _, how := range []string{"cancel", "timeout"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			if out, err := output("shell-tree", how, t.TempDir()); err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

// unlimited leaves a sleeper behind as astray does, after a change of its
// limits such as daemons make.
func unlimited(args []string) int {
	var limit syscall.Rlimit
	syscall.Getrlimit(limitLocks, &limit)
	if err := syscall.Setrlimit(limitLocks, &syscall.Rlimit{Cur: limit.Max, Max: limit.Max}); err != nil {
		panic(err)
	}
	return astray(args)
}

// shellClaims is a run in which a command times out. It prints the answer's
// first line. A command whose daemon has other limits gets more time until the
// daemon has lost its parent, and lives on.
func shellClaims(how, file string) int {
	if how != "no subreaper" {
		process.BecomeSubreaper()
	}
	if how == "no marks" {
		if err := syscall.Setrlimit(limitLocks, &syscall.Rlimit{Cur: 1, Max: 1}); err != nil {
			panic(err)
		}
	}
	var procs process.Processes
	defer procs.Sweep(time.Minute)
	script := "exec sleep 300" // leaves no orphan, which nothing would reap without a subreaper
	if how == "other limits" {
		script = strings.Join(processtest.Argv("unlimited", file), " ") + "; sleep 300"
	}
	for timeout := 0.2; ; timeout *= 2 {
		r, err := runScript(context.Background(), CommandSpec{Dir: "/", Environ: os.Environ(), Processes: &procs}, script, timeout)
		if err != nil {
			panic(err)
		}
		if how != "other limits" || slices.ContainsFunc(processtest.Pids(file), processtest.Running) {
			first, _, _ := strings.Cut(shown(r), "\n")
			fmt.Print(first)
			return 0
		}
	}
}

// TestShellClaims: an answer says no more than what was seen.
func TestShellClaims(t *testing.T) {
	for how, want := range map[string]string{"": killedAll, "no marks": killedGroup, "no subreaper": killedGroup, "other limits": killedGroup} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			out, err := output("shell-claims", how, file)
			if err != nil || out != "timed out; "+want {
				t.Errorf("%v: %q", err, out)
			}
			for _, pid := range processtest.Pids(file) {
				processtest.AwaitGone(t, pid) // the end of the run is its end at the latest
			}
		})
	}
}
