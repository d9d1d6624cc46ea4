package invocation

import (
	"slices"
	"strings"
	"testing"
	"toolpipe/run/config"
	"toolpipe/run/document"
)

// The keys of the config, of a profile and of shell.
var (
	configKeys  = document.NamesOf(new(Settings).keys(new(config.Config)))
	profileKeys = document.NamesOf(new(profile).keys())
	shellKeys   = document.NamesOf(new(shellSettings).keys(new(config.Config)))
)

// TestHintOfOthers holds that keys of other programs lead to ours, and that no
// hint names a key that the object does not have.
func TestHintOfOthers(t *testing.T) {
	serverKeys := described()["KEYS OF A SERVER"]
	for _, c := range []struct {
		key   string
		known []string
		want  string
	}{
		{"api_key", profileKeys, `the config contains no key: "key_env" names`},
		{"apiKey", profileKeys, "the config contains no key"},
		{"api_key", configKeys, `it belongs to a profile: "models": `},
		{"key_command", configKeys, "it belongs to a profile"},
		{"base_url", configKeys, "it belongs to a profile"},
		{"servers", configKeys, `here this is "mcpServers"`},
		{"max_tokens", profileKeys, `here this is "params"`},
		{"profiles", configKeys, `here this is "models"`},
		{"mcp_servers", configKeys, ""}, // spelled almost like it
		{"includeTools", serverKeys, `here this is "tools"`},
		{"bearer_token_env_var", serverKeys, `here this is "auth_env"`},
		{"token", serverKeys, `"auth_env" names`},
		{"zebra", serverKeys, ""},
		{"timeout", shellKeys, ""},
	} {
		if got := hintOfOthers(c.key, c.known); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", c.key, got)
		}
	}
	all := slices.Concat(configKeys, profileKeys, serverKeys, shellKeys)
	for _, k := range keysOfOthers {
		if !slices.Contains(all, k.ours) {
			t.Errorf("%q is no key", k.ours)
		}
	}
}
