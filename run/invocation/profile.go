package invocation

import (
	"cmp"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/servers"
)

func (s *Settings) ParseAgent(value string) (name, profile string, err error) {
	name, profile, named := strings.Cut(value, "=")
	if _, whole := s.profiles[value]; whole || !named {
		name, profile = "agent", value
	}
	if err := servers.CheckName(name, "agent"); err != nil {
		return "", "", failure.Within("--agent", err)
	}
	if _, ok := s.profiles[profile]; ok {
		return name, profile, nil
	}
	return "", "", failure.UsageError(s.profileHints(""), "--agent: no profile is named %q", profile)
}

// profileHints list the profiles, or say how to write one. near is a similar name; "" for none.
func (s *Settings) profileHints(near string) []string {
	names := s.ProfileNames()
	if len(names) == 0 {
		return []string{`"models" in the config holds the profiles: {"models":{"small":{"base_url":"http://127.0.0.1:8080/v1","model":"qwen3"}}}`}
	}
	return config.DidYouMean("", near, "profiles: "+config.JoinWords(names))
}

// ModelList returns the profiles in -m or TOOLPIPE_MODEL if it is a list; nil for a single model.
// Each is asked after those before it have failed.
func (s *Settings) ModelList(c *config.Config) (names []string, err error) {
	asked, from := c.Model, "-m"
	if asked == "" && c.Replay == "" { // a recording contains its model; only the flag overrides it
		asked, from = c.Getenv("TOOLPIPE_MODEL"), "TOOLPIPE_MODEL"
	}
	if _, whole := s.profiles[asked]; whole || !strings.Contains(asked, ",") {
		return nil, nil
	}
	for flag, given := range map[string]bool{"--base-url": c.BaseURL != "", "--api": c.API != "", "--key-env": c.KeyEnv != nil, "--key-file": c.KeyFile != ""} {
		if given {
			return nil, failure.Usage("%s: is for one model, and %s lists several; the settings of each one are in its profile", flag, from)
		}
	}
	if c.Mode != config.Answer && c.Mode != config.Check {
		return nil, failure.Usage("%s: a list of models is for an answer, and for --check", from)
	}
	for name := range strings.SplitSeq(asked, ",") {
		if _, ok := s.profiles[name]; !ok {
			return nil, failure.UsageError(s.profileHints(config.Nearest(name, s.ProfileNames())), "%s: no profile is named %q", from, name)
		}
		names = append(names, name)
	}
	return names, nil
}

func (s *Settings) ProfileModel(profile string) string {
	return cmp.Or(s.profiles[profile].model, profile)
}

// ProfileParallel is how many runs of an agent with this profile may exist at once; 0: no limit in
// the profile.
func (s *Settings) ProfileParallel(profile string) int { return s.profiles[profile].parallel }

// ForProfile is c for another model than the main one. Flags for the main model are dropped. Only
// its endpoint and key are kept, for a profile without an endpoint.
func ForProfile(c *config.Config, s *Settings, profile string) *config.Config {
	d := *c
	d.Model, d.Record = profile, ""
	d.MaxTokens, d.Temperature, d.ReasoningEffort, d.Params, d.Schema = 0, "", "", nil, ""
	if s.profiles[profile].BaseURL != "" {
		d.BaseURL, d.API, d.KeyEnv, d.KeyFile = "", "", nil, ""
	}
	return &d
}
