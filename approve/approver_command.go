package approve

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"time"
)

// A CommandApprover asks a program, which it starts anew for each call. The
// program reads the question from its standard input and writes the answer to
// its standard output; its exit status must be 0.
type CommandApprover struct {
	Argv    []string
	Env     []string      // the whole environment of the program
	Timeout time.Duration // 0: 60 s

	// Run runs the program until it has ended and its output was read, and then
	// kills the rest of its process group. When ctx ends, it kills the whole group. It
	// returns the first most bytes of the output, and the end of the diagnostics.
	Run func(ctx context.Context, cmd *exec.Cmd, most int) (printed []byte, said string, err error)
}

// Judge implements Approver.
func (a *CommandApprover) Judge(ctx context.Context, c *Call, rule *Rule) (Decision, string, error) {
	return judge(ctx, a.Timeout, c, rule, a.run)
}

// run runs the program.
func (a *CommandApprover) run(ctx context.Context, question []byte) (answer []byte, problem string) {
	cmd := exec.Command(a.Argv[0], a.Argv[1:]...)
	cmd.Env = append([]string{}, a.Env...)
	cmd.Stdin = bytes.NewReader(question)
	answer, said, err := a.Run(ctx, cmd, maxApproverAnswer+1) // a byte more shows that it is too long
	if said = strings.TrimSpace(said); err != nil && said != "" {
		return nil, "failed: " + err.Error() + ": " + clip(said[strings.LastIndexByte(said, '\n')+1:])
	}
	switch {
	case err != nil:
		return nil, "failed: " + err.Error()
	case len(bytes.TrimSpace(answer)) == 0:
		return nil, "gave no decision: it printed nothing"
	}
	return answer, ""
}
