package invocation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream"
	"toolpipe/stream/text/escape"
)

type Endpoint struct {
	stream.Config
	Model   string
	Profile string // the name of the profile; "" for none
	Price   Price
	KeyFrom string // source of the key: flag, variable or key of the config; "" for none
	URLFrom string // source of the URL: flag, variable or key of the config
	Note    string // message for -v; "" for none
	Unused  string // message about variables with other URLs; "" for none
	profile profile
}

// ResolveModel decides which model to ask, and at which endpoint: from flag, environment or config,
// in this order. The endpoint of a profile has precedence over the environment.
func ResolveModel(ctx context.Context, c *config.Config, s *Settings, warn config.Warner) (*Endpoint, error) {
	asked := askedModel(c, s)
	p := s.profiles[asked]
	e := &Endpoint{Config: p.Config, Model: cmp.Or(p.model, asked), Price: p.price, profile: p}
	if p.at.Doc != nil {
		e.Profile = asked
	}
	usualAPI := resolveURL(c, e, p)
	if e.API = cmp.Or(c.API, p.API); c.Replay == "" { // a recording contains its API
		e.API = cmp.Or(e.API, usualAPI, "chat")
	}
	if c.RetryFor != nil {
		e.RetryFor, e.NoRetry = *c.RetryFor, *c.RetryFor == 0
	}
	if e.Replay = c.Replay; c.Mode != config.Check { // --check writes no recording
		e.Record = c.Record
	}
	e.UserAgent = "toolpipe/" + c.Version
	e.Hints = stream.Hints{
		NoKey:    "no key was sent; --key-env NAME or --key-file PATH gives one",
		OtherAPI: func(api string) string { return "the endpoint seems to have another API: --api " + api },
		Later:    "--retry-for D waits longer",
		Idle:     `"idle_timeout" in the model's profile allows a longer silence`,
		Redirect: "give the URL that it points to, with --base-url",
		Replay:   "--record makes a new recording",
		Address:  "the address comes from " + e.URLFrom,
		TLS:      "the endpoint may want another client certificate: client_cert and client_key in the model's profile",
	}
	if e.Replay == "" && (e.BaseURL == "" || e.Model == "" && !c.Lists("models")) {
		err := noModel(asked, e.BaseURL != "", s)
		if c.Lists("models") {
			failure.Of(err).Message = "no endpoint is configured, so there are no models to list"
		}
		return nil, err
	}
	e.InsecureHTTP = c.InsecureHTTP
	if u, err := url.Parse(e.BaseURL); err == nil && p.insecureHTTP && e.BaseURL == p.BaseURL {
		e.InsecureHTTP = append([]string{u.Hostname()}, e.InsecureHTTP...)
	}
	return e, resolveKey(ctx, c, e, p, warn)
}

func askedModel(c *config.Config, s *Settings) string {
	if c.Model != "" || c.Replay != "" { // a recording contains its model; only the flag overrides it
		return c.Model
	}
	return cmp.Or(c.Getenv("TOOLPIPE_MODEL"), s.model)
}

const flagURL = "--base-url"

// resolveURL finds the endpoint, and returns its API if that is known, else "". However a profile is
// named, its base_url has precedence over the environment. A provider's key alone selects its
// endpoint: OpenAI's if both keys are set, unless the requested API is Anthropic's.
func resolveURL(c *config.Config, e *Endpoint, p profile) (api string) {
	type source struct{ url, from, api string }
	sources := []source{
		{c.BaseURL, flagURL, ""},
		{p.BaseURL, p.place("base_url"), ""},
		{c.Getenv("TOOLPIPE_BASE_URL"), "TOOLPIPE_BASE_URL", ""},
	}
	anthropic := c.Getenv("ANTHROPIC_API_KEY") != "" || c.Getenv(anthropicToken) != ""
	toAnthropic := anthropic && cmp.Or(c.API, p.API) == "messages"
	if !toAnthropic {
		sources = append(sources, source{c.Getenv("OPENAI_BASE_URL"), "OPENAI_BASE_URL", ""})
	}
	if c.Getenv("OPENAI_API_KEY") != "" && !toAnthropic {
		sources = append(sources, source{"https://api.openai.com/v1", "OPENAI_API_KEY", "responses"}) // newer models support no tools in chat
	}
	if base := c.Getenv("ANTHROPIC_BASE_URL"); anthropic {
		from := "ANTHROPIC_API_KEY"
		if base != "" {
			from = "ANTHROPIC_BASE_URL"
		}
		sources = append(sources, source{anthropicURL(base), from, "messages"})
	}
	i := slices.IndexFunc(sources, func(s source) bool { return s.url != "" })
	if i < 0 {
		return ""
	}
	e.BaseURL, e.URLFrom = sources[i].url, sources[i].from
	var unused []string
	for _, s := range sources[i+1:] {
		if strings.HasSuffix(s.from, "_BASE_URL") && s.url != "" && s.url != e.BaseURL {
			unused = append(unused, s.from)
		}
	}
	if unused != nil && c.Replay == "" {
		e.Unused = "not used: " + strings.Join(unused, ", ") + "; the endpoint comes from " + e.URLFrom
	}
	return sources[i].api
}

