package run

import (
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/mcp"
)

// server is one configured tool server: how to reach it, and what the user
// says of it. The zero value of trusted does not trust.
type server struct {
	mcp.Spec
	optional     bool
	trusted      bool
	parallel     int      // calls at once; 0: no limit of its own
	tools        []string // globs over the server's own names; nil: all
	exclude      []string
	instructions *bool             // nil: as trusted
	keyFile      string            // that its oauth names
	variables    map[string]string // the value of each that its entry names
	root         string            // what relative paths of its arguments start from
	origin       string            // where it was configured, for the warning when it is shadowed
	own          bool              // by the user's own config
	borrowed     bool              // from another host's file, with the name of one in the user's own config
	shown        string            // URL or command as configured, ${VAR} not expanded; "": as it is
}

// reserved names belong to the built-in servers.
var reserved = []string{"files", "shell", "fetch"}

func checkServerName(name string) error {
	bad := func(why string) error {
		return usageError([]string{"a server's name is letters, digits, - and _, at most 32, without __ and without _ at the end"}, "server name %q: %s", name, why)
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
// TARGET is an http(s) URL or a command line. taken tells which names exist.
func parseTarget(s string, taken func(string) bool) (server, error) {
	name, target, named := strings.Cut(s, "=")
	if !named || strings.ContainsAny(name, "/: \t'\"") {
		name, target, named = "", s, false
	}
	srv := server{origin: "--mcp " + shellQuote(s)}
	name, srv.optional = strings.CutSuffix(name, "?")
	if isURL(target) {
		u, err := checkURL(target)
		if err != nil {
			return srv, within("--mcp", err)
		}
		if !named {
			name = nameOfURL(u, taken)
		}
		srv.URL = target
	} else {
		words, err := splitWords(target)
		if err != nil {
			return srv, within("--mcp", err)
		}
		if len(words) == 0 {
			return srv, usage("--mcp: %q: no command and no URL", s)
		}
		if strings.Contains(words[0], "://") {
			return srv, usage("--mcp: %q is not an http or https URL", words[0])
		}
		if !named {
			return srv, usageError([]string{"--mcp NAME=" + shellQuote(target)}, "--mcp: %q: a command needs a name", s)
		}
		if strings.Contains(words[0], "/") { // named on the command line: relative to where the user stands
			if words[0], err = filepath.Abs(words[0]); err != nil {
				return srv, usage("--mcp: %v", err)
			}
		}
		srv.Command, srv.Dir = words, neutralDir
	}
	if err := checkServerName(name); err != nil {
		return srv, within("--mcp", err)
	}
	if slices.Contains(reserved, name) {
		return srv, usage("--mcp: the name %q is reserved for a built-in server", name)
	}
	srv.Name = name
	return srv, nil
}

// isURL tells an http or https URL from a command line. Schemes are
// case-insensitive (RFC 3986, 3.1).
func isURL(target string) bool {
	scheme, _, ok := strings.Cut(target, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// checkURL refuses a URL that cannot be a server's: an error before anything
// is started.
func checkURL(target string) (*url.URL, error) {
	u, err := url.Parse(target)
	switch {
	case err != nil && strings.Contains(target, "@"): // there may be a password in it
		return nil, usage("what was given is not a URL")
	case err != nil:
		return nil, usage("%q is not a URL", target)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, usage("%q is not an http or https URL", u.Redacted())
	case u.User != nil:
		return nil, usageError([]string{"--mcp-auth-env NAME=VAR sends the bearer token in VAR"}, "the URL holds a user name or password")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || port[0] == '0' {
			return nil, usage("%q has no port that exists", u.Redacted())
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
func parseServers(c *Config, v value, own bool, keys []string, warn func(code, server, message string)) ([]server, error) {
	if v.kind() != '{' {
		return nil, v.errorf("the servers are not an object of names")
	}
	var all []server
	for _, m := range v.members() {
		if err := checkServerName(m.key); err != nil {
			return nil, m.at.within(err)
		}
		if slices.Contains(reserved, m.key) {
			return nil, m.at.errorf("the name %q is reserved for a built-in server", m.key)
		}
		e := entry{c: c, own: own, keys: keys, warn: warn, server: server{Spec: mcp.Spec{Name: m.key}, origin: m.at.origin()}}
		if err := e.parse(m.value); err != nil {
			return nil, err
		}
		if e.disabled {
			continue
		}
		if err := e.finish(m.at); err != nil {
			return nil, err
		}
		all = append(all, e.server)
	}
	return all, nil
}

// loadServers reads a file of --mcp-config: mcpServers (Claude Desktop,
// .mcp.json, Cursor, Gemini), servers (VS Code) or mcp (opencode).
func (c *Config) loadServers(path string, keys []string, warn func(code, server, message string)) ([]server, error) {
	doc, err := readDocument("--mcp-config", path, warn)
	if err != nil {
		return nil, err
	}
	var all []server
	found := false
	for _, key := range []string{"mcpServers", "servers", "mcp"} {
		v, ok := doc.get(key)
		if !ok {
			continue
		}
		if inner, ok := v.get("servers"); ok && key == "mcp" { // VS Code settings.json
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
		return nil, usageError([]string{`the file is of the form {"mcpServers":{"NAME":{"command":"…","args":["…"]}}}`},
			"%s: holds neither mcpServers nor servers nor mcp", path)
	}
	return all, nil
}

// configuredServers puts all sources together: config, --mcp-config, -t. A
// name given twice is the later one's, with a warning.
func (c *Config) configuredServers(s *settings, warn func(code, server, message string)) ([]server, error) {
	var all []server
	add := func(srv server, foreign bool) {
		shadowed := findServer(all, srv.Name)
		if shadowed == nil {
			all = append(all, srv)
			return
		}
		message := "server " + strconv.Quote(srv.Name) + " of " + shadowed.origin + " is shadowed by that of " + srv.origin
		if srv.borrowed = foreign && (shadowed.own || shadowed.borrowed); srv.borrowed && len(s.rules) > 0 {
			message += "; what auto_approve of " + s.path + " allows is not for this one"
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
		srv, err := parseTarget(t, func(name string) bool { return findServer(all, name) != nil })
		if err != nil {
			return nil, err
		}
		for _, w := range srv.Command {
			if w == "." || w == ".." || strings.HasPrefix(w, "./") || strings.HasPrefix(w, "../") {
				warn("server_directory", srv.Name, "server "+strconv.Quote(srv.Name)+" starts in "+neutralDir+", not in this directory: write "+fromHere(w)+" instead of "+shellQuote(w))
			}
		}
		add(srv, false)
	}
	return all, c.applyServerFlags(s, all)
}

func findServer(all []server, name string) *server {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// applyServerFlags applies the flags that name a server.
func (c *Config) applyServerFlags(settings *settings, all []server) error {
	for _, given := range c.InsecureHTTP {
		if host := bareHost(given); host != given {
			return usageError([]string{"--insecure-http " + shellQuote(host)}, "--insecure-http: %q is not the name of a host alone", given)
		}
	}
	for _, name := range c.Trust {
		s := findServer(all, name)
		if s == nil {
			return usageError(knownServers(all), "--trust: no server is named %q", name)
		}
		s.trusted = true
	}
	for _, f := range c.ServerAuthEnv {
		name, env, ok := strings.Cut(f, "=")
		s := findServer(all, name)
		switch {
		case !ok || env == "":
			return usage("--mcp-auth-env: %q is not of the form NAME=VAR", f)
		case s == nil:
			return usageError(knownServers(all), "--mcp-auth-env: no server is named %q", name)
		case s.URL == "":
			return usage("--mcp-auth-env: server %q is a command; its config's env sets its environment", name)
		}
		token, ok := c.lookupEnv(env)
		if !ok || token == "" {
			return usage("--mcp-auth-env: the variable %q is not set", env)
		}
		s.Bearer = token
	}
	keys := c.keyNames(settings) // whichever this run uses, none is a tool's business
	for i := range all {
		s := &all[i]
		s.InheritEnv = slices.DeleteFunc(slices.Clone(s.InheritEnv), func(name string) bool { return slices.Contains(keys, name) })
		s.Environ, s.Version, s.Elicit = c.Environ, c.Version, c.Elicit
		if c.ToolTimeout > 0 {
			s.ToolTimeout = c.ToolTimeout
		}
		if s.URL == "" {
			s.root = s.Dir
		}
		if u, err := url.Parse(s.URL); err == nil && slices.ContainsFunc(c.InsecureHTTP, func(host string) bool { return strings.EqualFold(host, u.Hostname()) }) {
			s.InsecureHTTP = true
		}
	}
	return nil
}

// bareHost is the host of s, which may be a URL or have a port; s if there is
// no telling.
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
func (c *Config) keyNames(s *settings) []string {
	names := slices.Clone(mcp.ModelKeys)
	if c.KeyEnv != nil {
		names = append(names, *c.KeyEnv)
	}
	for _, p := range s.profiles {
		names = append(names, p.keyEnv)
	}
	return names
}

func knownServers(all []server) []string {
	if len(all) == 0 {
		return []string{"no server is configured; --mcp NAME=TARGET adds one"}
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return []string{"servers: " + joinWords(names)}
}

// milliseconds is the unit of timeout in other hosts' files.
func milliseconds(v value) (time.Duration, error) {
	n, err := v.count()
	return time.Duration(n) * time.Millisecond, err
}
