package config

import (
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/mcp"
	"toolpipe/mcp/process"
	"toolpipe/run/failure"
)

// Server is one configured tool server: how to reach it, and what the user
// says of it. The zero value of trusted does not trust.
type Server struct {
	mcp.Spec
	Optional     bool
	Trusted      bool
	Parallel     int      // calls at once; 0: no limit of its own
	Tools        []string // globs over the server's own names; nil: all
	Exclude      []string
	Instructions *bool             // nil: as trusted
	KeyFile      string            // the private key that its oauth names
	variables    map[string]string // the variables that its entry names, with their values
	Root         string            // the directory that relative paths in its tools' arguments start from
	origin       string            // where it was configured, for the warning when it is shadowed
	own          bool              // the user's own config has it
	Borrowed     bool              // another host's file has it, under the name of a server in the user's own config
	Shown        string            // URL or command as configured, ${VAR} not expanded; "": show the real one
}

// reserved names belong to the built-in servers.
var reserved = []string{"files", "shell", "fetch"}

// CheckServerName refuses a name that no server may have.
func CheckServerName(name string) error {
	bad := func(why string) error {
		return failure.UsageError([]string{"a server's name is letters, digits, - and _, at most 32, without __ and without _ at the end"}, "server name %q: %s", name, why)
	}
	switch {
	case name == "":
		return bad("is empty")
	case len(name) > 32:
		return bad("is longer than 32 bytes")
	case strings.Contains(name, "__"):
		return bad("contains __, which separates server and tool")
	case strings.HasSuffix(name, "_"):
		return bad("ends with _")
	}
	for i := 0; i < len(name); i++ {
		if !nameByte(name[i]) {
			return bad("contains " + strconv.QuoteRune([]rune(name[i:])[0]))
		}
	}
	return nil
}

func nameByte(c byte) bool {
	return c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// parseTarget reads the value of -t: [NAME=]TARGET or NAME?=TARGET, where
// TARGET is an http(s) URL or a command line. taken tells whether a server
// already has a name.
func parseTarget(s string, taken func(string) bool) (Server, error) {
	name, target, named := strings.Cut(s, "=")
	if !named || strings.ContainsAny(name, "/: \t'\"") {
		name, target, named = "", s, false
	}
	srv := Server{origin: "--mcp " + ShellQuote(s)}
	name, srv.Optional = strings.CutSuffix(name, "?")
	if IsURL(target) {
		u, err := checkURL(target)
		if err != nil {
			return srv, failure.Within("--mcp", err)
		}
		if !named {
			name = nameOfURL(u, taken)
		}
		srv.URL = target
	} else {
		words, err := SplitWords(target)
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
			return srv, failure.UsageError([]string{"--mcp NAME=" + ShellQuote(target)}, "--mcp: %q: a command needs a name", s)
		}
		if strings.Contains(words[0], "/") { // a program named on the command line is relative to the user's working directory
			if words[0], err = filepath.Abs(words[0]); err != nil {
				return srv, failure.Usage("--mcp: %v", err)
			}
		}
		srv.Command, srv.Dir = words, neutralDir
	}
	if err := CheckServerName(name); err != nil {
		return srv, failure.Within("--mcp", err)
	}
	if slices.Contains(reserved, name) {
		return srv, failure.Usage("--mcp: the name %q is reserved for a built-in server", name)
	}
	srv.Name = name
	return srv, nil
}

