package config

import (
	"strings"
	"testing"
)

// The keys of the config, of a profile, of a server and of shell.
var (
	configKeys  = namesOf(new(Settings).keys(nil))
	profileKeys = namesOf(new(profile).keys())
	serverKeys  = namesOf(new(entry).ownKeys())
	shellKeys   = namesOf(new(shellSettings).keys())
)

// TestHintOfOthers holds that secrets under keys of other programs lead to ours.
func TestHintOfOthers(t *testing.T) {
	for _, c := range []struct {
		key   string
		known []string
		want  string
	}{
		{"api_key", profileKeys, `the config holds no key: "key_env" names`},
		{"apiKey", profileKeys, "the config holds no key"},
		{"api_key", configKeys, `it belongs to a profile: "models": `},
		{"key_command", configKeys, "it belongs to a profile"},
		{"base_url", configKeys, "it belongs to a profile"},
		{"mcp_servers", configKeys, ""}, // spelled almost like it
		{"token", serverKeys, `"auth_env" names`},
		{"zebra", serverKeys, ""},
		{"timeout", shellKeys, ""},
	} {
		if got := hintOfOthers(c.key, c.known); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", c.key, got)
		}
	}
}
