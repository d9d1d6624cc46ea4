package config

import (
	"toolpipe/mcp/process"
	"toolpipe/stream/text/secrets"
)

// AddSecrets tells what must not show: the keys of models, what servers get
// from variables, and the credentials of a proxy. The model's client adds the
// key that it sends, a server's session its tokens.
func (c *Config) AddSecrets(set *secrets.Set, s *Settings, servers []Server) {
	for _, name := range c.keyNames(s) {
		set.Add(c.Getenv(name))
	}
	for _, name := range process.ProxyNames {
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
