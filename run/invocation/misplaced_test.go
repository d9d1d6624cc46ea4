package invocation

import (
	"strings"
	"testing"
	"toolpipe/run/config"
	"toolpipe/run/document"
)

// The keys of the config, of a profile and of shell.
var (
	configKeys  = document.NamesOf(new(Settings).keys(new(config.Config)))
	presetKeys  = document.NamesOf(new(preset).keys())
	profileKeys = document.NamesOf(new(profile).keys())
	shellKeys   = document.NamesOf(new(shellSettings).keys(new(config.Config)))
)

func TestMisplacedHint(t *testing.T) {
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
		{"token", serverKeys, `"auth_env" names`},
		{"zebra", serverKeys, ""},
		{"timeout", shellKeys, ""},
	} {
		if got := misplacedHint(c.key, c.known); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", c.key, got)
		}
	}
}
