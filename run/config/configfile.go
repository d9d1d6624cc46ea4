package config

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"toolpipe/approve"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream"
)

// The keys of the config, of a profile and of shell. Any other is an error.
var (
	configKeys  = []string{"model", "models", "mcpServers", "auto_approve", "policy", "max_rounds", "shell", "credential_helper", "client_metadata_url"}
	profileKeys = []string{"base_url", "model", "key_env", "api", "params", "tool_role", "idle_timeout", "timeout", "insecure_http", "servers", "headers", "key_command", "prompt_cache_key"}
	shellKeys   = []string{"env", "path_prepend", "timeout_s"}
)

// Settings is what the config file says.
type Settings struct {
	Path      string
	model     string
	profiles  map[string]profile
	servers   []Server
	Rules     []approve.Rule
	Patterns  []string // of auto_approve, as -v shows them
	Policies  []string
	MaxRounds *int
	Shell     shellSettings

	credentialHelper string // keeps the logins; "" for files
	Warnings         []*event.Warning
}

// profile is one entry of models.
type profile struct {
	baseURL, model, keyEnv, api  string
	urlFrom, paramsFrom, keyFrom string // where the file says base_url, params and key_env
	hasKeyEnv                    bool
	keyCommand                   []string
	headers                      []profileHeader
	cacheKey                     bool
	params                       []stream.Param
	noToolRole, insecureHTTP     bool
	idleTimeout                  time.Duration // longest silence of the model; 0: 120 s
	servers                      []string      // nil: all
	serversFrom                  string
}

// profileHeader is a header of requests to the model, as the file has it.
type profileHeader struct {
	name, value string
	at          Value
}

type shellSettings struct {
	Env         map[string]string
	PathPrepend []string
	Timeout     time.Duration
}

// LoadSettings reads the config file: the one that a flag or TOOLPIPE_CONFIG
// names, which must exist, else toolpipe/config.json under the user's config
// directory, which may be missing.
func (c *Config) LoadSettings() (*Settings, error) {
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
		what = "the config"
		if s.Path = c.userConfigFile(); s.Path == "" {
			return s, nil
		}
	}
	doc, err := ReadDocument(what, s.Path, s.warn)
	if err != nil {
		if named == "" && errors.Is(err, os.ErrNotExist) {
			s.Path = ""
			return s, nil
		}
		return nil, err
	}
	return s, s.parse(c, doc)
}

// userConfigFile is the path of the user's config file, "" when there is no
// home directory.
func (c *Config) userConfigFile() string {
	dir := userConfigDir(c.Getenv)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "toolpipe", "config.json")
}

