package invocation

import (
	"cmp"
	"context"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/mcp/process"
	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/run/servers"
	"toolpipe/stream"
	"toolpipe/stream/netguard"
	"toolpipe/stream/text/secrets"
)

// anthropicToken is the variable with a bearer token for Anthropic's API or a replacement of it, as
// in the SDKs of this API.
const anthropicToken = "ANTHROPIC_AUTH_TOKEN"

func resolveKey(ctx context.Context, c *config.Config, e *Endpoint, p profile, warn config.Warner) error {
	if e.Replay != "" {
		return nil
	}
	// Keys, headers and the certificate of a profile are sent only to the profile's endpoint.
	own := p.BaseURL == "" || e.BaseURL == p.BaseURL
	if own {
		if err := resolveHeaders(c, e, p); err != nil {
			return err
		}
		var err error
		if e.Certificate, err = p.certificate.Load(warn); err != nil {
			return err
		}
	}
	key, from, err := findKey(ctx, c, e, p, own, warn)
	if err != nil {
		return err
	}
	if e.Key = stream.Key(key); key != "" {
		e.KeyFrom, e.BearerKey = from, from == anthropicToken
	}
	if err := e.Key.Check(); err != nil {
		return failure.Usage("%s: %v", from, err)
	}
	return nil
}

// findKey returns the key and its source. A key is sent only to the endpoint for which it is meant.
func findKey(ctx context.Context, c *config.Config, e *Endpoint, p profile, own bool, warn config.Warner) (key, from string, err error) {
	switch {
	case c.KeyFile != "":
		return readKey(ctx, c, warn)
	case c.KeyEnv != nil && *c.KeyEnv == "":
		return "", "", nil
	case c.KeyEnv != nil:
		if key = c.Getenv(*c.KeyEnv); key == "" {
			return "", "", failure.UsageError([]string{noKeyHint}, "--key-env: the variable %q is not set", *c.KeyEnv)
		}
		return key, "--key-env: " + *c.KeyEnv, nil
	case own && p.keyEnv != nil:
		from, name := p.place("key_env"), *p.keyEnv
		if key = c.Getenv(name); key == "" && name != "" {
			return "", "", failure.UsageError([]string{noKeyHint}, "%s: the variable %q is not set", from, name)
		}
		return key, from + ": " + name, nil
	case own && p.keyCommand != nil:
		from = p.place("key_command")
		key, err = runKeyCommand(ctx, c, p.keyCommand, from)
		return key, from, err
	}
	var unsent []string
	for _, k := range usualKeys(c, e, p) {
		switch key = c.Getenv(k.name); {
		case key == "":
		case k.here:
			return key, k.name, nil
		default:
			unsent = append(unsent, k.name+" goes only to "+k.to)
		}
	}
	if len(unsent) > 0 && len(e.Headers) == 0 {
		e.noKey(strings.Join(unsent, ", "), warn)
	}
	return "", "", nil
}

// A usualKey is a variable that usually contains a key, and the endpoint for this key.
type usualKey struct {
	name string
	here bool   // it may be sent to the endpoint
	to   string // its endpoint, in words
}

// usualKeys are the variables that are searched for a key, in this order. A provider's key may be
// sent only to that provider, or to the address in the provider's variable for the base URL.
func usualKeys(c *config.Config, e *Endpoint, p profile) []usualKey {
	keys := []usualKey{{
		"TOOLPIPE_API_KEY", e.URLFrom == flagURL || e.URLFrom == "TOOLPIPE_BASE_URL" || e.URLFrom == p.place("base_url") && p.keyEnv == nil,
		"the endpoint of --base-url, of TOOLPIPE_BASE_URL or of a profile without key_env",
	}}
	for _, provider := range []struct{ name, origin, base string }{
		{"OPENAI_API_KEY", "https://api.openai.com", c.Getenv("OPENAI_BASE_URL")},
		{"ANTHROPIC_API_KEY", "https://api.anthropic.com", c.Getenv("ANTHROPIC_BASE_URL")},
		{anthropicToken, "https://api.anthropic.com", c.Getenv("ANTHROPIC_BASE_URL")},
	} {
		origins := []string{provider.origin}
		if other := origin(provider.base); other != "" && other != provider.origin {
			origins = append(origins, other)
		}
		keys = append(keys, usualKey{provider.name, slices.Contains(origins, origin(e.BaseURL)), strings.Join(origins, " and ")})
	}
	return keys
}

