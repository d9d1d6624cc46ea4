package oauth

import (
	"net/url"
	"strings"
	"testing"
)

// TestTrustedPlaces: without the guard of addresses go only the server's own
// host and the issuer that the config names.
func TestTrustedPlaces(t *testing.T) {
	for _, tt := range []struct {
		server, issuer, place string
		want                  bool
	}{
		{"https://tools.corp/mcp", "", "https://tools.corp/.well-known/x", true},
		{"https://tools.corp/mcp", "", "https://TOOLS.corp:443/.well-known/x", true},
		{"http://tools.corp/mcp", "", "http://tools.corp/.well-known/x", true},
		{"https://tools.corp/mcp", "", "http://tools.corp/.well-known/x", false},
		{"https://tools.corp/mcp", "", "https://tools.corp:8443/x", false},
		{"https://tools.corp/mcp", "", "https://login.corp/x", false},
		{"https://10.1.2.3/mcp", "", "https://10.1.2.3/x", true},
		{"https://10.1.2.3/mcp", "", "https://10.1.2.4/x", false},
		{"http://127.0.0.1:80/mcp", "", "http://localhost:8080/x", true},
		{"http://127.0.0.1:80/mcp", "", "https://10.1.2.3/x", false},
		{"https://tools.test/mcp", "", "http://127.0.0.1/x", false},
		{"https://tools.test/mcp", "https://login.corp/t", "https://login.corp/x", true},
		{"https://tools.test/mcp", "https://login.corp/t", "http://login.corp/x", false},
	} {
		server, _ := url.Parse(tt.server)
		place, _ := url.Parse(tt.place)
		g := New(server, &ClientCredentials{Issuer: tt.issuer})
		if g.trusts(place) != tt.want {
			t.Errorf("server %s, issuer %q: %s is trusted: %t", tt.server, tt.issuer, tt.place, !tt.want)
		}
	}
	server, _ := url.Parse("https://tools.test/mcp")
	for pin, want := range map[string]bool{"": false, "https://login.corp": true} {
		g := New(server, &ClientCredentials{Issuer: pin})
		g.at = &issuer{name: "https://login.corp", tokenURL: "https://token.corp/t"}
		place, _ := url.Parse("https://token.corp/t")
		if g.trusts(place) != want {
			t.Errorf("the token endpoint of issuer %q is trusted: %t", pin, !want)
		}
	}
}

func TestReadChallenge(t *testing.T) {
	for _, v := range []string{
		`Bearer resource_metadata="https://x/m", scope="a b", error=insufficient_scope`,
		`bearer scope="a b" , error="insufficient_scope",resource_metadata="https:\/\/x/m"`,
		`Basic realm="Bearer town", Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x/m", Digest x="y"`,
	} {
		c := ReadChallenge([]string{"Negotiate", v})
		if c.metadata != "https://x/m" || strings.Join(c.scopes, "+") != "a+b" || c.Failure != "insufficient_scope" {
			t.Errorf("%s: %+v", v, c)
		}
	}
}
