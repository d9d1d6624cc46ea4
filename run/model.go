package run

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/stream"
)

// endpoint is the model of a run, resolved.
type endpoint struct {
	stream.Config
	model      string
	urlFrom    string // the flag, variable or key that says the URL
	params     []stream.Param
	paramsFrom string
}

// resolveModel finds out which model to ask and where: flag, environment,
// config, in that order. A profile that the flag names belongs to the flag.
func (c *Config) resolveModel(ctx context.Context, s *settings, warn warner) (*endpoint, error) {
	e := &endpoint{model: c.Model}
	if e.model == "" && c.Replay == "" { // a recording knows its model: only a flag asks for another
		e.model = first(c.getenv("TOOLPIPE_MODEL"), s.model)
	}
	asked := e.model
	p := s.profiles[asked]
	e.model = first(p.model, asked)
	c.resolveURL(e, p)
	e.API = first(c.API, p.api, "chat")
	e.NoToolRole = p.noToolRole
	e.IdleTimeout = p.timeout
	e.params, e.paramsFrom = p.params, p.paramsFrom
	e.Replay, e.Record = c.Replay, c.Record
	e.UserAgent = "toolpipe/" + c.Version
	e.Hints = stream.Hints{
		NoKey:    "no key was sent; --key-env NAME or --key-file PATH gives one",
		Redirect: "give the URL that it points to, with --base-url",
		Replay:   "--record makes a new recording",
	}
	if e.Replay == "" && (e.BaseURL == "" || e.model == "") {
		return nil, noModel(asked, e.BaseURL != "", s)
	}
	e.InsecureHTTP = c.InsecureHTTP
	if u, err := url.Parse(e.BaseURL); err == nil && p.insecureHTTP && e.BaseURL == p.baseURL {
		e.InsecureHTTP = append([]string{u.Hostname()}, e.InsecureHTTP...)
	}
	return e, c.resolveKey(ctx, e, p, warn)
}

// resolveURL finds the endpoint. A profile that the flag names comes before
// the environment.
func (c *Config) resolveURL(e *endpoint, p profile) {
	type source struct{ url, from string }
	sources := []source{
		{c.BaseURL, "--base-url"},
		{c.getenv("TOOLPIPE_BASE_URL"), "TOOLPIPE_BASE_URL"},
		{c.getenv("OPENAI_BASE_URL"), "OPENAI_BASE_URL"},
	}
	at := len(sources)
	if c.Model != "" {
		at = 1
	}
	sources = slices.Insert(sources, at, source{p.baseURL, p.urlFrom})
	if c.getenv("OPENAI_API_KEY") != "" {
		sources = append(sources, source{"https://api.openai.com/v1", "OPENAI_API_KEY"})
	}
	for _, s := range sources {
		if s.url != "" {
			e.BaseURL, e.urlFrom = s.url, s.from
			return
		}
	}
}

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// noModel is the error of a run that lacks the model's name, its endpoint or
// both. Whoever has a config gets the names in it and not a newcomer's help.
func noModel(asked string, hasURL bool, s *settings) error {
	names := slices.Sorted(maps.Keys(s.profiles))
	var profiles []string
	if len(names) > 0 {
		profiles = []string{"-m takes the name of a profile: " + joinWords(names)}
	}
	_, isProfile := s.profiles[asked]
	switch {
	case isProfile:
		return usageError([]string{`"base_url" in the profile, or --base-url URL`}, "model %s: the profile has no base_url, and no endpoint is configured", approve.Escape(asked))
	case asked != "" && len(names) > 0:
		if near := Nearest(asked, names); near != "" {
			profiles = append([]string{"did you mean -m " + shellQuote(near) + "?"}, profiles...)
		}
		return usageError(profiles, "model %s: no profile has this name, and no endpoint is configured", approve.Escape(asked))
	case hasURL:
		return usageError(append([]string{"-m NAME (or TOOLPIPE_MODEL) names the model at that endpoint"}, profiles...), "no model: an endpoint is configured, but no name")
	case asked == "" && len(names) > 0:
		return usageError(profiles, "no model: the config has profiles, but names none of them")
	}
	what := "no model: neither a name nor an endpoint is configured"
	if asked != "" {
		what = "model " + approve.Escape(asked) + ": no endpoint is configured"
	}
	return usageError([]string{
		"a local llama.cpp:  toolpipe --base-url http://127.0.0.1:8080/v1 -m default 'hello'",
		"Ollama:             toolpipe --base-url http://127.0.0.1:11434/v1 -m qwen3 'hello'",
		"a cloud endpoint:   OPENAI_API_KEY=… toolpipe -m gpt-5-mini 'hello'",
	}, "%s", what)
}

