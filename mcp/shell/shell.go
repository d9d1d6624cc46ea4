// Package shell is the built-in command tool: a tool server that runs a command
// with a bound on its time and its output, and ends all that it started.
package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

// A Spec says how commands are run.
type Spec struct {
	Dir         string            // where commands start
	Confined    bool              // cwd must be inside Dir
	Environ     []string          // toolpipe's environment, of which commands get what ChildEnv passes
	Env         map[string]string // set in commands
	PathPrepend []string          // directories put before PATH, absolute
	Timeout     time.Duration     // of a command that names none; 0: 60 s
	Limit       time.Duration     // the longest any command may run, whatever it names; 0: none but the 24 h of timeout_s
	Processes   *process.Processes
	Version     string

	killLimit time.Duration // of the end of a command and what it started; 0: 2 s
}

const (
	defaultCommandTimeout = 60 * time.Second
	maxCommandTimeout     = 24 * time.Hour
	// outputDelay is how long a child in the background can hold up the
	// answer of the command that started it.
	outputDelay = 250 * time.Millisecond
	// keptOutput is how many bytes of each end of an output are kept: both outputs
	// with their copies in an answer stay below what a model is shown.
	keptOutput    = 24 << 10
	progressEvery = 5 * time.Second // keeps the client's idle deadline away
)

// New makes a server whose one tool runs commands. It confines
// nothing: what a command does is up to the user's account. Every command is
// the leader of a session without a terminal, its input is empty and its
// environment is clean. A timeout and a cancel kill all its processes, on Linux
// also those that left its group (see KillTree). A process that a command leaves
// in the background lives until the end of the run at most. An
// error is about the directory or PathPrepend.
func New(spec Spec) (*toolserver.Server, error) {
	sh, err := newShell(spec)
	if err != nil {
		return nil, err
	}
	tool := &toolserver.Builtin{Name: "run_command", About: "Run a command and answer its output and exit code. Give argv, or script for /bin/sh. Its input is empty.", Params: []toolserver.Parameter{
		{Name: "argv", Kind: "strings", About: "program and arguments; no shell interprets them"},
		{Name: "script", Kind: "string", About: "text for /bin/sh -c; instead of argv"},
		{Name: "cwd", Kind: "string", About: "directory to run in; relative to the starting directory, which it is when absent"},
		{Name: "timeout_s", Kind: "number", About: fmt.Sprintf("seconds after which the command is killed with what it started; %v when absent", sh.spec.Timeout.Seconds())},
	}, Annotations: toolserver.RunsFree}
	s := toolserver.New("shell", spec.Version)
	s.AddBuiltin(tool, sh.run)
	return s, nil
}

func newShell(spec Spec) (*shell, error) {
	info, err := os.Stat(spec.Dir)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", spec.Dir, confine.Reason(err))
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%q is not a directory", spec.Dir)
	}
	for _, dir := range spec.PathPrepend {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("path_prepend %q is not absolute", dir)
		}
	}
	if spec.Timeout <= 0 {
		spec.Timeout = defaultCommandTimeout
	}
	if spec.Limit <= 0 {
		spec.Limit = maxCommandTimeout
	}
	spec.Timeout = min(spec.Timeout, spec.Limit)
	if spec.Processes == nil {
		spec.Processes = &process.Processes{}
	}
	if spec.killLimit <= 0 {
		spec.killLimit = 2 * time.Second
	}
	sh := &shell{spec: spec, env: commandEnv(spec)}
	if sh.dir, err = filepath.Abs(spec.Dir); err != nil {
		return nil, err
	}
	if sh.real, err = filepath.EvalSymlinks(sh.dir); err != nil {
		return nil, fmt.Errorf("%q: %w", spec.Dir, confine.Reason(err))
	}
	return sh, nil
}

type shell struct {
	spec      Spec
	dir, real string // the starting directory, as given and without links
	env       []string
}

