package gitdiff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
)

// git runs git with an input, and returns what it prints. Of more than most bytes, it
// returns one more than most, and ends git, which may go on for long before it prints
// again.
func (r *repository) git(ctx context.Context, input []byte, most int, args ...string) ([]byte, error) {
	path, err := process.LookPath("git", process.ChildEnv(r.program.Environ, nil, nil))
	if err != nil {
		return nil, errors.New("git is not installed")
	}
	// Links are files in our working tree, whatever they are in the repository's: git
	// would look for .gitattributes behind a link.
	args = append([]string{"git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
		"-c", "core.symlinks=false", "-c", fmt.Sprint("core.bigFileThreshold=", maxCompared)}, args...)
	running, end := context.WithCancel(ctx)
	defer end()
	out, errs := process.Output{Head: most + 1, Full: end}, process.Output{Tail: process.MaxStderr}
	cmd := &exec.Cmd{Path: path, Args: args, Env: r.environ(), Dir: filepath.Join(r.dir, "tree"), Stdin: bytes.NewReader(input), Stdout: &out, Stderr: &errs}
	err = r.program.Processes.Run(running, cmd)
	text, _, _ := out.Kept()
	_, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil, ctx.Err() != nil:
	case len(text) > most:
		err = nil
	case failed:
		err = gitFailure(errs.String(), args)
	default:
		err = fmt.Errorf("git did not start: %w", confine.Reason(err))
	}
	return text, err
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
	return errors.New("git diff failed: a revision, an object, a reference, the index or the configuration cannot be read; git fsck says more")
}
