package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/mcp/oauth"
	"toolpipe/mcp/process"
	"toolpipe/run/failure"
	"toolpipe/stream/text/secrets"
)

// LoginDir is the directory of the logins, in the user's state directory of the
// XDG Base Directory specification; "" if there is none.
func (c *Config) LoginDir() string {
	return c.userPath("XDG_STATE_HOME", func(home string) string { return filepath.Join(home, ".local", "state") }, "logins")
}

// LoginFiles are the directory of the logins and the files that are in it now,
// each of which may have another name elsewhere.
func (c *Config) LoginFiles() (files []string) {
	dir := c.LoginDir()
	if dir == "" {
		return nil
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		files = append(files, filepath.Join(dir, e.Name()))
	}
	return append(files, dir)
}

// LoginStore is where the logins are kept. Every secret that is read from it is
// added to set.
func (c *Config) LoginStore(s *Settings, set *secrets.Set, warn func(code, server, message string)) (*oauth.Store, error) {
	store := &oauth.Store{Dir: c.LoginDir(), Secret: set.Add, Warn: warn}
	if s.credentialHelper != "" {
		store.Helper = &oauth.Helper{Name: s.credentialHelper, Environ: c.Environ, Processes: c.Processes}
	}
	if given := c.Getenv(process.LoginsVariable); given != "" {
		set.Add(given)
		if err := store.Give(given); err != nil {
			return nil, failure.UsageError([]string{"it holds the content of a file of " + ShellQuote(c.LoginDir()) + ", or an array of such contents"}, "%s: %v", process.LoginsVariable, err)
		}
	}
	return store, nil
}

// LoginCommand is the command that signs in to the server and asks for scopes
// beside those that the server names. A server of the user's own config has a
// name in it; any other is found by its URL, unless its entry says more.
func (s *Server) LoginCommand(scopes []string) string {
	words := append([]string{"toolpipe"}, s.loginArgs...)
	if len(scopes) > 0 {
		words = append(words, "--login-scope", strings.Join(scopes, " "))
	}
	return QuoteWords(words)
}

func (c *Config) loginArgs(s *Server) []string {
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

// LoginServer is the server that --login or --logout names: by its name, or by
// its URL, with or without an entry.
func (c *Config) LoginServer(all []Server, target string) (*Server, error) {
	flag := map[Mode]string{SignIn: "--login", SignOut: "--logout"}[c.Mode]
	s := FindServer(all, target)
	if s == nil && IsURL(target) {
		if i := slices.IndexFunc(all, func(s Server) bool { return s.URL == target }); i >= 0 {
			return &all[i], nil
		}
		made, err := parseTarget(target, func(string) bool { return false })
		if err != nil {
			return nil, failure.Within(flag, err)
		}
		one := []Server{made}
		return &one[0], c.applyServerFlags(&Settings{}, one)
	}
	switch {
	case s == nil:
		return nil, failure.UsageError(append(KnownServers(all), flag+" takes the URL of a server too"), "%s: no server is named %q", flag, target)
	case s.URL == "":
		return nil, failure.Usage("%s: server %q is a command; only a server with a URL has a login", flag, target)
	case s.Unusable != nil:
		return nil, s.Unusable
	}
	return s, nil
}
