package config

import (
	"toolpipe/stream/secrets"
)

// proxyNames are the variables that name a proxy, with the user name and
// password for it.
var proxyNames = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// AddSecrets tells what must not show: the keys of models, what servers get
// from variables, and the credentials of a proxy. The model's client adds the
// key that it sends, a server's session its tokens.
func (c *Config) AddSecrets(set *secrets.Set, s *Settings, servers []Server) {
	for _, name := range c.keyNames(s) {
		set.Add(c.Getenv(name))
	}
	for _, name := range proxyNames {
		set.AddProxy(c.Getenv(name))
	}
	for name, value := range s.Shell.Env {
		if secrets.Named(name) {
			set.Add(value)
		}
	}
	for i := range servers {
		for name, value := range servers[i].variables {
			set.AddNamed(name, value)
		}
	}
}
