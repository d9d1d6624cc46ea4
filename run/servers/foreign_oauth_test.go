package servers

import (
	"fmt"
	"strings"
	"testing"

	"toolpipe/mcp"
	"toolpipe/mcp/oauth"
	"toolpipe/run/config"
	"toolpipe/run/document"
)

// TestHostOAuth: what other hosts write about authorization works or is left out
// with a warning. The server can be used in any case.
func TestHostOAuth(t *testing.T) {
	for _, tt := range []struct{ written, want, warned string }{
		{`true`, `{}`, ""},
		{`false`, `<nil>`, ""},
		{`{}`, `{}`, ""},
		{`{"enabled":true}`, `{}`, ""},
		{`{"enabled":false,"clientId":"me"}`, `<nil>`, ""},
		{`{"clientId":"me"}`, `{code me}`, ""},
		{`{"clientId":"me","clientSecret":"$(x)","callbackPort":4711}`, `{code me $(x) http://localhost:4711/callback}`, ""},
		{`{"clientId":"me","clientSecret":"${SECRET}","scopes":["a","b"]}`, `{code me hidden a b}`, ""},
		{`{"clientId":"me","scope":"a b","redirectUri":"http://localhost:1/x"}`, `{code me http://localhost:1/x a b}`, ""},
		{`{"authorizationUrl":"https://a.test/a","tokenUrl":"https://a.test/t"}`, `{code https://a.test/a https://a.test/t}`, ""},
		{`{"authServerMetadataUrl":"https://a.test/m","issuer":"https://a.test"}`, `{code https://a.test https://a.test/m}`, ""},
		{`{"client_id":"me","client_secret":"s"}`, `{me s}`, ""},
		{`{"authServerMetadataUrl":"https://a.test/m"}`, `{code}`, `it needs "issuer"`},
		{`{"tokenUrl":"https://a.test/t"}`, `{code}`, "belong together"},
		{`{"audiences":["x"],"clientId":"me"}`, `{code me}`, `"audiences"`},
		{`{"clientId":7,"scopes":{"a":1},"callbackPort":"x","enabled":"yes"}`, `{code}`, "clientId: 7 is not a string: it is ignored"},
		{`{"redirectUri":"ftp://x","clientId":"me"}`, `{code me}`, "it is ignored"},
		{`{"redirectUri":"app:/r","client_id":"me","client_secret":"s"}`, `{code me s}`, "it is ignored"},
		{`{"client_id":"me","client_secret":"s","grant":"authorization_code"}`, `{code me s}`, "it is ignored"},
		{`{"grant":"client_credentials"}`, `<nil>`, "oauth is ignored: "},
		{`{"clientId":null,"clientSecret":null}`, `{}`, ""},
		{`"auto"`, `<nil>`, "it is not an object"},
		{`7`, `<nil>`, "it is not an object"},
	} {
		doc, err := document.Parse("x.json", []byte(`{"s":{"url":"https://tools.test/mcp","oauth":`+tt.written+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		all, err := parseAll(entry{c: &config.Config{Environ: []string{"SECRET=hidden"}}}, doc)
		if err != nil || len(all) != 1 || all[0].Unusable != nil {
			t.Errorf("%s: %v, %+v", tt.written, err, all)
			continue
		}
		var warned []string
		for _, n := range all[0].notes {
			warned = append(warned, n.code+" "+n.message)
		}
		if got := shown(all[0].OAuth); got != tt.want || (tt.warned == "") != (warned == nil) || !strings.Contains(strings.Join(warned, "\n"), tt.warned) {
			t.Errorf("%s: %s, warned %q", tt.written, got, warned)
		}
		if all[0].HasFixedToken() != (tt.want == `{me s}`) {
			t.Errorf("%s: a person signs in: %t", tt.written, all[0].HasFixedToken())
		}
	}
	doc, _ := document.Parse("x.json", []byte(`{"s":{"url":"https://tools.test/mcp","oauth":{"clientId":"me","clientSecret":"${MISSING}"}}}`))
	if all, err := parseAll(entry{c: &config.Config{}}, doc); err != nil || all[0].Unusable == nil || !strings.Contains(all[0].Unusable.Message, "MISSING") {
		t.Errorf("a secret that is not there: %v, %+v", err, all)
	}
}

func shown(s *oauth.Settings) string {
	if s == nil {
		return "<nil>"
	}
	words := append([]string{s.Grant, s.ClientID, s.Secret, s.RedirectURI, s.Issuer, s.MetadataURL, s.AuthorizationURL, s.TokenURL}, s.Scopes...)
	return fmt.Sprintf("{%s}", strings.Join(strings.Fields(strings.Join(words, " ")), " "))
}

// TestLoginCommand: the command works as it is pasted.
func TestLoginCommand(t *testing.T) {
	const url = "https://tools.test/mcp"
	entry := Server{Spec: mcp.Spec{Name: "gh", URL: url}}
	own, listed, plain := entry, entry, entry
	own.own = true
	listed.file, listed.OAuth = "my servers.json", &oauth.Settings{ClientID: "me"}
	plain.URL = "http://tools.test/mcp"
	for _, tt := range []struct {
		c    config.Config
		s    Server
		want string
	}{
		{config.Config{}, own, "toolpipe --login gh"},
		{config.Config{Setup: config.Setup{ConfigFile: "c.json"}}, own, "toolpipe --config c.json --login gh"},
		{config.Config{}, entry, "toolpipe --login https://tools.test/mcp"},
		{config.Config{}, listed, "toolpipe --mcp-config 'my servers.json' --login gh"},
		{config.Config{InsecureHTTP: []string{"tools.test"}}, plain, "toolpipe --login http://tools.test/mcp --insecure-http tools.test"},
	} {
		all := []Server{tt.s}
		if err := applyServerFlags(&tt.c, nil, all); err != nil {
			t.Fatal(err)
		}
		if got := all[0].LoginCommand(); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// TestScopesHint: the scopes that a server names are quoted as JSON.
func TestScopesHint(t *testing.T) {
	own, listed := Server{loginArgs: []string{"--login", "gh"}}, Server{file: "servers.json"}
	if got := own.ScopesHint([]string{"a", `b"]`}); got != `give the entry of the server in the config "oauth": {"scopes": ["a","b\"]"]}, then sign in again: toolpipe --login gh` {
		t.Error(got)
	}
	if got := listed.ScopesHint([]string{"a"}); !strings.HasPrefix(got, `give the entry of the server in servers.json "oauth": {"scopes": ["a"]}`) {
		t.Error(got)
	}
}
