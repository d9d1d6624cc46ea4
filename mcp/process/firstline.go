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

// FirstLine runs a program that prints a secret, such as pass or gcloud, and
// returns the first line of its output. cmd has Args, Env and Dir. The program is
// found on the PATH of Env, and has 30 seconds.
func (p *Processes) FirstLine(ctx context.Context, cmd exec.Cmd) (string, error) {
	var err error
	if cmd.Path, err = LookPath(cmd.Args[0], cmd.Env); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, firstLineTime)
	defer cancel()
	out, errs := &Output{Head: maxFirstLine}, &Output{Tail: MaxStderr}
	cmd.Stdout, cmd.Stderr = out, errs
	if err = p.Run(ctx, &cmd); err != nil {
		return "", fmt.Errorf("%q: %w: %s", cmd.Args[0], err, strings.TrimSpace(LastLines(errs.String(), 3)))
	}
	head, _, _ := out.Kept()
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return string(bytes.TrimSpace(line)), nil
}
