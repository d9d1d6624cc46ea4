package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolpipe/mcp"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/testdata/processtest"
	"toolpipe/testdata/servertest"
)

func shellServer(t testing.TB, spec CommandSpec) *mcp.Session {
	t.Helper()
	if spec.Dir == "" {
		spec.Dir = t.TempDir()
	}
	if spec.Environ == nil {
		spec.Environ = os.Environ()
	}
	if spec.Processes == nil {
		spec.Processes = &process.Processes{}
		t.Cleanup(spec.Processes.KillAll)
	}
	server, err := New(Spec{Commands: spec})
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Local(t, server)
}

// commandOutcome is the structured content of a command.
type commandOutcome struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
	TimedOut bool   `json:"timed_out"`
	Omitted  int64  `json:"omitted_bytes"`
}

func runCommand(t testing.TB, s *mcp.Session, args ...any) (commandOutcome, bool) {
	t.Helper()
	m := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		m[args[i].(string)] = args[i+1]
	}
	raw, _ := json.Marshal(m)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := s.Call(ctx, "run_command", raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	var o commandOutcome
	if r.Structured != nil {
		if err := json.Unmarshal(r.Structured, &o); err != nil {
			t.Fatalf("%s: %v", r.Structured, err)
		}
	}
	return o, r.IsError
}

func TestShellAnswer(t *testing.T) {
	t.Parallel()
	s := shellServer(t, CommandSpec{})
	got := servertest.Works(t, s, "run_command", "script", "echo out; echo err >&2; exit 7")
	if want := "STDOUT:\nout\nSTDERR:\nerr\nEXIT CODE: 7\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	o, failed := runCommand(t, s, "argv", []string{"printf", "%s", "$HOME *"})
	if failed || o.Stdout != "$HOME *" || o.ExitCode != 0 {
		t.Errorf("argv: %+v", o)
	}
	if o, _ := runCommand(t, s, "script", "kill -9 $$"); o.ExitCode != 137 {
		t.Errorf("killed: %+v", o)
	}
	for _, args := range [][]any{{}, {"argv", []string{}}, {"argv", []string{"a"}, "script", "b"}, {"argv", []string{"no-such-program-here"}}, {"argv", "ls"}, {"script", "true", "timeout_s", 0}, {"script", "true", "cwd", "missing"}} {
		if answer, failed := servertest.Do(t, s, "run_command", args...); !failed {
			t.Errorf("%v answered %q", args, answer)
		}
	}
}

func TestShellDirectory(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	servertest.Put(t, filepath.Join(dir, "sub/run.sh"), "#!/bin/sh\npwd\n")
	os.Chmod(filepath.Join(dir, "sub/run.sh"), 0o755)
	os.Symlink("/", filepath.Join(dir, "out"))
	s := shellServer(t, CommandSpec{Dir: dir, Confined: true})
	if o, _ := runCommand(t, s, "argv", []string{"./run.sh"}, "cwd", "sub"); o.Stdout != dir+"/sub\n" {
		t.Errorf("%+v", o)
	}
	for _, cwd := range []string{"/", "..", "out", "out/tmp", "sub/../..", "/no/such"} {
		servertest.Fails(t, s, dir, "run_command", "script", "pwd", "cwd", cwd)
	}
	free := shellServer(t, CommandSpec{Dir: dir})
	if o, _ := runCommand(t, free, "script", "pwd", "cwd", "/"); o.Stdout != "/\n" {
		t.Errorf("without --files: %+v", o)
	}
}

// The tests run in a subreaper, as toolpipe is: it reaps the orphans that it kills,
// for which KillTree would wait where process 1 leaves them as zombies.
func TestMain(m *testing.M) { os.Exit(processtest.Main(m, os.Args, process.BecomeSubreaper)) }

func init() { processtest.Programs["shell-run"] = shellRun }

// runScript runs a script as run_command does, and returns when the command has
// ended, also after a cancel. A busy machine may need long to end a command.
func runScript(ctx context.Context, commands CommandSpec, script string, timeout float64) (*wire.Result, error) {
	sh, err := newShell(Spec{Commands: commands})
	if err != nil {
		return nil, err
	}
	sh.killLimit = time.Minute
	args := toolserver.Arguments{"script": jsontext.Quoted(script), "timeout_s": []byte(fmt.Sprint(timeout))}
	return sh.run(ctx, args, func(wire.Progress) {})
}

// output runs one of the processtest.Programs and returns what it printed. The program
// is started as commands are: started beside one in another way, it would inherit the
// mark of that command and be killed with it.
func output(name string, args ...string) (string, error) {
	var out process.Output
	out.Head = 64 << 10
	cmd := processtest.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	p, err := new(process.Processes).Start(cmd)
	if err == nil {
		err = p.Wait()
	}
	return out.String(), err
}

