package run

import (
	"errors"
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
	argv, err := splitWords(target)
	if err != nil {
		return nil, usage("--approver: %v", err)
	}
	if len(argv) == 0 {
		return nil, usage("--approver: no command and no URL")
	}
	c := r.cfg
	if strings.Contains(argv[0], "/") {
		if argv[0], err = filepath.Abs(argv[0]); err != nil {
			return nil, usage("--approver: %v", err)
		}
	}
	if argv[0], err = mcp.LookPath(argv[0], c.Environ); err != nil {
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
