package approve

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
)

// AskCommand makes an Approver.Ask that asks a program, which it starts anew for
// each call, with env as its whole environment. The program reads the question from
// its standard input and writes the answer to its standard output; its exit status
// must be 0.
//
// run runs the program until it has ended and its output was read, and then
// kills the rest of its process group. When ctx ends, it kills the whole group. It
// returns the first most bytes of the output, and the end of the diagnostics.
func AskCommand(argv, env []string, run func(ctx context.Context, cmd *exec.Cmd, most int) (printed []byte, said string, err error)) func(context.Context, []byte) ([]byte, string) {
	return func(ctx context.Context, question []byte) (answer []byte, problem string) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append([]string{}, env...)
		cmd.Stdin = bytes.NewReader(question)
		answer, said, err := run(ctx, cmd, maxApproverAnswer+1) // a byte more shows that it is too long
		if said = strings.TrimSpace(said); err != nil && said != "" {
			return nil, "failed: " + err.Error() + ": " + clip(said[strings.LastIndexByte(said, '\n')+1:])
		}
		if err != nil {
			return nil, "failed: " + err.Error()
		}
		return answer, ""
	}
}
