package approve

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"time"

	"toolpipe/stream/goroutine"
)

// A CommandApprover asks a program, which it starts anew for each call. The
// program reads the question from its standard input and writes the answer to
// its standard output; its exit status must be 0.
type CommandApprover struct {
	Argv    []string
	Env     []string      // the whole environment of the program
	Timeout time.Duration // 0: 60 s

	// Start starts the program as the leader of a process group of its own
	// that does not outlive this process.
	Start func(*exec.Cmd) (Process, error)
}

// A Process is a started program.
type Process interface {
	Wait() error // returns when the program has ended and its output was read
	Kill()       // kills all processes of its group; does not wait
}

// Judge implements Approver. Before it returns it kills all processes of the
// program's group.
func (a *CommandApprover) Judge(ctx context.Context, c *Call, byRules RuleMatch) (Decision, string, error) {
	return judge(ctx, a.Timeout, c, byRules, a.run)
}

// run runs the program.
func (a *CommandApprover) run(ctx context.Context, question []byte) (answer []byte, problem string) {
	if len(a.Argv) == 0 || a.Start == nil {
		return nil, "cannot be started: no command"
	}
	var out, diagnostics approverOutput
	cmd := exec.Command(a.Argv[0], a.Argv[1:]...)
	cmd.Env = append([]string{}, a.Env...)
	cmd.Stdin = bytes.NewReader(question)
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	process, err := a.Start(cmd)
	if err != nil {
		return nil, "cannot be started: " + err.Error()
	}
	defer process.Kill() // the processes that the program left in its group
	defer goroutine.AfterContext(ctx, process.Kill)()
	if err := process.Wait(); err != nil {
		problem = "failed: " + err.Error()
		if line := diagnostics.lastLine(); line != "" {
			problem += ": " + line
		}
		return nil, problem
	}
	if len(bytes.TrimSpace(out)) == 0 {
		return nil, "gave no decision: it printed nothing"
	}
	return out, ""
}

// An approverOutput keeps the first bytes that are written to it: one more than
// an answer may have, which shows that an answer is too long.
type approverOutput []byte

func (o *approverOutput) Write(p []byte) (int, error) {
	defer goroutine.Recover() // package exec calls it in a goroutine of its own
	room := maxApproverAnswer + 1 - len(*o)
	*o = append(*o, p[:min(room, len(p))]...)
	return len(p), nil
}

// lastLine returns the last line that is not blank, clipped.
func (o approverOutput) lastLine() string {
	s := strings.TrimSpace(string(o))
	return clip(s[strings.LastIndexByte(s, '\n')+1:])
}
