package settings

import (
	"toolpipe/mcp/process"
	"toolpipe/run/config"
	"toolpipe/run/servers"
	"toolpipe/stream/text/secrets"
)

// AddSecrets adds values that must not be shown: the keys of models, variables for servers, and
// proxy credentials. The model's client adds the key that it sends; a server's session adds its
// tokens.
func AddSecrets(c *config.Config, set *secrets.Set, s *Settings, used []servers.Server) {
	for _, name := range keyNames(c, s) {
		set.AddFrom(name, c.Getenv(name))
	}
	for _, name := range process.ProxyNames {
		set.AddProxy(c.Getenv(name))
	}
	for name, value := range s.Shell.Env {
		if secrets.Named(name) {
			set.AddFrom(name, value)
		}
	}
	if s.Shell.expander != nil {
		s.Shell.expander.AddSecrets(set)
	}
	for i := range used {
		used[i].AddSecrets(set)
	}
}
