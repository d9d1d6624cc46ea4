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

	// Run runs the program until it has ended and its output was read, and then
	// kills the rest of its process group. When ctx ends, it kills the whole group.
	Run func(ctx context.Context, cmd *exec.Cmd) error
}

// Judge implements Approver.
func (a *CommandApprover) Judge(ctx context.Context, c *Call, byRules RuleMatch) (Decision, string, error) {
	return judge(ctx, a.Timeout, c, byRules, a.run)
}

// run runs the program.
func (a *CommandApprover) run(ctx context.Context, question []byte) (answer []byte, problem string) {
	var out, diagnostics approverOutput
	cmd := exec.Command(a.Argv[0], a.Argv[1:]...)
	cmd.Env = append([]string{}, a.Env...)
	cmd.Stdin = bytes.NewReader(question)
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	if err := a.Run(ctx, cmd); err != nil {
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
