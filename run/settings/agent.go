package settings

import (
	"cmp"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/servers"
)

// ParseAgent splits the value of --agent, [NAME=]PROFILE.
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
	hints := []string{`"models" in the config holds the profiles: {"models":{"small":{"base_url":"http://127.0.0.1:8080/v1","model":"qwen3"}}}`}
	if names := s.ProfileNames(); len(names) > 0 {
		hints = []string{"profiles: " + config.JoinWords(names)}
	}
	return "", "", failure.UsageError(hints, "--agent: no profile is named %q", profile)
}

// ProfileModel is the model that a profile asks for.
func (s *Settings) ProfileModel(profile string) string {
	return cmp.Or(s.profiles[profile].model, profile)
}

// ForProfile is c for a model beside that of the run. What the flags say of the
// run's own model does not count for it; only its endpoint and key do, for a
// profile that names no endpoint.
func ForProfile(c *config.Config, s *Settings, profile string) *config.Config {
	d := *c
	d.Model, d.Record = profile, ""
	d.MaxTokens, d.Temperature, d.ReasoningEffort, d.Params, d.Schema = 0, "", "", nil, ""
	if s.profiles[profile].BaseURL != "" {
		d.BaseURL, d.API, d.KeyEnv, d.KeyFile = "", "", nil, ""
	}
	return &d
}
