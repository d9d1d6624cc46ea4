package invocation

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/approve"
	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/servers"
	"toolpipe/run/stdio"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

type Settings struct {
	Path  string
	model string
	named
	servers   []servers.Server
	Rules     []approve.Rule
	Patterns  []string // the patterns of auto_approve as in the file, for -v
	Policies  []string
	MaxRounds *int
	Shell     shellSettings

	credentialHelper string // program that stores the logins; "" for files
}

// named are the entries that flags choose by their names.
type named struct {
	profiles map[string]profile
	presets  map[string]preset
}

type profile struct {
	stream.Config                // the settings in the entry, without key and headers
	at            document.Value // the entry in the file
	model         string
	keySource
	headers   []document.Member // headers for requests to the model, not expanded
	params    []stream.Param
	thinkTags bool
	servers   []string // nil: all
	price     Price
	parallel  int // runs of an agent at once; 0: no limit
}

// keySource is the source of a profile's key, and of its certificate, and whether the key may be
// sent over plain http.
type keySource struct {
	certificate  config.ClientCertificate
	insecureHTTP bool
	keyEnv       *string
	keyCommand   []string
}

// place is the position of a key of the profile in the file; "" if the profile does not have it.
func (p profile) place(key string) string {
	if p.at.Doc == nil {
		return ""
	}
	v, ok := p.at.Get(key)
	if !ok {
		return ""
	}
	return v.Place()
}

// LoadSettings reads the config file: the file that a flag or TOOLPIPE_CONFIG names, which must exist, else
// toolpipe/config.json in the user's config directory, which may be missing.
func LoadSettings(c *config.Config, warn config.Warner) (*Settings, error) {
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
		what, s.Path = "the config", c.UserPath("XDG_CONFIG_HOME", stdio.DefaultConfigDir, "config.json")
		if _, err := os.Stat(s.Path); os.IsNotExist(err) { // errors.Is would take twice as long as Stat at a start
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
	doc.Doc.Hint = misplacedHint
	return s, doc.ReadKeys(s.keys(c))
}

// Servers returns the tool servers that the run uses, and those that are excluded; see
// servers.Configured.
func (s *Settings) Servers(ctx context.Context, c *config.Config, stdin io.Reader, warn config.Warner) (used, unused []servers.Server, err error) {
	p := s.profiles[askedModel(c, s)]
	from := servers.Sources{Own: s.servers, Chosen: p.servers, ChosenFrom: p.place("servers"), KeyNames: keyNames(c, s)}
	if len(s.Rules) > 0 {
		from.Approves = s.Path
	}
	return servers.Configured(ctx, c, from, stdin, warn)
}

func (s *Settings) keys(c *config.Config) []document.Key {
	return document.Keys(
		"model", &s.model,
		"models", document.EachMember(s.parseProfile),
		"presets", document.EachMember(s.parsePreset),
		"mcpServers", document.Into(&s.servers, func(m document.Member) ([]servers.Server, error) { return servers.Parse(c, m.Value) }),
		"auto_approve", document.EachMember(s.parseAutoApprove),
		"policy", s.parsePolicies,
		"max_rounds", &s.MaxRounds,
		"shell", func(m document.Member) error { return m.ReadKeys(s.Shell.keys(c)) },
		"credential_helper", document.Into(&s.credentialHelper, readHelper),
		"client_metadata_url", document.Into(&c.ClientMetadataURL, servers.ClientDocument),
	)
}

// parsePolicies reads paths relative to the directory of the config file.
func (s *Settings) parsePolicies(m document.Member) error {
	err := m.Fill(&s.Policies)
	for i, p := range s.Policies {
		if !filepath.IsAbs(p) {
			s.Policies[i] = filepath.Join(filepath.Dir(s.Path), p)
		}
	}
	return err
}

func readHelper(m document.Member) (string, error) {
	name, err := m.Str()
	if err == nil && strings.ContainsAny(name, "/ ") && !filepath.IsAbs(name) {
		err = m.Errorf("%q is neither the NAME of a program docker-credential-NAME nor an absolute path", name)
	}
	return name, err
}

func (s *Settings) ProfileNames() []string { return slices.Sorted(maps.Keys(s.profiles)) }

func (s *Settings) parseProfile(m document.Member) error {
	p := profile{at: m.Value}
	if err := m.ReadKeys(p.keys()); err != nil {
		return err
	}
	if p.keyEnv != nil && p.keyCommand != nil {
		return m.Errorf("key_env and key_command: only one of them can be given")
	}
	if err := p.certificate.Check(m.Value); err != nil {
		return err
	}
	if s.profiles == nil {
		s.profiles = map[string]profile{}
	}
	s.profiles[m.Key] = p
	return nil
}

func (p *profile) keys() []document.Key {
	return document.Keys(
		"base_url", &p.BaseURL,
		"model", &p.model,
		"key_env", &p.keyEnv,
		"api", document.WordOf(&p.API, stream.APIs()...),
		"params", document.EachMember(func(m document.Member) error {
			p.params = append(p.params, stream.Param{Name: m.Key, Value: m.Raw()})
			return nil
		}),
		"tool_role", (*document.Not)(&p.NoToolRole),
		"idle_timeout", &p.IdleTimeout,
		"insecure_http", &p.insecureHTTP,
		"servers", &p.servers,
		"headers", document.EachMember(p.parseHeader),
		"key_command", &p.keyCommand,
		"client_cert client_key", p.certificate.ReadKey,
		"prompt_cache_key", &p.CacheKey,
		"price", p.readPrice,
		"parallel", &p.parallel,
		"think_tags", &p.thinkTags,
	)
}

// parseAutoApprove reads a pattern, and whether it allows matching tools.
func (s *Settings) parseAutoApprove(m document.Member) error {
	allow, err := m.Boolean()
	if err != nil {
		return err
	}
	d := approve.Ask
	if allow {
		d = approve.Allow
	}
	rules, err := approve.Patterns(m.Key, d, "config", m.At.Origin())
	if err != nil {
		return m.At.Within(err)
	}
	s.Rules = append(s.Rules, rules...)
	s.Patterns = append(s.Patterns, d.String()+" "+m.Key+" ("+m.At.Origin()+")")
	return nil
}
