package invocation

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/process"
	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/run/servers"
	"toolpipe/stream"
	"toolpipe/stream/loopback"
	"toolpipe/stream/text/secrets"
)

// anthropicToken is the variable with a bearer token for Anthropic's API, or for what stands in
// its place, as the SDKs of that API have it.
const anthropicToken = "ANTHROPIC_AUTH_TOKEN"

// resolveKey finds the key and the headers.
func resolveKey(ctx context.Context, c *config.Config, e *Endpoint, p profile, warn config.Warner) error {
	if e.Replay != "" {
		return nil
	}
	// What a profile says of keys and headers is for its own endpoint alone.
	own := p.BaseURL == "" || e.BaseURL == p.BaseURL
	if own {
		if err := resolveHeaders(c, e, p); err != nil {
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

// findKey returns the key and where it is from. No key goes to an endpoint that
// it is not for.
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

// usualKey is a variable that usually holds a key, and where that key may go.
type usualKey struct {
	name string
	here bool   // it may go to the endpoint
	to   string // in words
}

// usualKeys are the variables in which a key is looked for, in this order. A
// provider's key goes to that provider, or to the address that stands for it.
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

// noKey says that no key is sent although one is set: as a warning, or with -v
// only when the endpoint is on this machine, where most need none.
func (e *Endpoint) noKey(unsent string, warn config.Warner) {
	text := "no key is sent to " + origin(e.BaseURL) + ": " + unsent + "; --key-env NAME sends one"
	if u, err := url.Parse(e.BaseURL); err == nil && loopback.Is(u.Hostname()) {
		e.Note = text
		return
	}
	warn("key_not_sent", "", text)
}

// origin is the scheme, host and port of a URL, "" if it has none.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	scheme := strings.ToLower(u.Scheme)
	defaultPort := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), defaultPort)
}

// runKeyCommand runs the key_command that stands at the place from; the first line
// of its output is the key.
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

// resolveHeaders fills in the headers of the profile.
func resolveHeaders(c *config.Config, e *Endpoint, p profile) error {
	for _, h := range p.headers {
		value, err := servers.Expanded(c, h.Value, h.Text())
		if err != nil {
			return err
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return h.Errorf("the value of the header %s holds a control character", h.Key)
		}
		// What comes from a variable is meant to be seen by nobody.
		e.Headers = append(e.Headers, stream.Header{Name: h.Key, Value: value, Secret: value != h.Text() || secrets.Named(h.Key)})
	}
	return nil
}

// secretNames are the variables in a header of a profile that hold a secret, as its
// name or theirs says.
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

// parseHeader reads a header of a profile.
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
		return "", "", failure.UsageError([]string{"--no-stdin leaves standard input to the key"}, "--key-file: %q is standard input, which holds the prompt", c.KeyFile)
	}
	data, err := config.ReadFile(ctx, "--key-file", c.KeyFile, 1<<20, config.KeyFile, warn)
	if err != nil {
		return "", "", err
	}
	if key = strings.TrimSpace(string(data)); key == "" {
		return "", "", failure.UsageError([]string{noKeyHint}, "--key-file: %q holds no key", c.KeyFile)
	}
	if info, err := os.Stat(c.KeyFile); err == nil && info.Mode().IsRegular() && info.Mode()&0o044 != 0 {
		warn("key_readable", "", "the key file "+strconv.Quote(c.KeyFile)+" can be read by others: chmod 600 "+config.ShellQuote(c.KeyFile))
	}
	return key, "--key-file: " + c.KeyFile, nil
}

// keyNames are the variables that hold a model's key, the usual ones, that of
// --key-env and those of all profiles and their headers; and the one that holds
// logins.
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
