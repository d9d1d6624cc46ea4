package servers

import (
	"cmp"
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/mcp"
	"toolpipe/mcp/oauth"
	"toolpipe/run/config"
	"toolpipe/run/failure"
)

// Sources are the servers of the user's config, and its other settings for servers.
type Sources struct {
	Own        []Server
	Chosen     []string // servers that the run's profile names; nil: all
	ChosenFrom string   // position of Chosen
	KeyNames   []string // variables with a model's key or a login; no server inherits them
	Approves   string   // path of the config if it has auto_approve rules; "" otherwise
}

// Configured combines all sources: config, --mcp-config, -t. For a duplicate name the later server
// is used, with a warning. It returns the servers that the run uses, and those that flags, profile
// or files exclude. Excluded servers cause no warnings or errors.
func Configured(ctx context.Context, c *config.Config, from Sources, stdin io.Reader, warn config.Warner) (used, unused []Server, err error) {
	all, err := allServers(ctx, c, from, stdin, warn)
	if err != nil {
		return nil, nil, err
	}
	giveNames(all)
	if err := applyServerFlags(c, from.KeyNames, all); err != nil {
		return nil, nil, err
	}
	chosen, err := chosenServers(c, from, all)
	if err != nil {
		return nil, nil, err
	}
	for _, srv := range all {
		excluded := !srv.fromFlag && (srv.off || chosen != nil && !slices.ContainsFunc(chosen, srv.is))
		mayOffer := srv.Far || len(c.Tools) == 0 || c.AsksServers() || srv.MayOffer(c.Tools)
		if excluded || !mayOffer {
			unused = append(unused, srv)
			continue
		}
		for _, n := range srv.notes {
			warn(n.code, srv.Name, n.message)
		}
		used = append(used, srv)
	}
	return used, unused, nil
}

func allServers(ctx context.Context, c *config.Config, from Sources, stdin io.Reader, warn config.Warner) ([]Server, error) {
	var all []Server
	add := func(srv Server, foreign bool) {
		name := cmp.Or(srv.Spelling, srv.Name)
		shadowed := Find(all, name)
		if shadowed == nil {
			all = append(all, srv)
			return
		}
		message := "server " + strconv.Quote(name) + " of " + shadowed.origin + " is shadowed by the server of " + srv.origin
		if srv.Borrowed = foreign && (shadowed.own || shadowed.Borrowed); srv.Borrowed && from.Approves != "" {
			message += "; what auto_approve of " + from.Approves + " allows is not for this one"
		}
		srv.warn("server_shadowed", message)
		*shadowed = srv
	}
	for _, srv := range from.Own {
		add(srv, false)
	}
	for _, path := range c.ServerConfigs {
		servers, err := loadServers(ctx, c, path, from.KeyNames, stdin, warn)
		if err != nil {
			return nil, err
		}
		for _, srv := range servers {
			srv.file = path
			add(srv, true)
		}
	}
	if address := c.Door(); address != "" { // the run waits as long as it wants
		const forever = 365 * 24 * time.Hour
		add(Server{Spec: mcp.Spec{Name: "run", URL: address, StartupTimeout: forever, ToolTimeout: forever}, choice: choice{Far: true}, Shown: "the run of this command"}, false)
	}
	for _, t := range c.Servers {
		srv, err := parseTarget(t, func(name string) bool { return Find(all, name) != nil })
		if err != nil {
			return nil, err
		}
		add(srv, false)
	}
	return all, nil
}

// chosenServers are the names in --servers, or else in the profile; nil for all servers.
func chosenServers(c *config.Config, from Sources, all []Server) (names []string, err error) {
	names, at := from.Chosen, from.ChosenFrom
	if c.ChosenServers != nil {
		names, at = config.Elements(c.ChosenServers), "--servers"
	}
	for _, name := range names {
		switch srv := Find(all, name); {
		case srv == nil:
			return nil, failure.UsageError(Known(all), "%s: no server is named %q", at, name)
		case srv.off && !srv.fromFlag:
			return nil, failure.UsageError(Known(all), "%s: server %q is switched off in %s", at, name, srv.origin)
		}
	}
	return names, nil
}

func applyServerFlags(c *config.Config, keys []string, all []Server) error {
	for _, name := range c.Trust {
		s := Find(all, name)
		if far := slices.IndexFunc(all, func(s Server) bool { return s.Far }); s == nil && far >= 0 { // its servers become known only when it lists them
			for i := range all {
				all[i].FarTrust = append(all[i].FarTrust, name)
			}
			continue
		}
		if s == nil {
			return failure.UsageError(Known(all), "--trust: no server is named %q", name)
		}
		s.Trusted = true
	}
	for _, apply := range []func(*config.Config, []Server) error{applyAuthEnv, applyServerEnv, applyServerDirs, applySandboxes} {
		if err := apply(c, all); err != nil {
			return err
		}
	}
	for i := range all {
		s := &all[i] // even a key that this run does not use
		s.InheritEnv = slices.DeleteFunc(slices.Clone(s.InheritEnv), func(name string) bool { return slices.Contains(keys, name) })
		s.Environ, s.Elicit = c.Environ, c.Elicit
		s.Client.Version, s.Client.Meta = c.Version, c.RequestMeta()
		s.ToolTimeout = cmp.Or(c.ToolTimeout, s.ToolTimeout)
		s.StartupTimeout = cmp.Or(c.StartupTimeout, s.StartupTimeout)
		if s.URL == "" {
			s.place()
			s.Root = s.Dir
		}
		s.loginArgs = loginArgs(c, s)
		if u, err := url.Parse(s.URL); err == nil && slices.ContainsFunc(c.InsecureHTTP, func(host string) bool { return strings.EqualFold(host, u.Hostname()) }) {
			s.InsecureHTTP = true
			s.loginArgs = append(s.loginArgs, "--insecure-http", u.Hostname())
		}
		if c.ClientMetadataURL != "" && s.URL != "" {
			known := *cmp.Or(s.OAuth, &oauth.Settings{})
			known.ClientMetadataURL = cmp.Or(known.ClientMetadataURL, c.ClientMetadataURL)
			s.OAuth = &known
		}
	}
	return nil
}

