package oauth

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
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
		a := newAgent(server, &Settings{Issuer: tt.issuer})
		if a.trusts(place) != tt.want {
			t.Errorf("server %s, issuer %q: %s is trusted: %t", tt.server, tt.issuer, tt.place, !tt.want)
		}
	}
	server, _ := url.Parse("https://tools.test/mcp")
	for pin, want := range map[string]bool{"": false, "https://login.corp": true} {
		a := newAgent(server, &Settings{Issuer: pin})
		if pin != "" {
			a.vouched = []string{"https://token.corp/t"}
		}
		place, _ := url.Parse("https://token.corp/t")
		if a.trusts(place) != want {
			t.Errorf("the token endpoint of issuer %q is trusted: %t", pin, !want)
		}
	}
}

// TestGuardAndProxy: a proxy would look up the name that the server gave, so
// the request is refused. The proxy is set in the environment of another
// process, because net/http reads that once.
func TestGuardAndProxy(t *testing.T) {
	const child = "TOOLPIPE_TEST_CHILD"
	if os.Getenv(child) != "" {
		_, err := newClient(func(*url.URL) bool { return false }).Get("https://metadata.test/x")
		t.Log(err)
		return
	}
	var requests atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.Error(w, "no", 502)
	}))
	defer proxy.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGuardAndProxy$", "-test.v")
	cmd.Env = []string{"HTTPS_PROXY=" + proxy.URL, child + "=1"}
	out, err := cmd.Output()
	if err != nil || requests.Load() != 0 || !strings.Contains(string(out), "refusing to ask a proxy for https://metadata.test/x") {
		t.Errorf("%d requests at the proxy: %s, %v", requests.Load(), out, err)
	}
}

// TestFailure: an error has one short line of an answer, and no page.
func TestFailure(t *testing.T) {
	for _, tt := range []struct{ contentType, body, want string }{
		{"", "", "HTTP status 404"},
		{"text/html", " \n", "HTTP status 404"},
		{"text/plain", "no such page\n", "HTTP status 404: no such page"},
		{"text/html", "no\n such\tpage\n", "HTTP status 404: no such page"},
		{"", "<!DOCTYPE html>\n<html>secret", "HTTP status 404 with a web page (text/html)"},
		{"text/html; charset=utf-8", "<x-app>secret", "HTTP status 404 with a web page (text/html; charset=utf-8)"},
		{"text/plain", strings.Repeat("x ", 1<<19), "HTTP status 404: " + strings.Repeat("x ", 150) + "…"},
	} {
		if got := (&response{status: 404, contentType: tt.contentType, body: []byte(tt.body)}).failure().Error(); got != tt.want {
			t.Errorf("%.40q: %q", tt.body, got)
		}
	}
}

// TestReadChallenge: every header, and every challenge in it, is read; a comma, a scheme
// or an equals sign in a quoted string is none.
func TestReadChallenge(t *testing.T) {
	const all = "https://x/m a+b insufficient_scope"
	for _, tt := range []struct{ values, want string }{ // the values, one a line; metadata, scopes and errors
		{`Bearer resource_metadata="https://x/m", scope="a b", error=insufficient_scope`, all},
		{`bearer scope="a b" , error="insufficient_scope",resource_metadata="https:\/\/x/m"`, all},
		{`Basic realm="Bearer town", Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x/m", Digest x="y"`, all},
		{"Negotiate\nBasic realm=\"x\"\nBearer resource_metadata=https://x/m, scope=\"a b\"\nDPoP error=insufficient_scope", all},
		{`Bearer error="insufficient_scope" scope="a b" resource_metadata="https://x/m"`, all},
		{`Bearer realm="a, Bearer resource_metadata=\"https://evil/m\"", error = "insufficient_scope" , scope	=	"a b",,resource_metadata="https://x/m"`, all},
		{`DPoP algs="ES256 EdDSA", resource_metadata="https://x/m", Bearer scope="a b", error="insufficient_scope"`, all},
		{`Private resource_metadata="https://x/m", scope="a b", error="insufficient_scope"`, all},
		{`Negotiate YII/Zg+==, Bearer resource_metadata="https://x/m", scope="a b", error="insufficient_scope"`, all},
		{`NTLM TlRMTVNTUAAB,Bearer scope="a b",error="insufficient_scope",resource_metadata="https://x/m"`, all},
		{"Bearer error=\"invalid_token\"\nDPoP error=\"use_dpop_nonce\", resource_metadata=\"https://x/m\"", "https://x/m  invalid_token+use_dpop_nonce"},
		{"Bearer resource_metadata=\"https://x/m\", resource_metadata=\"https://y/m\"\nBearer resource_metadata=\"https://z/m\"", "https://x/m  "},
		{`Basic realm="x", scope="s", error="e"`, "  "},
		{`Basic realm="Bearer resource_metadata=https://evil/m`, "  "},
		{`Bearer`, "  "},
		{`Bearer resource_metadata=`, "  "},
		{`Bearer resource_metadata="https://x/m`, "https://x/m  "},
		{`Bearer resource_metadata="https://x/m\`, `https://x/m\  `},
		{`resource_metadata="https://x/m"`, "  "},
		{`=,"a", b" ;x, Bearer scope="a b"`, " a+b "},
		{"", "  "},
	} {
		c := readChallenge(strings.Split(tt.values, "\n"))
		if got := c.metadata + " " + strings.Join(c.scopes, "+") + " " + strings.Join(c.codes, "+"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.values, got, tt.want)
		}
	}
	began := time.Now()
	for _, unit := range []string{"a", "a ", `"`, "=", ",", `a="`, `\`, "a=b,", "é"} {
		readChallenge([]string{"Bearer " + strings.Repeat(unit, 256<<10)})
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("long headers took %v", took)
	}
}
