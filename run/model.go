package run

import (
	"context"
	"encoding/json"
	"errors"
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
	params     []stream.Param
	paramsFrom string
}

// resolveModel finds out which model to ask and where: flag, environment,
// config, in that order. A profile that the flag names belongs to the flag.
func (c *Config) resolveModel(ctx context.Context, s *settings, warn warner) (*endpoint, error) {
	e := &endpoint{model: c.Model}
	byFlag := c.Model != ""
	if e.model == "" && c.Replay == "" { // a recording knows its model: only a flag asks for another
		e.model = first(c.getenv("TOOLPIPE_MODEL"), s.model)
	}
	p, isProfile := s.profiles[e.model]
	if isProfile && p.model != "" {
		e.model = p.model
	}
	e.BaseURL = c.BaseURL
	if e.BaseURL == "" && byFlag {
		e.BaseURL = p.baseURL
	}
	for _, name := range []string{"TOOLPIPE_BASE_URL", "OPENAI_BASE_URL"} {
		if e.BaseURL == "" {
			e.BaseURL = c.getenv(name)
		}
	}
	if e.BaseURL == "" {
		e.BaseURL = p.baseURL
	}
	if e.BaseURL == "" && c.getenv("OPENAI_API_KEY") != "" {
		e.BaseURL = "https://api.openai.com/v1"
	}
	e.API = first(c.API, p.api, "chat")
	e.NoToolRole = p.noToolRole
	e.params, e.paramsFrom = p.params, p.paramsFrom
	e.IdleTimeout = p.timeout
	e.Replay, e.Record = c.Replay, c.Record
	e.UserAgent = "toolpipe/" + c.Version
	if e.Replay == "" && (e.BaseURL == "" || e.model == "") {
		return nil, noModel(e)
	}
	if err := c.resolveKey(ctx, e, p, isProfile && p.baseURL != "" && e.BaseURL == p.baseURL, warn); err != nil {
		return nil, err
	}
	e.InsecureHTTP = c.InsecureHTTP
	if u, err := url.Parse(e.BaseURL); err == nil && p.insecureHTTP && e.BaseURL == p.baseURL {
		e.InsecureHTTP = append([]string{u.Hostname()}, e.InsecureHTTP...)
	}
	return e, nil
}

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

func noModel(e *endpoint) error {
	what := "no model: neither a name nor an endpoint is configured"
	switch {
	case e.model != "":
		what = "model " + approve.Escape(e.model) + ": no endpoint is configured"
	case e.BaseURL != "":
		what = "no model: an endpoint is configured, but no name"
	}
	return usageError([]string{
		"a local llama.cpp:  toolpipe --base-url http://127.0.0.1:8080/v1 -m default 'hello'",
		"Ollama:             toolpipe --base-url http://127.0.0.1:11434/v1 -m qwen3 'hello'",
		"a cloud endpoint:   OPENAI_API_KEY=… toolpipe -m gpt-5-mini 'hello'",
	}, "%s", what)
}

// resolveKey finds the key. A profile with a base_url uses only its own
// key_env or the flags, so that no key goes to an endpoint it is not for.
func (c *Config) resolveKey(ctx context.Context, e *endpoint, p profile, ownURL bool, warn warner) error {
	if e.Replay != "" {
		return nil
	}
	if c.KeyFile != "" {
		if c.KeyEnv != nil && *c.KeyEnv != "" {
			return usage("--key-env and --key-file: only one of them can be given")
		}
		key, from, err := c.readKey(ctx, warn)
		if err != nil {
			return err
		}
		return e.setKey(from, key)
	}
	if c.KeyEnv != nil {
		if *c.KeyEnv == "" {
			return nil
		}
		key := c.getenv(*c.KeyEnv)
		if key == "" {
			return usageError([]string{noKeyHint}, "--key-env: the variable %q is not set", *c.KeyEnv)
		}
		return e.setKey("--key-env: "+*c.KeyEnv, key)
	}
	if ownURL || p.hasKeyEnv && p.baseURL == "" {
		if p.keyEnv == "" {
			return nil
		}
		key := c.getenv(p.keyEnv)
		if key == "" {
			return usage("the profile's key_env: the variable %q is not set", p.keyEnv)
		}
		return e.setKey("key_env: "+p.keyEnv, key)
	}
	for _, name := range []string{"TOOLPIPE_API_KEY", "OPENAI_API_KEY"} {
		if key := c.getenv(name); key != "" {
			return e.setKey(name, key)
		}
	}
	return nil
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

func (e *endpoint) setKey(what, key string) error {
	for i := 0; i < len(key); i++ {
		if key[i] <= ' ' || key[i] >= 0x7f {
			return usage("%s: the key holds a character that no key has (byte %d)", what, i)
		}
	}
	e.Key = stream.Key(key)
	return nil
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
func (r *runner) makeClient() (err error) {
	for _, p := range r.request.Params {
		if p.Name == "tools" && len(r.servers) > 0 {
			return usage("the param tools would take the place of the servers' tools")
		}
	}
	e := r.endpoint
	e.Wire = r.face.modelWire()
	plain, host := e.Key != "" && strings.HasPrefix(e.BaseURL, "http://"), ""
	if u, err := url.Parse(e.BaseURL); err == nil {
		host = u.Hostname()
	}
	if r.client, err = stream.New(e.Config); err != nil {
		if _, ok := errors.AsType[*os.PathError](err); ok && e.Record != "" {
			return openError("--record", e.Record, err)
		} else if ok {
			return openError("--replay", e.Replay, err)
		}
		f := usage("%v", err)
		if plain && !contains(e.InsecureHTTP, host) {
			f.Hints = []string{"use https, or let the key go there in the clear: --insecure-http " + shellQuote(host)}
		}
		return f
	}
	if plain && contains(e.InsecureHTTP, host) {
		r.warn("insecure_http", "", "the key goes over plain http to "+strconv.Quote(host))
	}
	return nil
}