// IsURL tells an http or https URL from a command line. Schemes are
// case-insensitive (RFC 3986, 3.1).
func IsURL(target string) bool {
	scheme, _, ok := strings.Cut(target, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// checkURL refuses a URL that cannot be the address of a server, before
// anything is started.
func checkURL(target string) (*url.URL, error) {
	u, err := url.Parse(target)
	switch {
	case err != nil && strings.Contains(target, "@"): // there may be a password in it
		return nil, failure.Usage("what was given is not a URL")
	case err != nil:
		return nil, failure.Usage("%q is not a URL", target)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, failure.Usage("%q is not an http or https URL", u.Redacted())
	case u.User != nil:
		return nil, failure.UsageError([]string{"--mcp-auth-env NAME=VAR sends the bearer token in VAR"}, "the URL holds a user name or password")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || port[0] == '0' {
			return nil, failure.Usage("%q has no port that exists", u.Redacted())
		}
	}
	return u, nil
}

// nameOfURL names a server after its host's first label; an IP address or a
// name that is taken gets the port added.
func nameOfURL(u *url.URL, taken func(string) bool) string {
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	isIP := net.ParseIP(host) != nil
	if !isIP {
		host, _, _ = strings.Cut(host, ".")
	}
	name := legalName(host)
	if isIP || taken(name) || slices.Contains(reserved, name) {
		name = strings.TrimRight(name[:min(len(name), 31-len(port))], "-") + "-" + port
	}
	return name
}

// legalName makes a server name of a host name: illegal bytes become "-".
func legalName(s string) string {
	b := []byte(s)
	for i, c := range b {
		if !nameByte(c) || c == '_' && i > 0 && b[i-1] == '_' {
			b[i] = '-'
		}
	}
	name := strings.TrimRight(string(b[:min(len(b), 32)]), "_")
	if name == "" {
		return "-"
	}
	return name
}

// parseServers reads the servers of a config file or of another host's file.
// own is the user's own config: there unknown keys are errors, trust counts,
// and keys, the variables with a model's key, may be named.
func parseServers(c *Config, v Value, own bool, keys []string, warn func(code, server, message string)) ([]Server, error) {
	if v.Kind() != '{' {
		return nil, v.Errorf("the servers are not an object of names")
	}
	var all []Server
	for _, m := range v.Members() {
		if err := CheckServerName(m.Key); err != nil {
			return nil, m.At.within(err)
		}
		if slices.Contains(reserved, m.Key) {
			return nil, m.At.Errorf("the name %q is reserved for a built-in server", m.Key)
		}
		e := entry{c: c, own: own, keys: keys, warn: warn, Server: Server{Spec: mcp.Spec{Name: m.Key}, origin: m.At.origin()}}
		if err := e.parse(m.Value); err != nil {
			return nil, err
		}
		if e.disabled {
			continue
		}
		if err := e.finish(m.At); err != nil {
			return nil, err
		}
		all = append(all, e.Server)
	}
	return all, nil
}

// loadServers reads a file of --mcp-config: mcpServers (Claude Desktop,
// .mcp.json, Cursor, Gemini), servers (VS Code) or mcp (opencode).
func (c *Config) loadServers(path string, keys []string, warn func(code, server, message string)) ([]Server, error) {
	doc, err := ReadDocument("--mcp-config", path, warn)
	if err != nil {
		return nil, err
	}
	var all []Server
	found := false
	for _, key := range []string{"mcpServers", "servers", "mcp"} {
		v, ok := doc.Get(key)
		if !ok {
			continue
		}
		if inner, ok := v.Get("servers"); ok && key == "mcp" { // VS Code settings.json
			v = inner
		}
		found = true
		s, err := parseServers(c, v, false, keys, warn)
		if err != nil {
			return nil, err
		}
		all = append(all, s...)
	}
	if !found {
		return nil, failure.UsageError([]string{`the file is of the form {"mcpServers":{"NAME":{"command":"…","args":["…"]}}}`},
			"%s: holds neither mcpServers nor servers nor mcp", path)
	}
	return all, nil
}

// ConfiguredServers puts all sources together: config, --mcp-config, -t. A
// name given twice is the later one's, with a warning.
func (c *Config) ConfiguredServers(s *Settings, warn func(code, server, message string)) ([]Server, error) {
	var all []Server
	add := func(srv Server, foreign bool) {
		shadowed := FindServer(all, srv.Name)
		if shadowed == nil {
			all = append(all, srv)
			return
		}
		message := "server " + strconv.Quote(srv.Name) + " of " + shadowed.origin + " is shadowed by that of " + srv.origin
		if srv.Borrowed = foreign && (shadowed.own || shadowed.Borrowed); srv.Borrowed && len(s.Rules) > 0 {
			message += "; what auto_approve of " + s.Path + " allows is not for this one"
		}
		warn("server_shadowed", srv.Name, message)
		*shadowed = srv
	}
	for _, srv := range s.servers {
		srv.own = true
		add(srv, false)
	}
	for _, path := range c.ServerConfigs {
		servers, err := c.loadServers(path, c.keyNames(s), warn)
		if err != nil {
			return nil, err
		}
		for _, srv := range servers {
			add(srv, true)
		}
	}
	for _, t := range c.Servers {
		srv, err := parseTarget(t, func(name string) bool { return FindServer(all, name) != nil })
		if err != nil {
			return nil, err
		}
		for _, w := range srv.Command {
			if w == "." || w == ".." || strings.HasPrefix(w, "./") || strings.HasPrefix(w, "../") {
				warn("server_directory", srv.Name, "server "+strconv.Quote(srv.Name)+" starts in "+neutralDir+", not in this directory: write "+fromHere(w)+" instead of "+ShellQuote(w))
			}
		}
		add(srv, false)
	}
	return all, c.applyServerFlags(s, all)
}

// FindServer returns the server of that name, nil if there is none.
func FindServer(all []Server, name string) *Server {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// applyServerFlags applies the flags that name a server.
func (c *Config) applyServerFlags(settings *Settings, all []Server) error {
	for _, given := range c.InsecureHTTP {
		if host := bareHost(given); host != given {
			return failure.UsageError([]string{"--insecure-http " + ShellQuote(host)}, "--insecure-http: %q is not the name of a host alone", given)
		}
	}
	for _, name := range c.Trust {
		s := FindServer(all, name)
		if s == nil {
			return failure.UsageError(KnownServers(all), "--trust: no server is named %q", name)
		}
		s.Trusted = true
	}
	for _, f := range c.ServerAuthEnv {
		name, env, ok := strings.Cut(f, "=")
		s := FindServer(all, name)
		switch {
		case !ok || env == "":
			return failure.Usage("--mcp-auth-env: %q is not of the form NAME=VAR", f)
		case s == nil:
			return failure.UsageError(KnownServers(all), "--mcp-auth-env: no server is named %q", name)
		case s.URL == "":
			return failure.Usage("--mcp-auth-env: server %q is a command; its config's env sets its environment", name)
		}
		token, ok := c.lookupEnv(env)
		if !ok || token == "" {
			return failure.Usage("--mcp-auth-env: the variable %q is not set", env)
		}
		s.Bearer = token
	}
	keys := c.keyNames(settings) // a server inherits no model's key, also not one that this run does not use
	for i := range all {
		s := &all[i]
		s.InheritEnv = slices.DeleteFunc(slices.Clone(s.InheritEnv), func(name string) bool { return slices.Contains(keys, name) })
		s.Environ, s.Version, s.Elicit = c.Environ, c.Version, c.Elicit
		if c.ToolTimeout > 0 {
			s.ToolTimeout = c.ToolTimeout
		}
		if s.URL == "" {
			s.Root = s.Dir
		}
		if u, err := url.Parse(s.URL); err == nil && slices.ContainsFunc(c.InsecureHTTP, func(host string) bool { return strings.EqualFold(host, u.Hostname()) }) {
			s.InsecureHTTP = true
		}
	}
	return nil
}

// bareHost is the host in s, which may be a URL or have a port; s itself if no
// host can be found in it.
func bareHost(s string) string {
	address := s
	if !strings.Contains(s, "://") {
		address = "http://" + s
	}
	u, err := url.Parse(address)
	if err != nil || net.ParseIP(s) != nil || u.Hostname() == "" {
		return s
	}
	return u.Hostname()
}

// keyNames are the variables that hold a model's key: the usual ones, that of
// --key-env and those of all profiles.
func (c *Config) keyNames(s *Settings) []string {
	names := slices.Clone(process.ModelKeys)
	if c.KeyEnv != nil {
		names = append(names, *c.KeyEnv)
	}
	for _, p := range s.profiles {
		names = append(names, p.keyEnv)
	}
	return names
}

// KnownServers returns a hint that names the servers there are.
func KnownServers(all []Server) []string {
	if len(all) == 0 {
		return []string{"no server is configured; --mcp NAME=TARGET adds one"}
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return []string{"servers: " + JoinWords(names)}
}

// milliseconds reads a timeout in the unit that other hosts' files use.
func milliseconds(v Value) (time.Duration, error) {
	n, err := v.count()
	return time.Duration(n) * time.Millisecond, err
}
