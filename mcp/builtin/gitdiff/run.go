package gitdiff

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/process/cage"
)

// A caged is the program git in a cage in which it executes nothing else and writes nothing.
type caged struct {
	program Program
	git     exec.Cmd  // the common part of all commands
	may     cage.Spec // the permanent permissions of git
}

// find finds git. It returns git's environment and loader; "" if git is statically linked.
func (c *caged) find() (environ []string, loader string, err error) {
	probe, _, err := cage.New(cage.Spec{Read: []string{}, Execute: []string{}})
	if err != nil {
		return nil, "", fmt.Errorf("git runs only in a sandbox, because a repository can name programs and files outside it, and there is no sandbox here: %w", err)
	}
	probe.Close()
	environ = process.ChildEnv(c.program.Environ, nil, nil)
	path, err := process.LookPath("git", environ)
	if err != nil {
		return nil, "", errors.New("git is not installed")
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil, "", fmt.Errorf("git cannot run in a sandbox: %q is not an ELF program, but perhaps a script that starts one: %w", path, confine.Reason(err))
	}
	defer f.Close()
	c.git = exec.Cmd{Path: path, Args: []string{"git", "--no-pager"}}
	c.may = cage.Spec{Execute: []string{path}}
	interpreter := f.Section(".interp")
	if interpreter == nil {
		return environ, "", nil
	}
	name, err := interpreter.Data()
	if err != nil {
		return nil, "", fmt.Errorf("the loader of git is not known: %w", confine.Reason(err))
	}
	loader = strings.TrimRight(string(name), "\x00")
	c.may.Execute = append(c.may.Execute, loader)
	return environ, loader, nil
}

// findGit finds git and everything that it needs to run: its loader lists the libraries
// (ld.so(8)). The encodings that .gitattributes may name (gconv) are next to the libraries.
func (r *repository) findGit(ctx context.Context) error {
	environ, loader, err := r.find()
	if err != nil {
		return err
	}
	path := r.git.Path
	r.git.Args, r.git.Dir = append(r.git.Args, "-c", "core.quotePath=false", "-c", fmt.Sprint("core.bigFileThreshold=", maxCompared)), r.access.Real
	r.may.Read = []string{path, "/etc/ld.so.cache"}
	if loader == "" {
		return nil
	}
	list, _, err := r.program.Processes.Capture(ctx, &exec.Cmd{Path: loader, Args: []string{loader, "--list", path}, Env: environ}, 64<<10)
	if err != nil {
		return fmt.Errorf("it is not known which libraries git needs: %w", confine.Reason(err))
	}
	for word := range strings.FieldsSeq(string(list)) {
		if dir := filepath.Join(filepath.Dir(word), "gconv"); filepath.IsAbs(word) {
			r.may.Read = append(r.may.Read, word, dir, filepath.Join("/usr", dir))
		}
	}
	return nil
}

// run runs git and returns its output. Git may read the files of read in addition to what it
// may always read. If the output has more than most bytes, run returns most+1 bytes and ends
// git, which could go on for long before its next output.
func (c *caged) run(ctx context.Context, read []string, most int, args ...string) ([]byte, error) {
	may, cmd := c.may, c.git
	may.Read = slices.Concat(may.Read, read)
	in, _, err := cage.New(may)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	running, end := context.WithCancel(ctx)
	defer end()
	out, errs := process.Output{Head: most + 1, Full: end}, process.Output{Tail: process.MaxStderr}
	cmd.Args, cmd.Stdout, cmd.Stderr = slices.Concat(cmd.Args, args), &out, &errs
	err = c.program.Processes.In(in.Start).Run(running, &cmd)
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

var errNoCommit = errors.New("there is no commit yet: HEAD names none")

// gitFailure is the reason why git failed, without git's own words: git quotes lines that it
// cannot parse, and a file in .git may be a second name of any other file.
func gitFailure(stderr string, args []string) error {
	for _, arg := range args {
		revision, is := strings.CutSuffix(arg, "^{commit}")
		switch {
		case !is || !strings.Contains(stderr, "bad revision '"+arg+"'"):
		case revision == "HEAD":
			return errNoCommit
		default:
			return fmt.Errorf("a revision names no commit: %q", revision)
		}
	}
	return errors.New("git diff failed: a revision, an object, a reference, the index or the configuration cannot be read; git fsck says more")
}