// commandEnv is the environment of all commands.
func commandEnv(spec Spec) []string {
	env := process.ChildEnv(spec.Environ, spec.Env, nil)
	if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }) {
		env = append(env, "PATH=/usr/local/bin:/usr/bin:/bin")
	}
	for i, kv := range env {
		path, isPath := strings.CutPrefix(kv, "PATH=")
		if isPath && len(spec.PathPrepend) > 0 {
			env[i] = "PATH=" + strings.Join(append(slices.Clone(spec.PathPrepend), path), string(os.PathListSeparator))
		}
		if _, set := spec.Env["TERM"]; strings.HasPrefix(kv, "TERM=") && !set {
			env[i] = "TERM=dumb" // there is no terminal
		}
	}
	return env
}

func (sh *shell) run(ctx context.Context, args toolserver.Arguments, progress func(wire.Progress)) (*wire.Result, error) {
	timeout, err := sh.timeout(args)
	if err != nil {
		return nil, err
	}
	cmd, err := sh.command(confine.BoundsOf(ctx), args)
	if err != nil {
		return nil, err
	}
	out, errs := process.Output{Head: keptOutput, Tail: keptOutput}, process.Output{Head: keptOutput, Tail: keptOutput}
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = outputDelay
	p, err := sh.start(cmd)
	if err != nil {
		return nil, fmt.Errorf("%q did not start: %w", cmd.Args[0], confine.Reason(err))
	}
	killed := sh.await(ctx, p, timeout, progress)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return commandResult(&out, &errs, p.State(), killed), nil
}

// start starts cmd in the directory that was looked at. Where the system gives
// an open directory a name, nothing can take its place meanwhile.
func (sh *shell) start(cmd *exec.Cmd) (*process.Process, error) {
	if cmd.Dir != sh.dir {
		dir, err := os.OpenFile(cmd.Dir, confine.OpenFlags, 0)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		name := confine.DescriptorPath(dir.Fd())
		if now, err := os.Readlink(name); err == nil && now != cmd.Dir {
			return nil, fmt.Errorf("%q was moved", cmd.Dir)
		} else if err == nil {
			cmd.Dir = name
		}
	}
	return sh.spec.Processes.Start(cmd)
}

func (sh *shell) timeout(args toolserver.Arguments) (time.Duration, error) {
	if !args.Has("timeout_s") {
		return sh.spec.Timeout, nil
	}
	seconds := args.Number("timeout_s", 0)
	if seconds <= 0 || seconds > maxCommandTimeout.Seconds() {
		return 0, fmt.Errorf("timeout_s is %v; more than 0 and at most %v seconds are allowed", seconds, maxCommandTimeout.Seconds())
	}
	return min(time.Duration(seconds*float64(time.Second)), sh.spec.Limit), nil
}

// command is what the arguments ask for, not started.
func (sh *shell) command(bounds confine.Bounds, args toolserver.Arguments) (*exec.Cmd, error) {
	dir, err := sh.cwd(bounds, args)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Env: sh.env, Dir: dir}
	argv := args.List("argv")
	switch {
	case args.Has("argv") == args.Has("script"):
		return nil, errors.New("give either argv or script")
	case args.Has("script"):
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", args.Text("script")}
	case len(argv) == 0:
		return nil, errors.New("argv is empty; its first element is the program")
	default:
		program := argv[0]
		if strings.Contains(program, "/") && !filepath.IsAbs(program) {
			program = filepath.Join(dir, program)
		}
		if cmd.Path, err = process.LookPath(program, sh.env); err != nil {
			return nil, err
		}
		cmd.Args = argv
	}
	for _, a := range cmd.Args {
		if strings.IndexByte(a, 0) >= 0 {
			return nil, errors.New("a command cannot have a NUL byte")
		}
	}
	return cmd, nil
}

