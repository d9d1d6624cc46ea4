package approve

import (
	"bytes"
	"context"
	"os/exec"
	"time"

	"toolpipe/stream/goroutine"
)

// CommandApprover asks a program: the question on its standard input, the
// answer on its standard output, status 0.
type CommandApprover struct {
	Argv    []string
	Env     []string      // its whole environment
	Timeout time.Duration // 0: 60 s

	// Start starts the program as the leader of a process group of its own
	// that does not outlive this process; mcp.Processes does.
	Start func(*exec.Cmd) (Process, error)
}

// Process is a started program.
type Process interface {
	Wait() error // returns when it has ended and its output was read
	Kill()       // ends it and all of its group at once; does not wait
}

// Judge implements Approver. It starts the program anew for each call and
// leaves nothing of it behind.
func (a *CommandApprover) Judge(ctx context.Context, c *Call, soFar RuleMatch) (Decision, string, error) {
	if len(a.Argv) == 0 || a.Start == nil {
		return Deny, "the approver cannot be started: no command", nil
	}
	out, diag := &capped{max: maxOpinion}, &capped{max: maxOpinion}
	cmd := exec.Command(a.Argv[0], a.Argv[1:]...)
	cmd.Env = append([]string{}, a.Env...)
	cmd.Stdin = bytes.NewReader(approverQuestion(c, soFar))
	cmd.Stdout = out
	cmd.Stderr = diag
	process, err := a.Start(cmd)
	if err != nil {
		return Deny, "the approver cannot be started: " + err.Error(), nil
	}
	defer process.Kill() // whatever it left in its group
	ended := make(chan error, 1)
	goroutine.Start(func() {
		defer close(ended)
		ended <- process.Wait()
	})
	timeout := time.NewTimer(orDefault(a.Timeout))
	defer timeout.Stop()
	select {
	case <-ctx.Done():
		process.Kill()
		<-ended
		return Deny, "", context.Cause(ctx)
	case <-timeout.C:
		process.Kill()
		<-ended
		return Deny, "the approver gave no answer in " + orDefault(a.Timeout).String(), nil
	case err = <-ended:
	}
	if err != nil {
		reason := "the approver failed: " + err.Error()
		if line := lastLine(diag.b); line != "" {
			reason += ": " + line
		}
		return Deny, reason, nil
	}
	if len(bytes.TrimSpace(out.b)) == 0 {
		return Deny, "the approver gave no decision: it printed nothing", nil
	}
	d, reason := opinion(out.b)
	return d, reason, nil
}

func orDefault(timeout time.Duration) time.Duration {
	if timeout > 0 {
		return timeout
	}
	return approverTimeout
}