// resolveKey finds the key.
func (c *Config) resolveKey(ctx context.Context, e *endpoint, p profile, warn warner) error {
	if e.Replay != "" {
		return nil
	}
	key, from, err := c.findKey(ctx, e, p, warn)
	if err != nil {
		return err
	}
	e.Key = stream.Key(key)
	if err := e.Key.Check(); err != nil {
		return usage("%s: %v", from, err)
	}
	return nil
}

// findKey returns the key and where it is from. A profile with a base_url
// uses only its own key_env, and that only there, or the flags: no key goes
// to an endpoint it is not for.
func (c *Config) findKey(ctx context.Context, e *endpoint, p profile, warn warner) (key, from string, err error) {
	switch {
	case c.KeyFile != "":
		if c.KeyEnv != nil && *c.KeyEnv != "" {
			return "", "", usage("--key-env and --key-file: only one of them can be given")
		}
		return c.readKey(ctx, warn)
	case c.KeyEnv != nil && *c.KeyEnv == "":
		return "", "", nil
	case c.KeyEnv != nil:
		if key = c.getenv(*c.KeyEnv); key == "" {
			return "", "", usageError([]string{noKeyHint}, "--key-env: the variable %q is not set", *c.KeyEnv)
		}
		return key, "--key-env: " + *c.KeyEnv, nil
	case p.baseURL != "" && e.BaseURL == p.baseURL, p.baseURL == "" && p.hasKeyEnv:
		if key = c.getenv(p.keyEnv); key == "" && p.keyEnv != "" {
			return "", "", usageError([]string{noKeyHint}, "%s: the variable %q is not set", p.keyFrom, p.keyEnv)
		}
		return key, p.keyFrom + ": " + p.keyEnv, nil
	}
	for _, name := range []string{"TOOLPIPE_API_KEY", "OPENAI_API_KEY"} {
		switch key := c.getenv(name); {
		case key == "":
		case p.baseURL != "":
			warn("key_not_sent", "", "no key is sent: the profile has a base_url of its own, and "+e.urlFrom+" names another; --key-env "+name+" sends the key in "+name)
			return "", "", nil
		default:
			return key, name, nil
		}
	}
	return "", "", nil
}

const noKeyHint = "--key-env '' sends no key"

// readKey reads the key of --key-file: a file, or a pipe such as <(pass show …).
func (c *Config) readKey(ctx context.Context, warn warner) (key, from string, err error) {
	path := filepath.Clean(c.KeyFile)
	if (path == "/dev/stdin" || path == "/dev/fd/0") && c.readsInput(false) {
		return "", "", usageError([]string{"--no-stdin leaves standard input to the key"}, "--key-file: %q is standard input, which holds the prompt", c.KeyFile)
	}
	data, err := readFile(ctx, "--key-file", c.KeyFile, 1<<20, keyFile)
	if err != nil {
		return "", "", err
	}
	if key = strings.TrimSpace(string(data)); key == "" {
		return "", "", usageError([]string{noKeyHint}, "--key-file: %q holds no key", c.KeyFile)
	}
	if info, err := os.Stat(c.KeyFile); err == nil && info.Mode().IsRegular() && info.Mode()&0o044 != 0 {
		warn("key_readable", "", "the key file "+strconv.Quote(c.KeyFile)+" can be read by others: chmod 600 "+shellQuote(c.KeyFile))
	}
	return key, "--key-file: " + c.KeyFile, nil
}

