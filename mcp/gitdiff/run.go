package gitdiff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/process"
	"toolpipe/stream/goroutine"
)

// run runs git with an input and has its output read; a nil read drops it. An error
// of read ends git.
func (r *repository) run(ctx context.Context, input []byte, read func(io.Reader) error, args ...string) error {
	path, err := process.LookPath("git", process.ChildEnv(r.program.Environ, nil, nil))
	if err != nil {
		return errors.New("git is not installed")
	}
	out, w, err := os.Pipe()
	if err != nil {
		return confine.Reason(err)
	}
	defer out.Close()
	errs := process.Output{Tail: process.MaxStderr}
	args = append([]string{"git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
		"-c", fmt.Sprint("core.bigFileThreshold=", maxCompared)}, args...)
	cmd := &exec.Cmd{Path: path, Args: args, Env: r.environ(), Dir: filepath.Join(r.dir, "tree"), Stdin: bytes.NewReader(input), Stdout: w, Stderr: &errs}
	p, err := r.program.Processes.Start(cmd)
	w.Close()
	if err != nil {
		return fmt.Errorf("git did not start: %w", confine.Reason(err))
	}
	defer goroutine.AfterContext(ctx, func() { p.Kill(); out.SetReadDeadline(time.Now()) })()
	if read == nil {
		_, err = io.Copy(io.Discard, out)
	} else {
		err = read(out)
	}
	if err != nil {
		p.Kill()
	}
	failed := p.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case failed != nil:
		return gitFailure(errs.String(), args)
	}
	return nil
}

// environ is git's environment: what every child gets, and nothing of the user's
// or the system's configuration.
func (r *repository) environ() []string {
	return process.ChildEnv(r.program.Environ, map[string]string{
		"GIT_DIR": filepath.Join(r.dir, "git"), "GIT_WORK_TREE": filepath.Join(r.dir, "tree"),
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_ATTR_NOSYSTEM": "1", "HOME": r.dir, "XDG_CONFIG_HOME": r.dir,
		"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_REPLACE_OBJECTS": "1",
		"GIT_LITERAL_PATHSPECS": "1", "GIT_PAGER": "cat", "LC_ALL": "C",
	}, nil)
}

// gitFailure says why git failed, without git's own words: git quotes lines that
// it cannot read, and a file of .git may be a second name of any other file.
func gitFailure(stderr string, args []string) error {
	for _, arg := range args {
		revision, is := strings.CutSuffix(arg, "^{commit}")
		switch {
		case !is || !strings.Contains(stderr, "bad revision '"+arg+"'"):
		case revision == "HEAD":
			return errors.New("there is no commit yet: HEAD names none")
		default:
			return fmt.Errorf("a revision names no commit: %q", revision)
		}
	}
	return errors.New("git diff failed: a revision, an object, a reference or the index cannot be read; git fsck says more")
}
