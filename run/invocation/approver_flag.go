package invocation

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/mcp/process"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/stream/netguard"
)

// newApprover is the approver of --approver: a URL, or a command line with the quotes of a shell.
// The command runs in the current directory, where the user runs toolpipe, with the environment of
// tool servers: without keys.
func newApprover(c *config.Config, warn config.Warner) (*approve.Approver, error) {
	if config.IsURL(c.Approver) {
		return urlApprover(c, warn)
	}
	argv, err := approverCommand(c)
	if err != nil {
		return nil, failure.Usage("--approver: %v", err)
	}
	for _, file := range approverFiles(c) {
		if err := config.ProgramFile.CheckPath(c, "--approver", file, warn); err != nil {
			return nil, err
		}
	}
	ask := approve.AskCommand(argv, process.ChildEnv(c.Environ, nil, nil), c.Processes.Capture)
	return &approve.Approver{Origin: "--approver", Ask: ask}, nil
}

// urlApprover is the approver at a URL. With plain http anybody on the network path could answer,
// so the host must be this machine or a host of --insecure-http. Errors do not show the URL, which
// may contain a secret.
func urlApprover(c *config.Config, warn config.Warner) (*approve.Approver, error) {
	u, err := url.Parse(c.Approver)
	if err != nil || u.Hostname() == "" {
		return nil, failure.Usage("--approver: the value is not an http or https URL")
	}
	if host := u.Hostname(); u.Scheme == "http" && !netguard.IsLoopback(host) {
		if !slices.ContainsFunc(c.InsecureHTTP, func(h string) bool { return strings.EqualFold(h, host) }) {
			return nil, failure.UsageError([]string{"use https, or allow plain http to this host: --insecure-http " + config.ShellQuote(host)},
				"--approver: %q would be asked over plain http, where others can answer for it", host)
		}
		warn("insecure_http", "", "the approver "+strconv.Quote(host)+" is asked over plain http")
	}
	return &approve.Approver{Origin: "--approver", Ask: approve.AskURL(c.Approver)}, nil
}

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

// approverFiles are the program of --approver and the files in its arguments, as FILE,
// --option=FILE or a word of a script for sh -c: a tool that can write one of them could approve
// everything. Missing files count too, since the program would read them once they exist.
func approverFiles(c *config.Config) (files []string) {
	argv, err := approverCommand(c)
	if err != nil {
		return nil // there is no approver, or it is a URL, or newApprover reports the error
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
