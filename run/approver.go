package run

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/mcp/process"
	"toolpipe/run/config"
	"toolpipe/run/failure"
)

// newApprover is the approver of --approver: a URL, or a command line split as a
// shell quotes it. The command runs in the current directory, since the user runs
// toolpipe there, with the environment that tool servers get: without keys.
func newApprover(c *config.Config, warn config.Warner) (approve.Approver, error) {
	if config.IsURL(c.Approver) {
		return urlApprover(c, warn)
	}
	argv, err := approverCommand(c)
	if err != nil {
		return nil, failure.Usage("--approver: %v", err)
	}
	return &approve.CommandApprover{
		Argv: argv,
		Env:  process.ChildEnv(c.Environ, nil, nil),
		Run:  c.Processes.Run,
	}, nil
}

func urlApprover(c *config.Config, warn config.Warner) (approve.Approver, error) {
	a, err := approve.NewURLApprover(c.Approver, c.InsecureHTTP)
	if plain, ok := errors.AsType[*approve.PlainHTTPError](err); ok {
		return nil, failure.UsageError([]string{"use https, or allow plain http to this host: --insecure-http " + config.ShellQuote(plain.Host)}, "--approver: %v", err)
	} else if err != nil {
		return nil, failure.Usage("--approver: %v", err)
	}
	if a.PlainHost != "" {
		warn("insecure_http", "", "the approver "+strconv.Quote(a.PlainHost)+" is asked over plain http")
	}
	return a, nil
}

// approverCommand is the command line of --approver, its program found.
func approverCommand(c *config.Config) ([]string, error) {
	argv, err := config.SplitWords(c.Approver)
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
	argv[0], err = process.LookPath(argv[0], c.Environ)
	return argv, err
}

// approverFiles are the program of --approver and the files that its arguments
// name, as FILE, --option=FILE or a word of a script for sh -c: a tool that could
// write one of them could approve everything. A file that does not exist counts, since the program would read it
// once it does.
func approverFiles(c *config.Config) (files []string) {
	argv, err := approverCommand(c)
	if err != nil {
		return nil // there is no approver, or it is a URL, or newApprover gives the error
	}
	for _, word := range argv[1:] {
		if _, value, ok := strings.Cut(word, "="); ok {
			argv = append(argv, value)
		}
		argv = append(argv, strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;|&<>(){}$=", r) })...)
	}
	for _, word := range argv {
		if info, err := os.Stat(word); err != nil || !info.IsDir() {
			files = append(files, word)
		}
	}
	return files
}
