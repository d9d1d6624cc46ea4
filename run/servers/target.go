package servers

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"toolpipe/mcp/local"
	"toolpipe/run/config"
	"toolpipe/run/failure"
)

// parseTarget reads the value of -t: [NAME=]TARGET or NAME?=TARGET. TARGET is an http(s) URL,
// unix:PATH or a command line. taken reports whether a name is already used.
func parseTarget(s string, taken func(string) bool) (Server, error) {
	name, target, named := strings.Cut(s, "=")
	if !named || strings.ContainsAny(name, "/: \t'\"") {
		name, target, named = "", s, false
	}
	srv := Server{origin: "--mcp " + config.ShellQuote(s), fromFlag: true}
	name, srv.Optional = strings.CutSuffix(name, "?")
	if config.IsURL(target) {
		u, err := checkURL(target)
		if err != nil {
			return srv, failure.Within("--mcp", err)
		}
		if !named {
			name = nameOfURL(u, taken)
		}
		srv.URL = target
	} else if path, is := local.Path(target); is {
		err := checkSocket(target)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return srv, failure.Within("--mcp", err)
		}
		srv.URL, srv.Shown = "unix:"+path, target
		if srv.Far = !named; srv.Far {
			name = nameOfSocket(path, taken)
		}
	} else {
		words, err := config.SplitWords(target)
		if err != nil {
			return srv, failure.Within("--mcp", err)
		}
		if len(words) == 0 {
			return srv, failure.Usage("--mcp: %q: no command and no URL", s)
		}
		if strings.Contains(words[0], "://") {
			return srv, failure.Usage("--mcp: %q is not an http or https URL", words[0])
		}
		if !named {
			return srv, failure.UsageError([]string{"--mcp NAME=" + config.ShellQuote(target)}, "--mcp: %q: a command needs a name", s)
		}
		if strings.Contains(words[0], "/") { // relative to the user's working directory
			if words[0], err = filepath.Abs(words[0]); err != nil {
				return srv, failure.Usage("--mcp: %v", err)
			}
		}
		srv.Command = words
	}
	if err := CheckName(name, ""); err != nil {
		return srv, failure.Within("--mcp", err)
	}
	srv.Name = name
	return srv, nil
}

// checkSocket refuses a path that no socket can have.
func checkSocket(address string) error {
	path, _ := local.Path(address)
	switch {
	case path == "":
		return failure.Usage("%q names no socket", address)
	case len(path) > local.MaxPath:
		return failure.Usage("the path of the socket has %d bytes, and %d are possible", len(path), local.MaxPath)
	}
	return nil
}

// checkEntrySocket is checkSocket for a path in a file: it must be absolute.
func checkEntrySocket(address string) error {
	if path, _ := local.Path(address); path != "" && !filepath.IsAbs(path) {
		return failure.Usage("%q: the path of a socket begins with / in a file", address)
	}
	return checkSocket(address)
}

// checkURL refuses a URL that cannot be the address of a server, before anything starts.
func checkURL(target string) (*url.URL, error) {
	u, err := url.Parse(target)
	switch {
	case err != nil && strings.Contains(target, "@"): // it may contain a password
		return nil, failure.Usage("the target is not a URL")
	case err != nil:
		return nil, failure.Usage("%q is not a URL", target)
	case u.User != nil:
		return nil, failure.UsageError([]string{"--mcp-auth-env NAME=VAR sends the bearer token in VAR"}, "the URL contains a user name or password")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, failure.Usage("%q is not an http or https URL", target)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || port[0] == '0' {
			return nil, failure.Usage("%q has no port that exists", target)
		}
	}
	return u, nil
}

// nameOfSocket derives a server name from a socket's file name. No model sees this name.
func nameOfSocket(path string, taken func(string) bool) string {
	name := strings.TrimLeft(legalName(strings.TrimSuffix(filepath.Base(path), ".sock")), "-_")
	if name == "" || taken(name) || IsReserved(name) || strings.Contains(name, "__") {
		sum := sha256.Sum256([]byte(path))
		name = "socket-" + hex.EncodeToString(sum[:4])
	}
	return name
}

// nameOfURL is the first label of the host name. An IP address or a used name gets the port as
// suffix.
func nameOfURL(u *url.URL, taken func(string) bool) string {
	host, port := u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	isIP := net.ParseIP(host) != nil
	if !isIP {
		host, _, _ = strings.Cut(host, ".")
	}
	name := legalName(host)
	if isIP || taken(name) || IsReserved(name) {
		name = strings.TrimRight(name[:min(len(name), 31-len(port))], "-") + "-" + port
	}
	return name
}
