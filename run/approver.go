package run

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/mcp"
)

// approver is that of --approver: a URL, or a command line split as a shell
// quotes it. The command runs in the current directory, which the user named
// by standing in it, with the environment that tool servers get: no key.
func (r *runner) approver(target string) (approve.Approver, error) {
	if isURL(target) {
		return r.urlApprover(target)
	}
	c := r.cfg
	argv, err := c.approverCommand()
	if err != nil {
		return nil, usage("--approver: %v", err)
	}
	return &approve.CommandApprover{
		Argv: argv,
		Env:  mcp.ChildEnv(c.Environ, nil, nil),
		Start: func(cmd *exec.Cmd) (approve.Process, error) {
			p, err := c.Processes.Start(cmd)
			if err != nil {
				return nil, err
			}
			return p, nil
		},
	}, nil
}

// approverCommand is the command line of --approver, its program found.
func (c *Config) approverCommand() ([]string, error) {
	argv, err := splitWords(c.Approver)
	if err != nil {
		return nil, err
	}
	if len(argv) == 0 {
		return nil, errors.New("no command and no URL")
	}
	if strings.Contains(argv[0], "/") {
		if argv[0], err = filepath.Abs(argv[0]); err != nil {
			return nil, err
		}
	}
	argv[0], err = mcp.LookPath(argv[0], c.Environ)
	return argv, err
}

// approverFiles are the program of --approver and the files that its arguments
// name, as FILE or --option=FILE: whoever may write one of them approves
// everything. An argument that names no file yet counts, since a file that is
// made later would be read.
func (c *Config) approverFiles() (files []string) {
	if c.Approver == "" || isURL(c.Approver) {
		return nil
	}
	argv, err := c.approverCommand()
	if err != nil {
		return nil // it is told when the approver is made
	}
	for i, word := range argv {
		if _, value, ok := strings.Cut(word, "="); ok && i > 0 {
			argv = append(argv, value)
		}
	}
	for _, word := range argv {
		if info, err := os.Stat(word); err != nil || !info.IsDir() {
			files = append(files, word)
		}
	}
	return files
}

func (r *runner) urlApprover(address string) (approve.Approver, error) {
	a, err := approve.NewURLApprover(address, r.cfg.InsecureHTTP)
	if plain, ok := errors.AsType[*approve.PlainHTTPError](err); ok {
		return nil, usageError([]string{"use https, or believe what comes in the clear: --insecure-http " + shellQuote(plain.Host)}, "--approver: %v", err)
	} else if err != nil {
		return nil, usage("--approver: %v", err)
	}
	if a.PlainHost != "" {
		r.warn("insecure_http", "", "the approver "+strconv.Quote(a.PlainHost)+" is asked over plain http")
	}
	return a, nil
}
