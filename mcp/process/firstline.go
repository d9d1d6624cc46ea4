package process

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

const (
	firstLineTime = 30 * time.Second
	maxFirstLine  = 64 << 10
)

// FirstLine runs a program that prints a secret, such as pass or gcloud, and returns the
// first line of its output. cmd has Args, Env and Dir. The program is looked up in the PATH
// of Env and may run for 30 seconds.
func (p *Processes) FirstLine(ctx context.Context, cmd exec.Cmd) (string, error) {
	var err error
	if cmd.Path, err = LookPath(cmd.Args[0], cmd.Env); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, firstLineTime)
	defer cancel()
	printed, said, err := p.Capture(ctx, &cmd, maxFirstLine)
	said = strings.TrimSpace(LastLines(said, 3))
	switch {
	case err != nil && said == "":
		return "", fmt.Errorf("%q: %w", cmd.Args[0], err)
	case err != nil:
		return "", fmt.Errorf("%q: %w: %s", cmd.Args[0], err, said)
	}
	line, _, _ := bytes.Cut(printed, []byte("\n"))
	return string(bytes.TrimSpace(line)), nil
}
