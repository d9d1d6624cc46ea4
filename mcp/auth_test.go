package mcp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/mcp/oauth"
	"toolpipe/stream/text/jsontext"
)

// guarded is a modern server that takes the tokens of its own authorization
// server only.
type guarded struct {
	web       *web
	tokens    atomic.Int32
	valid     atomic.Value // the token that is good now
	refuseAll atomic.Bool
	// change bends the server: any may be nil.
	resource, issuer func(real string) string
	named, tokenURL  func(real string) string // what the documents lead to
	methods          string
	expires          int
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{methods: `["client_secret_basic"]`}
	g.valid.Store("none")
	g.web = serveWeb(t, g.handle)
	return g
}

func bent(f func(string) string, real string) string {
	if f == nil {
		return real
	}
	return f(real)
}

func (g *guarded) handle(w http.ResponseWriter, r webRequest) {
	base := g.web.URL
	switch {
	case r.path == "/meta":
		sendJSON(w, 200, fmt.Sprintf(`{"resource":%q,"authorization_servers":["%s"],"scopes_supported":["all"]}`, bent(g.resource, base+"/mcp"), bent(g.named, base+"/as")))
	case r.path == "/.well-known/openid-configuration/as":
		sendJSON(w, 200, fmt.Sprintf(`{"issuer":%q,"token_endpoint":%q,"token_endpoint_auth_methods_supported":%s}`, bent(g.issuer, base+"/as"), bent(g.tokenURL, base+"/token"), g.methods))
	case r.path == "/token":
		g.valid.Store(fmt.Sprint("token-", g.tokens.Add(1)))
		sendJSON(w, 200, fmt.Sprintf(`{"access_token":%q,"token_type":"Bearer","expires_in":%d}`, g.valid.Load(), g.expires))
	case r.path == "/mcp" && !g.refuseAll.Load() && r.header.Get("Authorization") == "Bearer "+g.valid.Load().(string):
		modernWeb(w, r)
	case r.path == "/mcp":
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Basic realm="x", Bearer error="invalid_token", resource_metadata=%q, scope="read write"`, base+"/meta"))
		sendJSON(w, 401, r.refuse(-32001, "the token is old", ""))
	default:
		http.NotFound(w, nil)
	}
}

func (g *guarded) spec(c oauth.Settings) Spec {
	return Spec{Name: "gh", URL: g.web.URL + "/mcp", OAuth: &c}
}

func TestClientCredentials(t *testing.T) {
	g := newGuarded(t)
	g.expires = 3600
	s, rec := connect(t, g.spec(oauth.Settings{ClientID: "me:you", Secret: "s p"}))
	if got := called(t, s, "t", `{}`); got != "ok" {
		t.Errorf("the call gave %q", got)
	}
	posts := g.web.got("POST")
	var grant *webRequest
	for i := range posts {
		if posts[i].path == "/token" {
			grant = &posts[i]
		}
	}
	form, _ := url.ParseQuery(grant.body)
	id, secret, _ := (&http.Request{Header: grant.header}).BasicAuth()
	if form.Get("grant_type") != "client_credentials" || form.Get("scope") != "read write" || form.Get("resource") != g.web.URL+"/mcp" || id != "me%3Ayou" || secret != "s+p" {
		t.Errorf("grant: %v by %q %q", form, id, secret)
	}
	if wire := strings.Join(rec.snapshot(&rec.wire), ""); strings.Contains(wire, "token-1") {
		t.Error("the token is on the wire log")
	}

	// The token is withdrawn: a list and a call get another and are sent once
	// more. A call that is refused again is not.
	g.valid.Store("none")
	if names := listAgain(t, s); names != "t" || g.tokens.Load() != 2 {
		t.Errorf("tools %q after %d tokens", names, g.tokens.Load())
	}
	g.valid.Store("none")
	before := len(g.web.got("tools/call"))
	if got := called(t, s, "t", `{}`); got != "ok" || len(g.web.got("tools/call")) != before+2 {
		t.Errorf("the call gave %q after %d requests", got, len(g.web.got("tools/call"))-before)
	}
	g.refuseAll.Store(true)
	before = len(g.web.got("tools/call"))
	if e := callFails(t, s, "t", `{}`); e.Sent || !strings.Contains(e.Message, "the token is old") || len(g.web.got("tools/call")) != before+2 {
		t.Errorf("%+v after %d requests", e, len(g.web.got("tools/call"))-before)
	}
}

func TestTokenIsRenewedBeforeItEnds(t *testing.T) {
	g := newGuarded(t)
	g.expires = 1
	s, _ := connect(t, g.spec(oauth.Settings{ClientID: "me", Secret: "s"}))
	a := s.http.auth
	a.mu.Lock()
	a.token.Expires = time.Now().Add(-time.Second)
	a.mu.Unlock()
	if got := called(t, s, "t", `{}`); got != "ok" || len(g.web.got("tools/call")) != 1 || g.tokens.Load() != 2 {
		t.Errorf("the call gave %q after %d tokens", got, g.tokens.Load())
	}
}

func TestClientSecretPost(t *testing.T) {
	g := newGuarded(t)
	g.methods = `["client_secret_post"]`
	connect(t, g.spec(oauth.Settings{ClientID: "me", Secret: "s", Issuer: g.web.URL + "/as", Scopes: []string{"mine"}}))
	for _, r := range g.web.got("POST") {
		if r.path == "/token" && (!strings.Contains(r.body, "client_secret=s") || !strings.Contains(r.body, "scope=mine") || r.header.Get("Authorization") != "") {
			t.Errorf("grant: %s", r.body)
		}
	}
}

func TestPrivateKeyJWT(t *testing.T) {
	g := newGuarded(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	connect(t, g.spec(oauth.Settings{ClientID: "me", PrivateKey: file, Algorithm: "ES256"}))
	for _, r := range g.web.got("POST") {
		if r.path != "/token" {
			continue
		}
		form, _ := url.ParseQuery(r.body)
		parts := strings.Split(form.Get("client_assertion"), ".")
		claims, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil || jsontext.Check(claims, jsontext.Peer) != nil || jsontext.Text(jsontext.Member(claims, "aud")) != g.web.URL+"/as" || jsontext.Text(jsontext.Member(claims, "iss")) != "me" || jsontext.Text(jsontext.Member(claims, "sub")) != "me" {
			t.Errorf("claims %s, %v", claims, err)
		}
		sig, _ := base64.RawURLEncoding.DecodeString(parts[2])
		if !verifyES256(&key.PublicKey, parts[0]+"."+parts[1], sig) {
			t.Error("the signature is wrong")
		}
	}
	_, _, err = tryConnect(t, g.spec(oauth.Settings{ClientID: "me", PrivateKey: file, Algorithm: "RS256"}))
	if err == nil || !strings.Contains(err.Error(), "cannot sign") {
		t.Errorf("with the wrong algorithm: %v", err)
	}
}

func verifyES256(key *ecdsa.PublicKey, signed string, sig []byte) bool {
	sum := sha256.Sum256([]byte(signed))
	return len(sig) == 64 && ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:]))
}

// TestGrantRefused: no credential leaves for a server that is not the one.
func TestGrantRefused(t *testing.T) {
	tests := []struct {
		name string
		bend func(*guarded, *oauth.Settings)
		want string
	}{
		{"another resource", func(g *guarded, _ *oauth.Settings) {
			g.resource = func(string) string { return "https://evil.test/mcp" }
		}, "not about this server"},
		{"a sibling's resource", func(g *guarded, _ *oauth.Settings) {
			g.resource = func(real string) string { return real + "2" }
		}, "not about this server"},
		{"another issuer", func(g *guarded, _ *oauth.Settings) {
			g.issuer = func(real string) string { return real + "/" }
		}, "belongs to issuer"},
		{"an issuer elsewhere", func(g *guarded, _ *oauth.Settings) {
			g.named = func(string) string { return "https://login.test" }
		}, `names "https://login.test"`},
		{"a token endpoint elsewhere", func(g *guarded, _ *oauth.Settings) {
			g.tokenURL = func(string) string { return "https://login.test/token" }
		}, `names "https://login.test/token"`},
		{"no key", func(_ *guarded, c *oauth.Settings) { c.PrivateKey = []byte("x") }, "not PEM"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuarded(t)
			c := oauth.Settings{ClientID: "me", Secret: "s"}
			tt.bend(g, &c)
			_, _, err := tryConnect(t, g.spec(c))
			if err == nil || !strings.Contains(err.Error(), tt.want) || g.tokens.Load() != 0 {
				t.Errorf("%v, %d tokens", err, g.tokens.Load())
			}
			if elsewhere := strings.HasSuffix(tt.name, " elsewhere"); elsewhere != strings.Contains(dump(err), `add to the server's "oauth" in the config: "issuer": "`) {
				t.Errorf("%s", dump(err))
			}
		})
	}
}

