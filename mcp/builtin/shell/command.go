package shell

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

// A CommandSpec configures where and how commands are started.
type CommandSpec struct {
	Dir         string            // where commands start
	Confined    bool              // cwd must be inside Dir
	Environ     []string          // toolpipe's environment; commands get the part that ChildEnv passes on
	Env         map[string]string // set in commands
	PathPrepend []string          // directories put before PATH, absolute
	Processes   *process.Processes
	Whole       bool   // outputs are handed on whole, up to MaxOutput: the caller cuts them
	Note        string // for the descriptions of tools, about the restrictions of commands; "" for none
}

// MaxOutput is how many bytes of an output are kept at most.
const MaxOutput = 64 << 20

// Head is how many bytes of the beginning of an output are kept, besides tail bytes of its end: few,
// unless outputs are handed on whole.
func (c *Commands) Head(few, tail int) int {
	if c != nil && c.spec.Whole {
		return MaxOutput - tail
	}
	return few
}

// Commands makes commands from the arguments of a call, and starts them. The tools that run
// commands share it, so that all have the same limits.
type Commands struct {
	spec      CommandSpec
	dir, real string // the starting directory, as given and without links
}

const (
	MaxTimeout = 24 * time.Hour // that a call may request
	// OutputDelay is how long the end of a command waits for the end of its output, which a
	// child in the background can hold open.
	OutputDelay = 250 * time.Millisecond
	// ProgressEvery is how often a long call sends its progress, so that the client does not
	// give it up as idle.
	ProgressEvery = 5 * time.Second
)

// NewCommands checks the directory. Errors are about it or PathPrepend.
func NewCommands(spec CommandSpec) (*Commands, error) {
	for _, dir := range spec.PathPrepend {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("path_prepend %q is not absolute", dir)
		}
	}
	c := &Commands{spec: spec}
	var err error
	if c.dir, err = filepath.Abs(spec.Dir); err == nil {
		c.real, err = filepath.EvalSymlinks(c.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", spec.Dir, confine.Reason(err))
	}
	if info, err := os.Stat(c.real); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%q is not a directory", spec.Dir)
	}
	return c, nil
}

// Parameters are the arguments that describe a command.
func Parameters() []toolserver.Parameter {
	return []toolserver.Parameter{
		{Name: "argv", Kind: "strings", About: "program and arguments; no shell interprets them"},
		{Name: "script", Kind: "string", About: "text for /bin/sh -c; instead of argv", Script: true},
		{Name: "cwd", Kind: "string", About: "directory to run in, relative to the starting directory; the starting directory when absent"},
	}
}

// Effects are the effects of a tool that runs commands.
func Effects() toolserver.Effects {
	return toolserver.Effects{Runs: true, Dir: "cwd", Sends: true, Private: true, Untrusted: true}
}

// Sets reports whether a variable is set in each command.
func (c *Commands) Sets(variable string) bool {
	_, set := c.spec.Env[variable]
	return set
}

// environ is the environment of a command. own are variables that the call sets.
func (c *Commands) environ(own map[string]string) []string {
	set := map[string]string{"TERM": "dumb"} // the output of a command is read as text
	maps.Copy(set, c.spec.Env)
	maps.Copy(set, own)
	env := process.ChildEnv(c.spec.Environ, set, nil)
	if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }) {
		env = append(env, "PATH=/usr/local/bin:/usr/bin:/bin")
	}
	for i, kv := range env {
		if path, found := strings.CutPrefix(kv, "PATH="); found {
			env[i] = "PATH=" + strings.Join(append(slices.Clone(c.spec.PathPrepend), path), string(os.PathListSeparator))
		}
	}
	return env
}

// Command makes the command that the arguments of a call request, without starting it. env
// are variables that the call sets.
func (c *Commands) Command(bounds confine.Bounds, args toolserver.Arguments, env map[string]string) (*exec.Cmd, error) {
	dir, err := c.cwd(bounds, args)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Env: c.environ(env), Dir: dir}
	if bounds.Results != "" {
		cmd.Env = append(cmd.Env, confine.ResultsVariable+"="+bounds.Results)
	}
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
		if cmd.Path, err = process.LookPath(program, cmd.Env); err != nil {
			return nil, err
		}
		cmd.Args = argv
	}
	if strings.Contains(strings.Join(cmd.Args, ""), "\x00") {
		return nil, errors.New("a command cannot have a NUL byte")
	}
	return cmd, nil
}

// cwd is the directory to run in. It has no links if it must be inside Dir.
func (c *Commands) cwd(bounds confine.Bounds, args toolserver.Arguments) (string, error) {
	asked := args.Text("cwd")
	if asked == "" || asked == "." {
		return c.dir, nil
	}
	if len(asked) > confine.MaxPath {
		return "", fmt.Errorf("cwd has %d bytes, at most %d are allowed", len(asked), confine.MaxPath)
	}
	dir := asked
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.dir, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if c.spec.Confined && !confine.IsBelow(dir, c.dir) && !confine.IsBelow(dir, c.real) || err == nil && c.spec.Confined && !confine.IsBelow(real, c.real) {
		return "", fmt.Errorf("cwd %q is outside the allowed root %q", asked, c.dir)
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

// Start starts cmd for the call of ctx. close ends the calls of tools that its programs make.
func (c *Commands) Start(ctx context.Context, cmd *exec.Cmd) (p *process.Process, close func(), err error) {
	if open := confine.BoundsOf(ctx).Door; open != nil {
		return open(cmd, c.start)
	}
	p, err = c.start(cmd)
	return p, func() {}, err
}

// start starts cmd in the directory that was checked. If the system has paths for open
// directories, the directory cannot be replaced meanwhile.
func (c *Commands) start(cmd *exec.Cmd) (*process.Process, error) {
	if cmd.Dir != c.dir {
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
	return c.spec.Processes.Start(cmd)
}

// Seconds is the argument of that name as a time, at most limit; otherwise if it is absent.
func Seconds(args toolserver.Arguments, name string, otherwise, limit time.Duration) (time.Duration, error) {
	if !args.Has(name) {
		return otherwise, nil
	}
	seconds := args.Number(name, 0)
	if seconds <= 0 || seconds > MaxTimeout.Seconds() {
		return 0, fmt.Errorf("%s is %v; more than 0 and at most %v seconds are allowed", name, seconds, MaxTimeout.Seconds())
	}
	return min(time.Duration(seconds*float64(time.Second)), limit), nil
}

// Progress reports how much of its time a command, or a wait, has used.
func Progress(elapsed, limit time.Duration, message string) wire.Progress {
	seconds := func(d time.Duration) []byte { return strconv.AppendFloat(nil, d.Seconds(), 'f', -1, 64) }
	return wire.Progress{Progress: seconds(elapsed), Total: seconds(limit), Message: message}
}

// ExitCode is the exit code that a shell would report. If a signal ended the process, it is
// 128 plus the signal's number, and the text has the signal's name.
func ExitCode(state *os.ProcessState) (code int, text string) {
	if state == nil {
		return -1, "-1"
	}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		code = 128 + int(w.Signal())
		return code, fmt.Sprintf("%d (%v)", code, w.Signal())
	}
	return state.ExitCode(), strconv.Itoa(state.ExitCode())
}
