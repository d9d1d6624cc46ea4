package invocation

import (
	"slices"
	"testing"
	"toolpipe/run/config"
	"toolpipe/run/document"
)

// Every error of the config says which key it is about.
func TestConfigErrors(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{`{"model":3}`, `c.json:1: model: 3 is not a string`},
		{`{"models":[]}`, `c.json:1: models: not an object`},
		{"{\"models\":{\n\"local\":{\"idle_timeout\":\"soon\"}}}", `c.json:2: models.local.idle_timeout: "soon" is not a duration`},
		{`{"models":{"a b":{"api":"x"}}}`, `c.json:1: models."a b".api: "x" is not one of: chat, messages, responses`},
		{`{"max_rounds":-3}`, `c.json:1: max_rounds: -3 is not a whole number from 0 on`},
		{`{"modl":"x"}`, `c.json:1: unknown key "modl"`},
		{`{"mcpServers":{"gh":{"command":"x","args":["y",3]}}}`, `c.json:1: mcpServers.gh.args[1]: 3 is not a string`},
		{`{"mcpServers":{"gh":{"command":"x","arg":[]}}}`, `c.json:1: mcpServers.gh: unknown key "arg"`},
		{`{"mcpServers":{"gh":{"command":"x","framing":"lines"}}}`, `c.json:1: mcpServers.gh.framing: "lines" is not one of: newline, content-length`},
	} {
		if err := parseConfig(t, c.config); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.config, err, c.want)
		}
	}
}

func parseConfig(t *testing.T, text string) error {
	doc, err := document.Parse("c.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.ReadKeys((&Settings{Path: "c.json"}).keys(&config.Config{}))
}

// The variables of a profile's headers are keys of a model, if a name says so:
// no server inherits them, and no file of another host gets them.
func TestHeaderKeys(t *testing.T) {
	for value, want := range map[string][]string{
		"${GATEWAY}": {"GATEWAY"}, "Bearer ${env:A:-x}${B}": {"A", "B"}, "plain": nil, "${open": nil,
	} {
		if got := secretNames("api-key", value); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
	if got := secretNames("anthropic-beta", "${BETA} ${BETA_TOKEN}"); !slices.Equal(got, []string{"BETA_TOKEN"}) {
		t.Errorf("%q", got)
	}
}