// TestIssuerBesideOthers: of several issuers the one on the server's own host
// needs no pin.
func TestIssuerBesideOthers(t *testing.T) {
	g := newGuarded(t)
	g.named = func(real string) string { return `https://login.test","` + real }
	connect(t, g.spec(oauth.Settings{ClientID: "me", Secret: "s"}))
}

// TestOwnHostOnTheIntranet: a server in the private network that is reached by
// plain http, as the config allows, has its metadata at that same place.
func TestOwnHostOnTheIntranet(t *testing.T) {
	var listener net.Listener
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsPrivate() && listener == nil {
			listener, _ = net.Listen("tcp", net.JoinHostPort(n.IP.String(), "0"))
		}
	}
	if listener == nil {
		t.Skip("this machine has no address in a private network")
	}
	g := newGuarded(t)
	go http.Serve(listener, g.web.Config.Handler)
	t.Cleanup(func() { listener.Close() })
	there := "http://" + listener.Addr().String()
	g.web.URL = there
	s, _ := connect(t, Spec{URL: there + "/mcp", InsecureHTTP: true, OAuth: &oauth.Settings{ClientID: "me", Secret: "s"}})
	if got := called(t, s, "t", `{}`); got != "ok" {
		t.Errorf("the call gave %q", got)
	}
}