// anthropicURL is the endpoint for ANTHROPIC_BASE_URL. Other programs add /v1 to it, so it is
// mostly given without.
func anthropicURL(base string) string {
	if base = strings.TrimRight(cmp.Or(base, "https://api.anthropic.com"), "/"); !strings.HasSuffix(base, "/v1") {
		base += "/v1"
	}
	return base
}

// noModel is the error for a run without a model or an endpoint. Its hints are the profiles of the
// config, or examples without a config.
func noModel(asked string, hasURL bool, s *Settings) error {
	names := s.ProfileNames()
	var profiles []string
	if len(names) > 0 {
		profiles = []string{"-m takes the name of a profile: " + config.JoinWords(names)}
	}
	_, isProfile := s.profiles[asked]
	switch {
	case isProfile:
		return failure.UsageError([]string{`"base_url" in the profile, or --base-url URL`}, "model %s: the profile has no base_url, and no endpoint is configured", escape.Escape(asked))
	case asked != "" && len(names) > 0:
		return failure.UsageError(config.DidYouMean("-m ", config.Nearest(asked, names), profiles...), "model %s: no profile has this name, and no endpoint is configured", escape.Escape(asked))
	case hasURL:
		return failure.UsageError(append([]string{"-m NAME (or TOOLPIPE_MODEL) names the model at that endpoint"}, profiles...), "no model: an endpoint is configured, but no name")
	case asked == "" && len(names) > 0:
		return failure.UsageError(profiles, "no model: the config has profiles, but does not choose one")
	}
	what := "no model: neither a name nor an endpoint is configured"
	if asked != "" {
		what = "model " + escape.Escape(asked) + ": no endpoint is configured"
	}
	return failure.UsageError([]string{
		"a local llama.cpp:  toolpipe --base-url http://127.0.0.1:8080/v1 -m default 'hello'",
		"Ollama:             toolpipe --base-url http://127.0.0.1:11434/v1 -m qwen3 'hello'",
		"OpenAI:             OPENAI_API_KEY=… toolpipe -m gpt-5-mini 'hello'",
		"Anthropic:          ANTHROPIC_API_KEY=… toolpipe -m claude-haiku-4-5 'hello'",
	}, "%s", what)
}

// flagParams reads the values of --param. For a duplicate name the last value is used.
func flagParams(c *config.Config) ([]stream.Param, error) {
	var params []stream.Param
	for _, f := range c.Params {
		name, raw, ok := strings.Cut(f, "=")
		if !ok || name == "" {
			return nil, failure.UsageError([]string{"--param top_p=0.9", `--param 'stop=["END"]'`}, "--param: %q is not of the form NAME=JSON", f)
		}
		if _, err := document.Parse("--param "+name, []byte(raw)); err != nil {
			e := failure.Of(err)
			if raw == "" || !strings.ContainsAny(raw[:1], `{["`) {
				e.Hints = []string{"a string needs its quotes: --param " + config.ShellQuote(name+"="+string(event.AppendString(nil, raw)))}
			}
			return nil, e
		}
		params = slices.DeleteFunc(params, func(p stream.Param) bool { return p.Name == name })
		params = append(params, stream.Param{Name: name, Value: json.RawMessage(raw)})
	}
	return params, nil
}

// RequestOf is the part of requests that stays the same in a run. Flags have precedence over the
// profile's params.
func RequestOf(ctx context.Context, c *config.Config, e *Endpoint) (*stream.Request, error) {
	r := &stream.Request{
		Model:           e.Model,
		MaxTokens:       c.MaxTokens,
		ReasoningEffort: c.ReasoningEffort,
		ThinkTags:       e.profile.thinkTags,
	}
	if c.Temperature != "" {
		r.Temperature = json.RawMessage(c.Temperature)
	}
	var err error
	if r.Schema, err = ReadSchema(ctx, c); err != nil {
		return nil, err
	}
	params, err := flagParams(c)
	if err != nil {
		return nil, err
	}
	if err := r.AddParams(e.API, params); err != nil {
		return nil, failure.Usage("--param %v", err)
	}
	if err := r.AddDefaults(e.API, e.profile.params); err != nil {
		return nil, failure.Usage("%s: %v", e.profile.place("params"), err)
	}
	return r, nil
}

// Refused is the error for err, which came from making the client of this endpoint.
func (e *Endpoint) Refused(err error) error {
	if u, ok := errors.AsType[*stream.EndpointError](err); ok {
		f := failure.Usage("%s: %v", e.URLFrom, u)
		switch {
		case u.Insecure != "":
			f.Hints = []string{"use https, or let the key go there in the clear: --insecure-http " + config.ShellQuote(u.Insecure)}
		case !strings.Contains(e.BaseURL, "://") && !strings.ContainsAny(e.BaseURL, "@?"):
			f.Hints = []string{"a URL begins with http:// or https://: http://" + e.BaseURL}
		}
		return f
	}
	if _, ok := errors.AsType[*os.PathError](err); ok && e.Record != "" {
		return config.OpenError("--record", e.Record, err)
	} else if ok {
		return config.OpenError("--replay", e.Replay, err)
	}
	return failure.Usage("%v", err)
}
