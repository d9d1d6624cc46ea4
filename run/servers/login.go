package servers

import (
	"cmp"
	"encoding/json"
	"slices"

	"toolpipe/run/config"
	"toolpipe/run/failure"
)

// LoginCommand is the command that signs in to the server. It uses the name of a server in the
// user's config; any other server is found by its URL, unless its entry has more settings.
func (s *Server) LoginCommand() string {
	return config.QuoteWords(append([]string{"toolpipe"}, s.loginArgs...))
}

// ScopesHint says how to sign in with missing scopes.
func (s *Server) ScopesHint(scopes []string) string {
	list, _ := json.Marshal(scopes)
	return `give the entry of the server in ` + cmp.Or(s.file, "the config") + ` "oauth": {"scopes": ` + string(list) + `}, then sign in again: ` + s.LoginCommand()
}

func loginArgs(c *config.Config, s *Server) []string {
	switch {
	case s.own && c.ConfigFile != "":
		return []string{"--config", c.ConfigFile, "--login", s.Name}
	case s.own:
		return []string{"--login", s.Name}
	case s.file != "" && (s.OAuth != nil || s.Shown != s.URL):
		return []string{"--mcp-config", s.file, "--login", s.Name}
	}
	return []string{"--login", s.URL}
}

// LoginServer is the server of --login or --logout: by its name, or by its URL, with or without an
// entry.
func LoginServer(c *config.Config, all []Server, target string) (*Server, error) {
	flag := map[config.Mode]string{config.SignIn: "--login", config.SignOut: "--logout"}[c.Mode]
	s := Find(all, target)
	if s == nil && IsURL(target) {
		if i := slices.IndexFunc(all, func(s Server) bool { return s.URL == target }); i >= 0 {
			return &all[i], nil
		}
		made, err := parseTarget(target, func(string) bool { return false })
		if err != nil {
			return nil, failure.Within(flag, err)
		}
		one := []Server{made}
		return &one[0], applyServerFlags(c, nil, one)
	}
	switch {
	case s == nil:
		return nil, failure.UsageError(append(Known(all), flag+" takes the URL of a server too"), "%s: no server is named %q", flag, target)
	case s.URL == "":
		return nil, failure.Usage("%s: server %q is a command; only a server with a URL has a login", flag, target)
	case s.Unusable != nil:
		return nil, s.Unusable
	}
	return s, nil
}