func TestTokenCommand(t *testing.T) {
	g := newGuarded(t)
	g.valid.Store("from-command")
	s, _ := connect(t, Spec{URL: g.web.URL + "/mcp", TokenCommand: program("print", "from-command\nrest"), Environ: os.Environ()})
	if got := called(t, s, "t", `{}`); got != "ok" {
		t.Errorf("the call gave %q", got)
	}
	for what, argv := range map[string][]string{"not a token": program("print", "\n"), "exit status 2": program("fail"), "not found": {"no-such-program"}} {
		_, _, err := tryConnect(t, Spec{URL: g.web.URL + "/mcp", TokenCommand: argv, Environ: []string{"PATH=/bin"}})
		if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "token_command") {
			t.Errorf("%q is not in %v", what, err)
		}
	}
}

func init() {
	programs["print"] = func(args []string) int {
		fmt.Println(args[0])
		return 0
	}
	programs["fail"] = func([]string) int { return 2 }
}

func TestCredentialsOverPlainHTTP(t *testing.T) {
	_, _, err := tryConnect(t, Spec{Name: "x", URL: "http://tools.invalid/mcp", Bearer: "tok"})
	if !errors.Is(err, PlainHTTPError{"tools.invalid"}) {
		t.Errorf("%v", err)
	}
	_, rec, err := tryConnect(t, Spec{Name: "x", URL: "http://tools.invalid/mcp", Bearer: "tok", InsecureHTTP: true, StartupTimeout: time.Second})
	if err == nil || rec.warned("insecure_http") != 1 {
		t.Errorf("%v, %q", err, rec.warnings)
	}
}
