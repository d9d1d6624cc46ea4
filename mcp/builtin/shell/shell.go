// Package shell is the built-in tool that runs a command with limits of its time and its
// output, and ends everything that it started. It also makes the commands of other tools, from
// the arguments that say what to run, in which directory, and with which environment.
package shell

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// A Spec configures how commands run.
type Spec struct {
	Commands CommandSpec
	Timeout  time.Duration // of a command that requests none; 0: 60 s
	Limit    time.Duration // the longest time of any command, whatever it requests; 0: the 24 h of timeout_s
	Version  string
}

// CommandTool is the tool's name for the model.
const CommandTool = "shell__run_command"

const (
	defaultTimeout = 60 * time.Second
	// keptOutput is how many bytes of each end of an output are kept, unless it is handed on
	// whole: both outputs and their copies in an answer stay below the limit of a model's text.
	keptOutput = 24 << 10
	// objectOutput is how many bytes of each end of an output the object of a result has, which
	// repeats the text.
	objectOutput = 4 << 20
)

type shell struct {
	commands  *Commands
	timeout   time.Duration // of a command that requests none
	limit     time.Duration // of any command
	killLimit time.Duration // of the end of a command and its children
}

// New makes a server with one tool that runs commands. It confines nothing: the user's
// account limits what a command can do. Every command is the leader of a session without a
// terminal, its input is empty and its environment is clean. A timeout and a cancel kill all
// its processes, on Linux also those that left its group (see KillTree). A process that a
// command leaves in the background lives at most until the end of the run. Errors are about
// the directory or PathPrepend.
func New(spec Spec) (*toolserver.Server, error) {
	sh, err := newShell(spec)
	if err != nil {
		return nil, err
	}
	tool := toolserver.Define("run_command", strings.TrimSpace("Run a command and return its output and exit code. Give argv, or script for /bin/sh. Its input is empty. "+spec.Commands.Note), toolserver.RunsFree, Effects(), append(Parameters(),
		toolserver.Parameter{Name: "timeout_s", Kind: "number", About: fmt.Sprintf("seconds after which the command and its child processes are killed; %v when absent", sh.timeout.Seconds())},
	)...)
	s := toolserver.New("shell", spec.Version)
	s.AddBuiltin(tool, sh.run)
	return s, nil
}

func newShell(spec Spec) (*shell, error) {
	commands, err := NewCommands(spec.Commands)
	sh := &shell{commands: commands, limit: cmp.Or(spec.Limit, MaxTimeout), killLimit: 2 * time.Second}
	sh.timeout = min(cmp.Or(spec.Timeout, defaultTimeout), sh.limit)
	return sh, err
}

func (sh *shell) run(ctx context.Context, args toolserver.Arguments, progress func(wire.Progress)) (*wire.Result, error) {
	timeout, err := Seconds(args, "timeout_s", sh.timeout, sh.limit)
	if err != nil {
		return nil, err
	}
	cmd, err := sh.commands.Command(confine.BoundsOf(ctx), args, nil)
	if err != nil {
		return nil, err
	}
	head := sh.commands.Head(keptOutput, keptOutput)
	out, errs := process.Output{Head: head, Tail: keptOutput}, process.Output{Head: head, Tail: keptOutput}
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = OutputDelay
	p, closeDoor, err := sh.commands.Start(ctx, cmd)
	if err != nil {
		return nil, fmt.Errorf("%q did not start: %w", cmd.Args[0], confine.Reason(err))
	}
	killed := sh.await(ctx, p, timeout, progress)
	closeDoor()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return commandResult(&out, &errs, p.State(), killed), nil
}

// The results of a timeout, in an answer's words.
const (
	killedAll   = "the command and its child processes were killed"
	killedGroup = "the command's process group was sent SIGKILL; its child processes may still run"
)

// await returns when the command has ended and its output was read, or when it was killed.
// killed is not empty after a timeout.
func (sh *shell) await(ctx context.Context, p *process.Process, timeout time.Duration, progress func(wire.Progress)) (killed string) {
	limit := time.After(timeout)
	tick := time.NewTicker(ProgressEvery)
	defer tick.Stop()
	for elapsed := ProgressEvery; ; {
		select {
		case <-p.Done():
			return ""
		case <-limit:
			killed = killedGroup
			if p.KillTree(sh.killLimit) {
				killed = killedAll
			}
			p.EndsWithin(sh.killLimit)
			return killed
		case <-ctx.Done():
			p.KillTree(sh.killLimit)
			p.EndsWithin(sh.killLimit)
			return ""
		case <-tick.C:
			progress(Progress(elapsed, timeout, "running"))
			elapsed += ProgressEvery
		}
	}
}

// commandResult is the answer of a command that ran, as text and as an object. The object has no more
// than both ends of an output. Only a timeout is an error; killed describes it.
func commandResult(out, errs *process.Output, state *os.ProcessState, killed string) *wire.Result {
	stdout, stderr := wholeText(out), wholeText(errs)
	code, status := ExitCode(state)
	timedOut := killed != ""
	b := append(make([]byte, 0, jsontext.InnerLen(stdout)+jsontext.InnerLen(stderr)+200), '"') // a long output is not moved
	if timedOut {
		b = jsontext.AppendInner(b, "timed out; "+killed+"\n")
	}
	b = appendOutput(b, "STDOUT:", stdout)
	b = appendOutput(b, "STDERR:", stderr)
	b = append(jsontext.AppendInner(b, "EXIT CODE: "+status+"\n"), '"')
	stdout, dropped := ends(out)
	stderr, droppedErr := ends(errs)
	s := jsontext.AppendQuoted([]byte(`{"stdout":`), stdout)
	s = jsontext.AppendQuoted(append(s, `,"stderr":`...), stderr)
	s = fmt.Appendf(s, `,"exit_code":%d,"timed_out":%t`, code, timedOut)
	if omitted := dropped + droppedErr; omitted > 0 {
		s = fmt.Appendf(s, `,"omitted_bytes":%d`, omitted)
	}
	return &wire.Result{IsError: timedOut, Content: []wire.Block{{Type: "text", Text: b}}, Structured: append(s, '}')}
}

func wholeText(o *process.Output) []byte { return joined(o.Kept()) }

// ends are the ends of an output, each of at most objectOutput bytes.
func ends(o *process.Output) (text []byte, dropped int64) {
	head, at := o.From(0, objectOutput)
	tail, at := o.From(max(o.Size()-objectOutput, at+int64(len(head))), objectOutput)
	dropped = at - int64(len(head))
	return joined(head, tail, dropped), dropped
}

// joined is both ends of an output, with a mark where bytes were dropped.
func joined(head, tail []byte, dropped int64) []byte {
	if dropped > 0 {
		head = fmt.Appendf(slices.Clip(readable.WholeRunes(head)), "\n[toolpipe] %d bytes are left out here\n", dropped)
	}
	return append(head, tail...)
}

// appendOutput appends an output to the inside of a JSON string literal.
func appendOutput(b []byte, heading string, output []byte) []byte {
	b = jsontext.AppendInner(append(b, heading+`\n`...), output)
	if n := len(output); n > 0 && output[n-1] != '\n' {
		b = append(b, `\n`...)
	}
	return b
}