func (s *Settings) parse(c *Config, doc Value) (err error) {
	if doc.Kind() != '{' {
		return doc.Errorf("the config is not an object")
	}
	for _, m := range doc.Members() {
		switch m.Key {
		case "model":
			s.model, err = m.str()
		case "models":
			err = s.parseProfiles(m.Value)
		case "mcpServers":
			s.servers, err = parseServers(c, m.Value, true, nil)
		case "auto_approve":
			err = s.parseAutoApprove(m.Value)
		case "policy":
			s.Policies, err = m.Words()
			for i, p := range s.Policies {
				if !filepath.IsAbs(p) {
					s.Policies[i] = filepath.Join(filepath.Dir(s.Path), p)
				}
			}
		case "max_rounds":
			var n int
			n, err = m.count()
			s.MaxRounds = &n
		case "shell":
			err = s.parseShell(m.Value)
		case "credential_helper":
			if s.credentialHelper, err = m.str(); err == nil && strings.ContainsAny(s.credentialHelper, "/ ") && !filepath.IsAbs(s.credentialHelper) {
				err = m.Errorf("%q is neither the NAME of a program docker-credential-NAME nor an absolute path", s.credentialHelper)
			}
		case "client_metadata_url":
			if c.clientMetadataURL, err = m.str(); err == nil {
				err = checkClientDocument(m.Value, c.clientMetadataURL)
			}
		default:
			err = m.Unknown(configKeys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ProfileNames are the names of the profiles, in order.
func (s *Settings) ProfileNames() []string { return slices.Sorted(maps.Keys(s.profiles)) }

func (s *Settings) warn(code, server, message string) {
	s.Warnings = append(s.Warnings, &event.Warning{Code: code, Server: server, Message: message})
}

func (s *Settings) parseProfiles(v Value) error {
	s.profiles = map[string]profile{}
	if v.Kind() != '{' {
		return v.Errorf("not an object of profiles")
	}
	for _, m := range v.Members() {
		p, err := parseProfile(m.Value)
		if err != nil {
			return err
		}
		s.profiles[m.Key] = p
	}
	return nil
}

func parseProfile(v Value) (p profile, err error) {
	if v.Kind() != '{' {
		return p, v.Errorf("not an object")
	}
	for _, m := range v.Members() {
		switch m.Key {
		case "base_url":
			p.baseURL, err = m.str()
			p.urlFrom = m.At.origin() + ": base_url"
		case "model":
			p.model, err = m.str()
		case "key_env":
			p.keyEnv, err = m.str()
			p.hasKeyEnv = true
			p.keyFrom = m.origin() + ": " + m.path()
		case "key_command":
			p.keyCommand, err = m.Words()
			p.keyFrom = m.origin() + ": " + m.path()
		case "headers":
			p.headers, err = parseHeaders(m.Value)
		case "prompt_cache_key":
			p.cacheKey, err = m.boolean()
		case "api":
			if p.api, err = m.str(); err == nil && !slices.Contains(stream.APIs(), p.api) {
				err = m.Errorf("%q is not one of: %s", p.api, JoinWords(stream.APIs()))
			}
		case "params":
			if m.Kind() != '{' {
				err = m.Errorf("not an object")
			}
			p.paramsFrom = m.At.origin() + ": params"
			for _, f := range m.Members() {
				p.params = append(p.params, stream.Param{Name: f.Key, Value: f.Raw()})
			}
		case "tool_role":
			var on bool
			on, err = m.boolean()
			p.noToolRole = !on
		case "idle_timeout", "timeout": // the second is the older name
			if p.idleTimeout != 0 {
				return p, m.Errorf("idle_timeout and timeout are the same; only one of them can be given")
			}
			p.idleTimeout, err = m.duration()
		case "servers":
			p.servers, err = m.Words()
			p.serversFrom = m.At.origin() + ": servers"
		case "insecure_http":
			p.insecureHTTP, err = m.boolean()
		default:
			err = m.Unknown(profileKeys)
		}
		if err != nil {
			return p, err
		}
	}
	if p.hasKeyEnv && p.keyCommand != nil {
		return p, v.Errorf("key_env and key_command: only one of them can be given")
	}
	return p, nil
}

// duration reads a string such as "30s", or a number of seconds.
func (v Value) duration() (time.Duration, error) {
	s := string(v.Raw())
	if v.Kind() == '"' {
		s = v.Text()
	}
	d, err := ParseDuration(s)
	if err != nil {
		e := v.Errorf("%v", err)
		e.Hints = failure.Of(err).Hints
		return 0, e
	}
	return d, nil
}

func (s *Settings) parseAutoApprove(v Value) error {
	if v.Kind() != '{' {
		return v.Errorf("not an object of patterns to true or false")
	}
	for _, m := range v.Members() {
		allow, err := m.boolean()
		if err != nil {
			return err
		}
		d := approve.Ask
		if allow {
			d = approve.Allow
		}
		rules, err := approve.Patterns(m.Key, d, "config", m.At.origin())
		if err != nil {
			return m.At.within(err)
		}
		s.Rules = append(s.Rules, rules...)
		s.Patterns = append(s.Patterns, d.String()+" "+m.Key+" ("+m.At.origin()+")")
	}
	return nil
}

func (s *Settings) parseShell(v Value) (err error) {
	if v.Kind() != '{' {
		return v.Errorf("not an object")
	}
	for _, m := range v.Members() {
		switch m.Key {
		case "env":
			s.Shell.Env, err = m.table()
		case "path_prepend":
			s.Shell.PathPrepend, err = m.Words()
		case "timeout_s":
			s.Shell.Timeout, err = m.duration()
		default:
			err = m.Unknown(shellKeys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