func applyAuthEnv(c *config.Config, all []Server) error {
	for _, f := range c.ServerAuthEnv {
		name, env, ok := strings.Cut(f, "=")
		s := Find(all, name)
		switch {
		case !ok || env == "":
			return failure.Usage("--mcp-auth-env: %q is not of the form NAME=VAR", f)
		case s == nil:
			return failure.UsageError(Known(all), "--mcp-auth-env: no server is named %q", name)
		case s.AtSocket():
			return failure.Usage("--mcp-auth-env: server %q is at a socket, where no token is sent", name)
		case s.URL == "":
			return failure.UsageError([]string{"--mcp-env " + config.ShellQuote(f)}, "--mcp-auth-env: server %q is a command, which gets variables", name)
		}
		if s.Bearer = c.Getenv(env); s.Bearer == "" && !c.ReplayTools {
			return failure.Usage("--mcp-auth-env: the variable %q is not set", env)
		}
	}
	return nil
}

func applySandboxes(c *config.Config, all []Server) error {
	for _, f := range c.ServerSandboxes {
		name, list, listed := strings.Cut(f, "=")
		said, err := config.ParseSandbox(map[bool]string{true: list, false: "on"}[listed])
		if err != nil {
			return failure.Within("--mcp-sandbox", err)
		}
		found := false
		for i := range all {
			s := &all[i]
			if name != "*" && !s.is(name) || name == "*" && s.URL != "" {
				continue
			}
			if found = true; s.URL != "" {
				return failure.Usage("--mcp-sandbox: server %q is at a URL, and not a program of this machine", name)
			}
			s.Sandbox = said
		}
		if !found && name != "*" {
			return failure.UsageError(Known(all), "--mcp-sandbox: no server is named %q", name)
		}
	}
	for i := range all {
		if all[i].Sandbox.On && all[i].URL != "" {
			return failure.Usage("%s: sandbox is for a server that is a command", all[i].origin)
		}
	}
	return nil
}

// applyServerEnv gives servers the variables of --mcp-env. Its errors do not show the text after
// the =, because it may be a value, given by mistake.
func applyServerEnv(c *config.Config, all []Server) error {
	for _, f := range c.ServerEnv {
		name, list, ok := strings.Cut(f, "=")
		s := Find(all, name)
		switch {
		case !ok || list == "":
			return failure.UsageError([]string{"--mcp-env NAME=VAR hands the variable VAR to the server NAME"}, "--mcp-env: not of the form NAME=VAR[,VAR...]")
		case s == nil:
			return failure.UsageError(Known(all), "--mcp-env: no server is named %q", name)
		case s.URL != "":
			return failure.UsageError([]string{"--mcp-auth-env " + name + "=VAR sends a bearer token"}, "--mcp-env: server %q is at a URL, and gets no variables", name)
		}
		for i, variable := range strings.Split(list, ",") {
			value, set := c.LookupEnv(variable)
			if !set {
				return failure.UsageError([]string{"after " + name + "= come the names of variables, not their values; export them first"},
					"--mcp-env: for server %q: number %d is not the name of a variable that is set", name, i+1)
			}
			if s.Env == nil {
				s.Env = map[string]string{}
			}
			s.Env[variable] = value
			s.remember(variable, value)
		}
	}
	return nil
}

// remember records a variable that the server gets, so that its value is not shown.
func (s *Server) remember(name, value string) {
	if s.variables == nil {
		s.variables = map[string]variable{}
	}
	s.variables[name] = variable{value, s.variables[name].secret || strings.HasPrefix(name, copilotPrefix)}
}

func applyServerDirs(c *config.Config, all []Server) error {
	for _, f := range c.ServerDirs {
		name, dir, named := strings.Cut(f, "=")
		if !named || strings.ContainsAny(name, "/.: \t'\"") {
			name, dir, named = "", f, false
		}
		path, err := filepath.Abs(dir)
		if err != nil {
			return failure.Usage("--mcp-cwd: %v", err)
		}
		if info, err := os.Stat(path); err != nil {
			return config.OpenError("--mcp-cwd", dir, err)
		} else if !info.IsDir() {
			return failure.Usage("--mcp-cwd: %q is not a directory", dir)
		}
		if s := Find(all, name); named && s == nil {
			return failure.UsageError(Known(all), "--mcp-cwd: no server is named %q", name)
		} else if named && s.URL != "" {
			return failure.Usage("--mcp-cwd: server %q is at a URL", name)
		} else if named {
			s.Dir = path
			continue
		}
		for i := range all {
			if s := &all[i]; s.Dir == "" && !s.own && s.URL == "" {
				s.Dir = path
			}
		}
	}
	return nil
}