// flagParams are those of --param; of one name the last counts.
func (c *Config) flagParams() ([]stream.Param, error) {
	var params []stream.Param
	for _, f := range c.Params {
		name, raw, ok := strings.Cut(f, "=")
		if !ok || name == "" {
			return nil, usageError([]string{"--param top_p=0.9", `--param 'stop=["END"]'`}, "--param: %q is not of the form NAME=JSON", f)
		}
		if _, err := parseDocument("--param "+name, []byte(raw)); err != nil {
			e := asError(err)
			if raw == "" || !strings.ContainsAny(raw[:1], `{["`) {
				e.Hints = []string{"a string needs its quotes: --param " + shellQuote(name+"="+string(appendString(nil, raw)))}
			}
			return nil, e
		}
		params = slices.DeleteFunc(params, func(p stream.Param) bool { return p.Name == name })
		params = append(params, stream.Param{Name: name, Value: json.RawMessage(raw)})
	}
	return params, nil
}

// request is the part of a request that stays the same in a run. Flags win
// over the profile's params.
func (c *Config) request(ctx context.Context, e *endpoint) (*stream.Request, error) {
	r := &stream.Request{
		Model:           e.model,
		MaxTokens:       c.MaxTokens,
		ReasoningEffort: c.ReasoningEffort,
		ThinkTags:       c.ThinkTags,
	}
	if c.Temperature != "" {
		r.Temperature = json.RawMessage(c.Temperature)
	}
	if c.SchemaFile != "" {
		doc, err := readSchema(ctx, c.SchemaFile)
		if err != nil {
			return nil, err
		}
		r.Schema = doc
	}
	params, err := c.flagParams()
	if err != nil {
		return nil, err
	}
	if err := r.AddParams(e.API, params); err != nil {
		return nil, usage("--param %v", err)
	}
	if err := r.AddDefaults(e.API, e.params); err != nil {
		return nil, usage("%s: %v", e.paramsFrom, err)
	}
	return r, nil
}

func readSchema(ctx context.Context, path string) (json.RawMessage, error) {
	data, err := readFile(ctx, "--schema", path, 1<<20, plainFile)
	if err != nil {
		return nil, err
	}
	doc, err := parseDocument(path, data)
	if err != nil {
		return nil, err
	}
	if doc.kind() != '{' {
		return nil, doc.errorf("a JSON Schema for an answer is an object")
	}
	return doc.raw(), nil
}

// makeClient makes the model's client, which checks where the key may go.
func (r *runner) makeClient(ctx context.Context) (err error) {
	for _, p := range r.request.Params {
		if p.Name == "tools" && len(r.servers) > 0 {
			return usage("the param tools would take the place of the servers' tools")
		}
	}
	e := r.endpoint
	e.Wire, e.Secrets = r.face.modelWire(), r.secrets
	if e.Record == "" && e.Replay == "" {
		r.client, err = stream.New(e.Config)
	} else { // a FIFO makes us wait
		r.client, err = waitFor(ctx, func() (*stream.Client, error) { return stream.New(e.Config) })
	}
	if cancelled(err) {
		return err
	}
	if err != nil {
		return e.refused(err)
	}
	if host := r.client.Insecure(); host != "" {
		r.warn("insecure_http", "", "the key goes over plain http to "+strconv.Quote(host))
	}
	return nil
}

// refused is err of making the client.
func (e *endpoint) refused(err error) error {
	if u, ok := errors.AsType[*stream.EndpointError](err); ok {
		f := usage("%s: %v", e.urlFrom, u)
		switch {
		case u.Insecure != "":
			f.Hints = []string{"use https, or let the key go there in the clear: --insecure-http " + shellQuote(u.Insecure)}
		case !strings.Contains(e.BaseURL, "://") && !strings.ContainsAny(e.BaseURL, "@?"):
			f.Hints = []string{"a URL begins with http:// or https://: http://" + e.BaseURL}
		}
		return f
	}
	if _, ok := errors.AsType[*os.PathError](err); ok && e.Record != "" {
		return openError("--record", e.Record, err)
	} else if ok {
		return openError("--replay", e.Replay, err)
	}
	return usage("%v", err)
}