// noKey reports that a key is set but not sent. It is a warning, or shown only with -v if the
// endpoint is on this machine, where most endpoints need no key.
func (e *Endpoint) noKey(unsent string, warn config.Warner) {
	text := "no key is sent to " + origin(e.BaseURL) + ": " + unsent + "; --key-env NAME sends one"
	if u, err := url.Parse(e.BaseURL); err == nil && netguard.IsLoopback(u.Hostname()) {
		e.Note = text
		return
	}
	warn("key_not_sent", "", text)
}

// origin is the scheme, host and port of a URL; "" if it has none.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	scheme := strings.ToLower(u.Scheme)
	defaultPort := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), defaultPort)
}

// runKeyCommand runs the key_command at position from. The first line of its output is the key.
func runKeyCommand(ctx context.Context, c *config.Config, argv []string, from string) (string, error) {
	key, err := cmp.Or(c.Processes, &config.Processes{}).FirstLine(ctx, exec.Cmd{Args: argv, Env: process.ChildEnv(c.Environ, nil, nil), Dir: servers.NeutralDir})
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", failure.UsageError([]string{noKeyHint}, "%s: %v", from, err)
	}
	if key == "" {
		return "", failure.UsageError([]string{noKeyHint}, "%s: %q printed no key", from, argv[0])
	}
	return key, nil
}

func resolveHeaders(c *config.Config, e *Endpoint, p profile) error {
	for _, h := range p.headers {
		value, err := servers.NewExpander(c).Expand(h.Value, h.Text())
		if err != nil {
			return err
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return h.Errorf("the value of the header %s contains a control character", h.Key)
		}
		// The value of a variable is treated as secret.
		e.Headers = append(e.Headers, stream.Header{Name: h.Key, Value: value, Secret: value != h.Text() || secrets.Named(h.Key)})
	}
	return nil
}

// secretNames are the variables in a profile's header that contain a secret, by the name of the
// header or the variable.
func secretNames(header, value string) (names []string) {
	for i := 0; i < len(value); {
		reference, size := servers.ReferenceAt(value[i:], false)
		if size > 0 {
			name, _, _ := strings.Cut(reference, ":-")
			if name = strings.TrimPrefix(name, "env:"); secrets.Named(header) || secrets.Named(name) {
				names = append(names, name)
			}
		}
		i += max(size, 1)
	}
	return names
}

func (p *profile) parseHeader(m document.Member) error {
	if _, err := m.Str(); err != nil {
		return err
	}
	switch strings.ToLower(m.Key) {
	case "host", "content-length", "transfer-encoding", "connection", "accept-encoding":
		return m.Errorf("the header %s is made by toolpipe", m.Key)
	}
	if m.Key == "" || strings.ContainsFunc(m.Key, func(r rune) bool { return !document.IsWord(r) }) {
		return m.Errorf("%q is not the name of a header", m.Key)
	}
	p.headers = append(p.headers, m)
	return nil
}

const noKeyHint = "--key-env '' sends no key"

// readKey reads the key of --key-file: a file, or a pipe such as <(pass show …).
func readKey(ctx context.Context, c *config.Config, warn config.Warner) (key, from string, err error) {
	path := filepath.Clean(c.KeyFile)
	if (path == "/dev/stdin" || path == "/dev/fd/0") && c.ReadsInput(false) {
		return "", "", failure.UsageError([]string{"--no-stdin leaves standard input to the key"}, "--key-file: %q is standard input, which contains the prompt", c.KeyFile)
	}
	data, err := config.ReadFile(ctx, "--key-file", c.KeyFile, 1<<20, config.KeyFile, warn)
	if err != nil {
		return "", "", err
	}
	if key = strings.TrimSpace(string(data)); key == "" {
		return "", "", failure.UsageError([]string{noKeyHint}, "--key-file: %q contains no key", c.KeyFile)
	}
	config.WarnReadable(c.KeyFile, warn)
	return key, "--key-file: " + c.KeyFile, nil
}

// keyNames are the variables with a model's key: the usual ones, the variable of --key-env, and the
// variables in all profiles and their headers. The variable with logins is included.
func keyNames(c *config.Config, s *Settings) []string {
	names := slices.Clone(process.OwnSecrets)
	if c.KeyEnv != nil {
		names = append(names, *c.KeyEnv)
	}
	for _, p := range s.profiles {
		if p.keyEnv != nil {
			names = append(names, *p.keyEnv)
		}
		for _, h := range p.headers {
			names = append(names, secretNames(h.Key, h.Text())...)
		}
	}
	return names
}