// shellRun is a run that starts a command with a child in the background and
// ends as toolpipe does. It prints what the command did and whether its child
// was alive before the end.
func shellRun([]string) int {
	process.BecomeSubreaper()
	var procs process.Processes
	r, err := runScript(context.Background(), CommandSpec{Dir: "/", Environ: os.Environ(), Processes: &procs}, "sleep 300 & echo $!; echo done", 100)
	if err != nil {
		return 1
	}
	pid, after, _ := strings.Cut(jsontext.Text(jsontext.Member(r.Structured, "stdout")), "\n")
	n, _ := strconv.Atoi(pid)
	fmt.Printf("%d %v %t %t %d\n", n, strings.TrimSpace(after), r.IsError, processtest.Running(n), procs.Sweep(time.Minute))
	return 0
}

// The answer does not wait for what runs in the background, and that
// does not outlive the run.
func TestShellBackgroundChild(t *testing.T) {
	t.Parallel()
	out, err := output("shell-run")
	pid, rest, _ := strings.Cut(out, " ")
	n, _ := strconv.Atoi(pid)
	if err != nil || n == 0 || rest != "done false true 0\n" {
		t.Fatalf("%q %v", out, err)
	}
	processtest.AwaitGone(t, n)
}

// A timeout ends a whole pipeline and keeps what was printed.
func TestShellTimeout(t *testing.T) {
	t.Parallel()
	for _, sh := range []string{"/bin/sh", "dash", "bash"} {
		t.Run(filepath.Base(sh), func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(sh); err != nil {
				t.Skip("not installed")
			}
			s := shellServer(t, CommandSpec{})
			o, failed := runCommand(t, s, "argv", []string{sh, "-c", "echo $$; echo early >&2; sleep 300 | cat; true"}, "timeout_s", 0.3)
			if !failed || !o.TimedOut || o.Stderr != "early\n" {
				t.Errorf("%+v", o)
			}
			pid, _ := strconv.Atoi(strings.TrimSpace(o.Stdout))
			processtest.AwaitGone(t, pid)
			if syscall.Kill(-pid, 0) == nil {
				left, _ := exec.Command("ps", "-o", "pid,stat,args", "-g", strconv.Itoa(pid)).Output()
				if bytes.Contains(left, []byte("sleep")) && !bytes.Contains(left, []byte("Z")) {
					t.Errorf("the pipeline lives: %s", left)
				}
			}
		})
	}
}

func TestShellCancel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := shellServer(t, CommandSpec{Dir: dir})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := s.Call(ctx, "run_command", json.RawMessage(`{"script":"echo $$ > pid.new; mv pid.new pid; sleep 300"}`), nil)
		ended <- err
	}()
	var pid int
	for range 1000 {
		if b, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil {
			pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if pid == 0 {
		t.Fatal("the command did not start")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	processtest.AwaitGone(t, pid)
}

// The input is empty, whatever ours is.
func TestShellReadsStdin(t *testing.T) {
	t.Parallel()
	if o, failed := runCommand(t, shellServer(t, CommandSpec{}), "script", "cat; echo end; test -t 0 || : < /dev/tty"); failed || !strings.HasPrefix(o.Stdout, "end\n") || o.ExitCode == 0 {
		t.Errorf("%+v", o)
	}
}

// A flood is kept at both ends, and the exit status with it.
func TestShellOutputFlood(t *testing.T) {
	t.Parallel()
	o, failed := runCommand(t, shellServer(t, CommandSpec{}), "script", "echo first; head -c 30000000 /dev/zero | tr '\\0' y; echo last; exit 7")
	if failed || o.ExitCode != 7 || !strings.HasPrefix(o.Stdout, "first\ny") || !strings.HasSuffix(o.Stdout, "ylast\n") {
		t.Errorf("status %d, %d bytes", o.ExitCode, len(o.Stdout))
	}
	if want := int64(30_000_011 - 2*keptOutput); o.Omitted != want || !strings.Contains(o.Stdout, strconv.FormatInt(want, 10)+" bytes are left out") {
		t.Errorf("omitted %d, want %d", o.Omitted, want)
	}
}

// Only what is allowed or set is in the environment.
func TestShellEnvironment(t *testing.T) {
	t.Parallel()
	s := shellServer(t, CommandSpec{
		Environ: []string{"PATH=/usr/bin:.:/bin::rel", "HOME=/h", "TERM=xterm", "LC_ALL=C", "TOOLPIPE_API_KEY=k", "OPENAI_API_KEY=k", "AWS_SECRET_ACCESS_KEY=k",
			"LD_PRELOAD=k", "BASH_ENV=k", "ENV=k", "NODE_OPTIONS=k", "GIT_SSH_COMMAND=k", "SSH_AUTH_SOCK=k"},
		Env: map[string]string{"WANTED": "yes"}, PathPrepend: []string{"/opt/first"},
	})
	o, _ := runCommand(t, s, "argv", []string{"env"})
	want := "PATH=/opt/first:/usr/bin:/bin\nHOME=/h\nLC_ALL=C\nTERM=dumb\nWANTED=yes\n"
	if o.Stdout != want {
		t.Errorf("environment:\n%s\nwant\n%s", o.Stdout, want)
	}
}
