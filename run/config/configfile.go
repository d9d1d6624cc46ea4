package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"toolpipe/approve"
	"toolpipe/run/failure"
	"toolpipe/run/stdio"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// Settings is what the config file says.
type Settings struct {
	Path      string
	model     string
	profiles  map[string]profile
	servers   []Server
	Rules     []approve.Rule
	Patterns  []string // the patterns of auto_approve, as -v shows them
	Policies  []string
	MaxRounds *int
	Shell     shellSettings

	credentialHelper string // keeps the logins; "" for files
}

// profile is one entry of models.
type profile struct {
	stream.Config       // what of it the entry says: no key, no headers
	at            Value // the entry in the file
	model         string
	keyEnv        *string
	keyCommand    []string
	headers       []member // of requests to the model, as the file has them
	params        []stream.Param
	insecureHTTP  bool
	servers       []string // nil: all
}

// place is where the file has a key of the profile, "" if it has not.
func (p profile) place(key string) string {
	if p.at.Doc == nil {
		return ""
	}
	v, ok := p.at.Get(key)
	if !ok {
		return ""
	}
	return v.place()
}

type shellSettings struct {
	Env         map[string]string
	PathPrepend []string
	Timeout     time.Duration
}

// LoadSettings reads the config file: the one that a flag or TOOLPIPE_CONFIG
// names, which must exist, else toolpipe/config.json under the user's config
// directory, which may be missing.
func (c *Config) LoadSettings(warn Warner) (*Settings, error) {
	s := &Settings{}
	if c.NoConfig {
		return s, nil
	}
	what, named := "--config", c.ConfigFile
	if named == "" {
		what, named = "TOOLPIPE_CONFIG", c.Getenv("TOOLPIPE_CONFIG")
	}
	s.Path = named
	if named == "" {
		what, s.Path = "the config", c.userPath("XDG_CONFIG_HOME", stdio.DefaultConfigDir, "config.json")
		if _, err := os.Stat(s.Path); os.IsNotExist(err) { // errors.Is takes twice as long as Stat at a start
			s.Path = ""
		}
	}
	if s.Path == "" {
		return s, nil
	}
	doc, err := c.ReadDocument(what, s.Path, jsontext.Options{}, warn)
	if err != nil {
		return nil, err
	}
	return s, doc.readKeys(s.keys(c))
}

// keys are the keys of the config.
func (s *Settings) keys(c *Config) []key {
	return []key{
		{"model", &s.model},
		{"models", eachMember(s.parseProfile)},
		{"mcpServers", into(&s.servers, func(m member) ([]Server, error) { return parseServers(c, m.Value, true, nil) })},
		{"auto_approve", eachMember(s.parseAutoApprove)},
		{"policy", s.parsePolicies},
		{"max_rounds", &s.MaxRounds},
		{"shell", func(m member) error { return m.readKeys(s.Shell.keys()) }},
		{"credential_helper", into(&s.credentialHelper, readHelper)},
		{"client_metadata_url", into(&c.clientMetadataURL, clientDocument)},
	}
}

// parsePolicies reads paths, which are relative to the directory of the config.
func (s *Settings) parsePolicies(m member) error {
	err := m.fill(&s.Policies)
	for i, p := range s.Policies {
		if !filepath.IsAbs(p) {
			s.Policies[i] = filepath.Join(filepath.Dir(s.Path), p)
		}
	}
	return err
}

func readHelper(m member) (string, error) {
	name, err := m.str()
	if err == nil && strings.ContainsAny(name, "/ ") && !filepath.IsAbs(name) {
		err = m.Errorf("%q is neither the NAME of a program docker-credential-NAME nor an absolute path", name)
	}
	return name, err
}

// ProfileNames are the names of the profiles, in order.
func (s *Settings) ProfileNames() []string { return slices.Sorted(maps.Keys(s.profiles)) }

func (s *Settings) parseProfile(m member) error {
	p := profile{at: m.Value}
	if err := m.readKeys(p.keys()); err != nil {
		return err
	}
	if p.keyEnv != nil && p.keyCommand != nil {
		return m.Errorf("key_env and key_command: only one of them can be given")
	}
	if s.profiles == nil {
		s.profiles = map[string]profile{}
	}
	s.profiles[m.Key] = p
	return nil
}

// keys are the keys of a profile.
func (p *profile) keys() []key {
	return []key{
		{"base_url", &p.BaseURL},
		{"model", &p.model},
		{"key_env", &p.keyEnv},
		{"api", word{&p.API, stream.APIs()}},
		{"params", eachMember(func(m member) error {
			p.params = append(p.params, stream.Param{Name: m.Key, Value: m.Raw()})
			return nil
		})},
		{"tool_role", (*not)(&p.NoToolRole)},
		{"idle_timeout", &p.IdleTimeout},
		{"insecure_http", &p.insecureHTTP},
		{"servers", &p.servers},
		{"headers", eachMember(p.parseHeader)},
		{"key_command", &p.keyCommand},
		{"prompt_cache_key", &p.CacheKey},
	}
}

// duration reads a string such as "30s", or a number of seconds.
func (v Value) duration() (time.Duration, error) {
	s := string(v.Raw())
	if v.Kind() == '"' {
		s = v.Text()
	}
	d, err := ParseDuration(s)
	if err != nil {
		return 0, failure.Within(v.place(), err)
	}
	return d, nil
}

// parseAutoApprove reads a pattern, and whether the tools like it are allowed.
func (s *Settings) parseAutoApprove(m member) error {
	allow, err := m.boolean()
	if err != nil {
		return err
	}
	d := approve.Ask
	if allow {
		d = approve.Allow
	}
	rules, err := approve.Patterns(m.Key, d, "config", m.At.Origin())
	if err != nil {
		return m.At.within(err)
	}
	s.Rules = append(s.Rules, rules...)
	s.Patterns = append(s.Patterns, d.String()+" "+m.Key+" ("+m.At.Origin()+")")
	return nil
}

// keys are the keys of shell.
func (s *shellSettings) keys() []key {
	return []key{{"env", &s.Env}, {"path_prepend", &s.PathPrepend}, {"timeout_s", &s.Timeout}}
}