// cwd is the directory to run in, without links when it has to be inside
// another.
func (sh *shell) cwd(bounds confine.Bounds, args toolserver.Arguments) (string, error) {
	asked := args.Text("cwd")
	if asked == "" || asked == "." {
		return sh.dir, nil
	}
	if len(asked) > confine.MaxPath {
		return "", fmt.Errorf("cwd has %d bytes, at most %d are allowed", len(asked), confine.MaxPath)
	}
	dir := asked
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(sh.dir, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if sh.spec.Confined && !inside(dir, sh.dir) && !inside(dir, sh.real) || err == nil && sh.spec.Confined && !inside(real, sh.real) {
		return "", fmt.Errorf("cwd %q is outside the allowed root %q", asked, sh.dir)
	}
	if err != nil {
		return "", fmt.Errorf("cwd %q: %w", asked, confine.Reason(err))
	}
	if err := bounds.Check(asked, real); err != nil {
		return "", err
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", fmt.Errorf("cwd %q is not a directory", asked)
	}
	return real, nil
}

func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// What a timeout killed, in an answer's words.
const (
	killedAll   = "the command and its child processes were killed"
	killedGroup = "the command's process group was sent SIGKILL; what it started may still run"
)

// await returns when the command has ended and its output was read. killed is
// not empty after a timeout.
func (sh *shell) await(ctx context.Context, p *process.Process, timeout time.Duration, progress func(wire.Progress)) (killed string) {
	limit := time.After(timeout)
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for elapsed := progressEvery; ; {
		select {
		case <-p.Done():
			return ""
		case <-limit:
			killed = killedGroup
			if p.KillTree(sh.spec.killLimit) {
				killed = killedAll
			}
			<-p.Done()
			return killed
		case <-ctx.Done():
			p.KillTree(sh.spec.killLimit)
			<-p.Done()
			return ""
		case <-tick.C:
			progress(wire.Progress{Progress: seconds(elapsed), Total: seconds(timeout), Message: "running"})
			elapsed += progressEvery
		}
	}
}

func seconds(d time.Duration) json.RawMessage {
	return strconv.AppendFloat(nil, d.Seconds(), 'f', -1, 64)
}

// commandResult is the answer of a command that ran: the same as text and as
// an object. Only a timeout is an error; killed says what it did.
func commandResult(out, errs *process.Output, state *os.ProcessState, killed string) *wire.Result {
	stdout, dropped := outputText(out)
	stderr, droppedErr := outputText(errs)
	code, signal := exitCode(state)
	var b []byte
	timedOut := killed != ""
	if timedOut {
		b = fmt.Appendf(b, "timed out; %s\n", killed)
	}
	b = appendOutput(b, "STDOUT:\n", stdout)
	b = appendOutput(b, "STDERR:\n", stderr)
	b = fmt.Appendf(b, "EXIT CODE: %d", code)
	if signal != "" {
		b = fmt.Appendf(b, " (%s)", signal)
	}
	r := toolserver.TextResult(append(b, '\n'))
	r.IsError = timedOut
	s := jsontext.AppendQuoted([]byte(`{"stdout":`), stdout)
	s = jsontext.AppendQuoted(append(s, `,"stderr":`...), stderr)
	s = fmt.Appendf(s, `,"exit_code":%d,"timed_out":%t`, code, timedOut)
	if omitted := dropped + droppedErr; omitted > 0 {
		s = fmt.Appendf(s, `,"omitted_bytes":%d`, omitted)
	}
	r.Structured, r.TextComplete = append(s, '}'), true
	return r
}

// outputText is what was kept of an output, with a mark where bytes were dropped.
func outputText(o *process.Output) (text []byte, dropped int64) {
	head, tail, dropped := o.Kept()
	if dropped > 0 {
		head = fmt.Appendf(toolserver.WholeRunes(head), "\n[toolpipe] %d bytes are left out here\n", dropped)
	}
	return append(head, tail...), dropped
}

func appendOutput(b []byte, heading string, output []byte) []byte {
	b = append(append(b, heading...), output...)
	if n := len(output); n > 0 && output[n-1] != '\n' {
		b = append(b, '\n')
	}
	return b
}

// exitCode is what a shell would say: 128 and the signal's number for a
// process that a signal ended.
func exitCode(state *os.ProcessState) (code int, signal string) {
	if state == nil {
		return -1, ""
	}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal()), w.Signal().String()
	}
	return state.ExitCode(), ""
}
