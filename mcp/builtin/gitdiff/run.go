package gitdiff

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/process/cage"
)

// A caged is git as it runs here, in a cage that has no network.
type caged struct {
	Program
	path    string
	tree    string // where git runs
	environ []string
	execute []string // git and its loader, which alone are executed
	read    []string // what git may always read
}

// findGit finds git, and what it needs to be executed: its loader lists the libraries
// (ld.so(8)). Beside them are the encodings that .gitattributes may name (gconv).
func findGit(ctx context.Context, program Program) (*caged, error) {
	probe, _, err := cage.New(cage.Spec{Read: []string{}, Execute: []string{}})
	if err != nil {
		return nil, fmt.Errorf("git runs in a cage alone, because a repository may name programs and files that are none of its own, and there is no cage here: %w", err)
	}
	probe.Close()
	environ := process.ChildEnv(program.Environ, nil, nil)
	path, err := process.LookPath("git", environ)
	if err != nil {
		return nil, errors.New("git is not installed")
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("no cage can hold git, as %q is no program of this system but, perhaps, a script that starts one: %w", path, confine.Reason(err))
	}
	defer f.Close()
	g := &caged{Program: program, path: path, execute: []string{path}, read: []string{path, "/etc/ld.so.cache"}}
	interpreter := f.Section(".interp")
	if interpreter == nil {
		return g, nil
	}
	name, err := interpreter.Data()
	loader := strings.TrimRight(string(name), "\x00")
	var list []byte
	if err == nil {
		list, _, err = program.Processes.Capture(ctx, &exec.Cmd{Path: loader, Args: []string{loader, "--list", path}, Env: environ}, 64<<10)
	}
	if err != nil {
		return nil, fmt.Errorf("it is not known which libraries git needs: %w", confine.Reason(err))
	}
	g.execute = append(g.execute, loader)
	for word := range strings.FieldsSeq(string(list)) {
		if dir := filepath.Join(filepath.Dir(word), "gconv"); filepath.IsAbs(word) {
			g.read = append(g.read, word, dir, filepath.Join("/usr", dir))
		}
	}
	return g, nil
}

// use has git run in a working tree, with a git directory and the private directory that
// stands for what is shared, and gives it the environment that every child gets, and
// nothing of the user's or the system's configuration.
func (g *caged) use(tree, dir, shared string) {
	g.tree, g.read = tree, append(g.read, shared)
	g.environ = process.ChildEnv(g.Environ, map[string]string{
		"GIT_DIR": dir, "GIT_WORK_TREE": tree, "GIT_COMMON_DIR": shared,
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_ATTR_NOSYSTEM": "1", "HOME": shared, "XDG_CONFIG_HOME": shared,
		"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C",
	}, nil)
}

// run runs git where it may read and write what spec says beside what it may always
// read, and returns what it prints. Of more than most bytes, it returns one more than
// most, and ends git, which may go on for long before it prints again.
func (g *caged) run(ctx context.Context, spec cage.Spec, most int, args ...string) ([]byte, error) {
	spec.Execute, spec.Read = g.execute, slices.Concat(g.read, spec.Read)
	in, _, err := cage.New(spec)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	args = slices.Concat([]string{"git", "--no-pager", "-c", "core.quotePath=false", "-c", fmt.Sprint("core.bigFileThreshold=", maxCompared)}, args)
	running, end := context.WithCancel(ctx)
	defer end()
	out, errs := process.Output{Head: most + 1, Full: end}, process.Output{Tail: process.MaxStderr}
	cmd := &exec.Cmd{Path: g.path, Args: args, Env: g.environ, Dir: g.tree, Stdout: &out, Stderr: &errs}
	err = g.Processes.In(func() *cage.Cage { return in }).Run(running, cmd)
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
