package run

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"toolpipe/approve"
	"toolpipe/stream"
)

// The keys of the config, of a profile and of shell. Any other is an error.
var (
	configKeys  = []string{"model", "models", "mcpServers", "auto_approve", "policy", "max_rounds", "shell"}
	profileKeys = []string{"base_url", "model", "key_env", "api", "params", "tool_role", "timeout", "insecure_http"}
	shellKeys   = []string{"env", "path_prepend", "timeout_s"}
)

// settings is what the config file says.
type settings struct {
	path      string
	model     string
	profiles  map[string]profile
	servers   []server
	rules     []approve.Rule
	patterns  []string // of auto_approve, as -v shows them
	policies  []string
	maxRounds *int
	shell     shellSettings
	warnings  []*WarningEvent
}

// profile is one entry of models.
type profile struct {
	baseURL, model, keyEnv, api  string
	urlFrom, paramsFrom, keyFrom string // where the file says base_url, params and key_env
	hasKeyEnv                    bool
	params                       []stream.Param
	noToolRole, insecureHTTP     bool
	timeout                      time.Duration // longest silence of the model; 0: 120 s
}

type shellSettings struct {
	env         map[string]string
	pathPrepend []string
	timeout     time.Duration
}

// loadSettings reads the config file: the one that a flag or TOOLPIPE_CONFIG
// names, which must exist, else toolpipe/config.json under the user's config
// directory, which may be missing.
func (c *Config) loadSettings() (*settings, error) {
	s := &settings{}
	if c.NoConfig {
		return s, nil
	}
	what, named := "--config", c.ConfigFile
	if named == "" {
		what, named = "TOOLPIPE_CONFIG", c.getenv("TOOLPIPE_CONFIG")
	}
	s.path = named
	if named == "" {
		what = "the config"
		if s.path = c.userConfigFile(); s.path == "" {
			return s, nil
		}
	}
	doc, err := readDocument(what, s.path, s.warn)
	if err != nil {
		if named == "" && errors.Is(err, os.ErrNotExist) {
			s.path = ""
			return s, nil
		}
		return nil, err
	}
	return s, s.parse(c, doc)
}

// userConfigFile is the config's usual place, "" when there is no home.
func (c *Config) userConfigFile() string {
	dir := userConfigDir(c.getenv)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "toolpipe", "config.json")
}

func (s *settings) parse(c *Config, doc value) (err error) {
	if doc.kind() != '{' {
		return doc.errorf("the config is not an object")
	}
	for _, m := range doc.members() {
		switch m.key {
		case "model":
			s.model, err = m.str()
		case "models":
			err = s.parseProfiles(m.value)
		case "mcpServers":
			s.servers, err = parseServers(c, m.value, true, nil, s.warn)
		case "auto_approve":
			err = s.parseAutoApprove(m.value)
		case "policy":
			s.policies, err = m.words()
			for i, p := range s.policies {
				if !filepath.IsAbs(p) {
					s.policies[i] = filepath.Join(filepath.Dir(s.path), p)
				}
			}
		case "max_rounds":
			var n int
			n, err = m.count()
			s.maxRounds = &n
		case "shell":
			err = s.parseShell(m.value)
		default:
			err = m.unknown(configKeys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) warn(code, server, message string) {
	s.warnings = append(s.warnings, &WarningEvent{Code: code, Server: server, Message: message})
}

func (s *settings) parseProfiles(v value) error {
	s.profiles = map[string]profile{}
	if v.kind() != '{' {
		return v.errorf("not an object of profiles")
	}
	for _, m := range v.members() {
		p, err := parseProfile(m.value)
		if err != nil {
			return err
		}
		s.profiles[m.key] = p
	}
	return nil
}

func parseProfile(v value) (p profile, err error) {
	if v.kind() != '{' {
		return p, v.errorf("not an object")
	}
	for _, m := range v.members() {
		switch m.key {
		case "base_url":
			p.baseURL, err = m.str()
			p.urlFrom = m.at.origin() + ": base_url"
		case "model":
			p.model, err = m.str()
		case "key_env":
			p.keyEnv, err = m.str()
			p.hasKeyEnv = true
			p.keyFrom = m.origin() + ": " + m.path()
		case "api":
			if p.api, err = m.str(); err == nil && !slices.Contains([]string{"chat", "messages", "responses"}, p.api) {
				err = m.errorf("%q is not chat, messages or responses", p.api)
			}
		case "params":
			if m.kind() != '{' {
				err = m.errorf("not an object")
			}
			p.paramsFrom = m.at.origin() + ": params"
			for _, f := range m.members() {
				p.params = append(p.params, stream.Param{Name: f.key, Value: f.raw()})
			}
		case "tool_role":
			var on bool
			on, err = m.boolean()
			p.noToolRole = !on
		case "timeout":
			p.timeout, err = m.duration()
		case "insecure_http":
			p.insecureHTTP, err = m.boolean()
		default:
			err = m.unknown(profileKeys)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// duration is a string such as "30s", or a number of seconds.
func (v value) duration() (time.Duration, error) {
	s := string(v.raw())
	if v.kind() == '"' {
		s = v.text()
	}
	d, err := ParseDuration(s)
	if err != nil {
		e := v.errorf("%v", err)
		e.Hints = asError(err).Hints
		return 0, e
	}
	return d, nil
}

func (s *settings) parseAutoApprove(v value) error {
	if v.kind() != '{' {
		return v.errorf("not an object of patterns to true or false")
	}
	for _, m := range v.members() {
		allow, err := m.boolean()
		if err != nil {
			return err
		}
		d := approve.Ask
		if allow {
			d = approve.Allow
		}
		rules, err := approve.Patterns(m.key, d, "config", m.at.origin())
		if err != nil {
			return m.at.within(err)
		}
		s.rules = append(s.rules, rules...)
		s.patterns = append(s.patterns, d.String()+" "+m.key+" ("+m.at.origin()+")")
	}
	return nil
}

func (s *settings) parseShell(v value) (err error) {
	if v.kind() != '{' {
		return v.errorf("not an object")
	}
	for _, m := range v.members() {
		switch m.key {
		case "env":
			s.shell.env, err = m.table()
		case "path_prepend":
			s.shell.pathPrepend, err = m.words()
		case "timeout_s":
			s.shell.timeout, err = m.duration()
		default:
			err = m.unknown(shellKeys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
