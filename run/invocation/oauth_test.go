package invocation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
)

// TestOAuthThatCannotWork is refused when the config is read.
func TestOAuthThatCannotWork(t *testing.T) {
	for oauth, want := range map[string]string{
		`{"grant":"password"}`:                                                                               "is not one of",
		`{"metadata_url":"https://x.test/m"}`:                                                                "metadata_url needs issuer",
		`{"token_url":"https://x.test/t"}`:                                                                   "belong together",
		`{"authorization_url":"https://x.test/a"}`:                                                           "belong together",
		`{"authorization_url":"https://x.test/a","token_url":"http://x.test/t"}`:                             `token_url: "http://x.test/t" is neither an https URL nor http on this machine`,
		`{"redirect_uri":"http://tools.test/callback"}`:                                                      "redirect_uri: ",
		`{"redirect_uri":"app:/callback"}`:                                                                   "redirect_uri: ",
		`{"client_metadata_url":"https://x.test/"}`:                                                          "is not an https URL with a path",
		`{"client_metadata_url":"http://localhost/x"}`:                                                       "is not an https URL with a path",
		`{"grant":"client_credentials","client_id":"me"}`:                                                    "needs client_id and a secret or a key",
		`{"grant":"jwt_bearer"}`:                                                                             "which need it",
		`{"assertion_command":["x"]}`:                                                                        "which need it",
		`{"grant":"id_jag","assertion_command":["x"]}`:                                                       "needs idp with its token_url",
		`{"grant":"id_jag","assertion_command":["x"],"idp":{"token_uri":"x"}}`:                               `did you mean "token_url"`,
		`{"grant":"id_jag","assertion_command":["x"],"idp":{"token_url":"http://x.test/t"}}`:                 `idp.token_url: "http://x.test/t" is neither an https URL nor http on this machine`,
		`{"issuer":"nonsense"}`:                                                                              `issuer: "nonsense" is neither an https URL nor http on this machine`,
		`{"issuer":"http://x.test"}`:                                                                         `issuer: "http://x.test" is neither`,
		`{"issuer":"http://x.test","metadata_url":"https://x.test/m"}`:                                       "", // a proxy may add TLS to a server that does not know it
		`{"authorize_params":{"a":1}}`:                                                                       "is not a string",
		`{"client_id":"me","redirect_uri":"http://localhost:1/x"}`:                                           "",
		`{"grant":"client_credentials","client_id":"me","client_secret":"s","token_url":"https://x.test/t"}`: "",
		`{"grant":"id_jag","client_id":"me","assertion_command":["x"],"idp":{"token_url":"https://x.test/t","client_id":"me"}}`: "",
	} {
		err := parseConfig(t, `{"mcpServers":{"s":{"url":"https://tools.test/mcp","oauth":`+oauth+`}}}`)
		if text := errorText(err); (err == nil) != (want == "") || !strings.Contains(text, want) {
			t.Errorf("%s: %s", oauth, text)
		}
	}
}

// TestFirstBadURL: of several bad URLs the error is about the first in the file, each
// time.
func TestFirstBadURL(t *testing.T) {
	for _, oauth := range []string{`"authorization_url":"http://x.test/a","token_url":"http://x.test/t"`, `"token_url":"http://x.test/t","authorization_url":"http://x.test/a"`, `"redirect_uri":"app:/r","client_metadata_url":"app:/m"`} {
		first, _, _ := strings.Cut(oauth, ",")
		name, value, _ := strings.Cut(first, ":")
		for range 20 {
			err := parseConfig(t, `{"mcpServers":{"s":{"url":"https://tools.test/mcp","oauth":{`+oauth+`}}}}`)
			if text := errorText(err); !strings.Contains(text, strings.Trim(name, `"`)+": "+value) {
				t.Fatalf("%s: %s", oauth, text)
			}
		}
	}
}

// TestClientDocumentOfAll: the config may name the metadata document once for all
// servers.
func TestClientDocumentOfAll(t *testing.T) {
	c := &config.Config{}
	doc, err := document.Parse("c.json", []byte(`{"client_metadata_url":"https://me.test/c.json","mcpServers":{
		"a":{"url":"https://a.test/mcp"},"b":{"url":"https://b.test/mcp","oauth":{"client_metadata_url":"https://b.test/c.json","account":"x"}},"c":{"command":"x"}}}`))
	s := &Settings{Path: "c.json"}
	if err == nil {
		err = doc.ReadKeys(s.keys(c))
	}
	if err != nil {
		t.Fatal(err)
	}
	used, _, err := s.Servers(t.Context(), c, nil, func(_, _, message string) { t.Error(message) })
	if err != nil {
		t.Fatal(err)
	}
	a, b := used[0].OAuth, used[1].OAuth
	if a.ClientMetadataURL != "https://me.test/c.json" || b.ClientMetadataURL != "https://b.test/c.json" || b.Account != "x" || used[2].OAuth != nil {
		t.Errorf("%+v, %+v", a, b)
	}
	if err := parseConfig(t, `{"client_metadata_url":"http://me.test/c.json"}`); err == nil {
		t.Error("a document over plain http is taken")
	}
}

// errorText is the message of an error with its hints.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error() + " " + strings.Join(failure.Of(err).Hints, " ")
}

// TestAssertionFile: the platform writes a new token into the file before the old
// one ends.
func TestAssertionFile(t *testing.T) {
	dir := t.TempDir()
	doc, err := document.Parse(filepath.Join(dir, "c.json"), []byte(`{"mcpServers":{"s":{"url":"https://tools.test/mcp","oauth":{"grant":"jwt_bearer","assertion_file":"token"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := &Settings{}
	for i, token := range []string{"first", "second"} {
		if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := doc.ReadKeys(s.keys(&config.Config{})); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.servers[0].OAuth.Assertion(t.Context()); err != nil || got != token {
			t.Errorf("%q, %v", got, err)
		}
	}
}
