package mcp

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/mcp/oauth"
	"toolpipe/stream/text/jsontext"
)

// signedIn is a store with a login at the server, whose access token is given.
func (g *guarded) signedIn(t *testing.T, token string) (*oauth.Store, *oauth.Login) {
	store := &oauth.Store{Dir: filepath.Join(t.TempDir(), "logins")}
	l := &oauth.Login{
		Server: g.web.URL + "/mcp", Issuer: g.web.URL, TokenURL: g.web.URL + "/token", Client: oauth.Client{ID: "me", AuthMethod: "none"},
		Scopes: []string{"read"}, Token: oauth.Token{AccessToken: token}, RefreshToken: "refresh",
	}
	keep(t, store, l)
	return store, l
}

func keep(t *testing.T, store *oauth.Store, l *oauth.Login) {
	t.Helper()
	if err := store.Update(t.Context(), l.Key(), func(*oauth.Login) (*oauth.Login, error) { return l, nil }); err != nil {
		t.Fatal(err)
	}
}

// tokensSent are the tokens that requests to the tool server had, each once.
func (g *guarded) tokensSent() (sent []string) {
	for _, r := range g.web.got("POST") {
		if r.path == "/mcp" {
			sent = append(sent, r.header.Get("Authorization"))
		}
	}
	return slices.Compact(sent)
}

func TestLoginOfServer(t *testing.T) {
	g := newGuarded(t)
	g.valid.Store("token-0")
	store, l := g.signedIn(t, "token-0")
	spec := Spec{URL: l.Server, Logins: store}
	s, _ := connect(t, spec)
	if got := called(t, s, "t", `{}`); got != "ok" || !slices.Equal(g.tokensSent(), []string{"Bearer token-0"}) {
		t.Errorf("%s with %q", got, g.tokensSent())
	}

	// The token is withdrawn: it is refreshed, and the call is sent once more.
	g.valid.Store("none")
	if got := called(t, s, "t", `{}`); got != "ok" || g.tokens.Load() != 1 {
		t.Errorf("%s after %d refreshes", got, g.tokens.Load())
	}
	if stored, err := store.Get(t.Context(), l.Key()); err != nil || stored.AccessToken != "token-1" {
		t.Errorf("%+v, %v", stored, err)
	}

	// Another process has stored a newer token: it is used, and nothing is refreshed.
	g.valid.Store("by-another")
	newer := *l
	newer.AccessToken = "by-another"
	keep(t, store, &newer)
	if got := called(t, s, "t", `{}`); got != "ok" || g.tokens.Load() != 1 {
		t.Errorf("%s after %d refreshes", got, g.tokens.Load())
	}
}

// TestLoginRefusedAlways: a server that refuses every token costs one refresh, not
// one for each request.
func TestLoginRefusedAlways(t *testing.T) {
	g := newGuarded(t)
	g.valid.Store("token-0")
	store, l := g.signedIn(t, "token-0")
	s, _ := connect(t, Spec{URL: l.Server, Logins: store})
	g.refuseAll.Store(true)
	for range 3 {
		err := callFails(t, s, "t", `{}`)
		login, ok := errors.AsType[*LoginError](err)
		if !ok || err.Sent || !strings.Contains(login.Why.Error(), "just refreshed") || !slices.Equal(login.Scopes, []string{"read", "write"}) {
			t.Errorf("%v", err)
		}
	}
	if n := g.tokens.Load(); n != 1 {
		t.Errorf("%d refreshes", n)
	}
}

// refusing is a token endpoint that refuses with a status and a code, and counts the requests.
func refusing(t *testing.T, status int, code string) (address string, requests *atomic.Int32) {
	requests = &atomic.Int32{}
	as := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":%q}`, code)
	}))
	t.Cleanup(as.Close)
	return as.URL, requests
}

// TestLoginRefreshRefused: a login whose token is good is used, whatever the refresh gives. After
// the end of the token the refusal counts.
func TestLoginRefreshRefused(t *testing.T) {
	for _, refusal := range []string{"invalid_grant", "unauthorized_client"} {
		g := newGuarded(t)
		g.valid.Store("token-0")
		store, l := g.signedIn(t, "token-0")
		tokens, refreshes := refusing(t, 400, refusal)
		l.TokenURL, l.Obtained, l.Expires = tokens, time.Now().Add(-time.Hour), time.Now().Add(20*time.Second)
		keep(t, store, l)
		s, _ := connect(t, Spec{URL: l.Server, Logins: store})
		for range 2 {
			if got := called(t, s, "t", `{}`); got != "ok" || refreshes.Load() != 1 {
				t.Errorf("%s: %s after %d refreshes", refusal, got, refreshes.Load())
			}
		}
		l.Expires = time.Now()
		keep(t, store, l)
		a := s.http.auth
		a.mu.Lock()
		a.login.login.Expires, a.login.pause = l.Expires, l.Expires
		a.mu.Unlock()
		if _, ok := errors.AsType[*LoginError](callFails(t, s, "t", `{}`)); !ok || refreshes.Load() != 2 {
			t.Errorf("%s: after the end: %d refreshes", refusal, refreshes.Load())
		}
	}
}

// TestLoginRefusedEarly: a login that the server and its authorization server both refuse stays
// stored until its end, and costs one refresh.
func TestLoginRefusedEarly(t *testing.T) {
	g := newGuarded(t)
	g.valid.Store("token-0")
	store, l := g.signedIn(t, "token-0")
	tokens, refreshes := refusing(t, 400, "invalid_grant")
	l.TokenURL, l.Obtained, l.Expires = tokens, time.Now(), time.Now().Add(time.Hour)
	keep(t, store, l)
	s, _ := connect(t, Spec{URL: l.Server, Logins: store})
	g.refuseAll.Store(true)
	for range 2 {
		login, ok := errors.AsType[*LoginError](callFails(t, s, "t", `{}`))
		if !ok || !strings.Contains(login.Why.Error(), "does not refresh the login: invalid_grant") || refreshes.Load() != 1 {
			t.Errorf("%v after %d refreshes", login, refreshes.Load())
		}
	}
	g.refuseAll.Store(false)
	if got := called(t, s, "t", `{}`); got != "ok" {
		t.Error(got)
	}
}

// TestLoginDown: an authorization server that is out of order is asked once, not again for each
// token that the server refuses. No person is asked to sign in.
func TestLoginDown(t *testing.T) {
	for _, left := range []time.Duration{-time.Hour, 20 * time.Second, time.Hour} {
		g := newGuarded(t)
		store, l := g.signedIn(t, "token-0")
		tokens, refreshes := refusing(t, 503, "invalid_grant")
		l.TokenURL, l.Obtained, l.Expires = tokens, time.Now().Add(-time.Hour), time.Now().Add(left)
		keep(t, store, l)
		most := int32(1)
		if left == 20*time.Second {
			most = 2 // one before the end, and one after the refusal
		}
		_, _, err := tryConnect(t, Spec{URL: l.Server, Logins: store})
		if _, ok := errors.AsType[*LoginError](err); ok || err == nil || !strings.Contains(err.Error(), "could not be refreshed: ") || refreshes.Load() != most {
			t.Errorf("%v before the end: %v after %d refreshes", left, err, refreshes.Load())
		}
	}
}

// TestLoginNeeded: which failures a person can mend by signing in, and that no
// token goes where it does not belong.
func TestLoginNeeded(t *testing.T) {
	for _, tt := range []struct {
		name string
		spec func(g *guarded, store *oauth.Store, s *Spec)
		why  error // nil: no LoginError
		sent string
	}{
		{"another URL", func(_ *guarded, _ *oauth.Store, s *Spec) { s.URL += "?x=1" }, oauth.ErrSignedOut, ""},
		{"another account", func(_ *guarded, _ *oauth.Store, s *Spec) { s.OAuth = &oauth.Settings{Account: "work"} }, oauth.ErrSignedOut, ""},
		{"an explicit token", func(_ *guarded, _ *oauth.Store, s *Spec) { s.Bearer = "mine" }, nil, "Bearer mine"},
		{"a header", func(_ *guarded, _ *oauth.Store, s *Spec) {
			s.Headers = map[string]string{"authorization": "Bearer mine"}
		}, nil, "Bearer mine"},
		{"client credentials", func(g *guarded, _ *oauth.Store, s *Spec) {
			g.resource = func(string) string { return "https://evil.test" }
			s.OAuth = &oauth.Settings{ClientID: "me", Secret: "s"}
		}, nil, ""},
		{"another client", func(_ *guarded, _ *oauth.Store, s *Spec) { s.OAuth = &oauth.Settings{ClientID: "other"} }, oauth.ErrOtherClient, "Bearer token-0"},
		{"no store", func(_ *guarded, _ *oauth.Store, s *Spec) { s.Logins = nil }, nil, ""},
		{"ended", func(g *guarded, store *oauth.Store, s *Spec) {
			keep(t, store, &oauth.Login{Server: s.URL, Issuer: g.web.URL})
		}, oauth.ErrEnded, "-"},
		{"expired without a refresh token", func(g *guarded, store *oauth.Store, s *Spec) {
			keep(t, store, &oauth.Login{Server: s.URL, Issuer: g.web.URL, Token: oauth.Token{AccessToken: "token-0", Expires: time.Now().Add(-time.Hour)}})
		}, oauth.ErrEnded, "-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuarded(t)
			store, l := g.signedIn(t, "token-0")
			spec := Spec{URL: l.Server, Logins: store}
			tt.spec(g, store, &spec)
			_, _, err := tryConnect(t, spec)
			login, ok := errors.AsType[*LoginError](err)
			if err == nil || ok != (tt.why != nil) || ok && !errors.Is(login.Why, tt.why) || g.tokens.Load() != 0 {
				t.Errorf("%v", err)
			}
			if sent := strings.Join(g.tokensSent(), ", "); sent != tt.sent && !(tt.sent == "-" && sent == "") {
				t.Errorf("sent: %q", sent)
			}
		})
	}
}

// TestLoginOverPlainHTTP: the token of a login does not cross a network in the clear.
func TestLoginOverPlainHTTP(t *testing.T) {
	store := &oauth.Store{Dir: filepath.Join(t.TempDir(), "logins")}
	keep(t, store, &oauth.Login{Server: "http://tools.invalid/mcp", Issuer: "x", Token: oauth.Token{AccessToken: "token-0"}})
	_, _, err := tryConnect(t, Spec{URL: "http://tools.invalid/mcp", Logins: store})
	if !errors.Is(err, PlainHTTPError{"tools.invalid"}) {
		t.Errorf("%v", err)
	}
}

// TestLoginLacksScopes: a refusal because of scopes names those that are missing,
// and stops when the login has them all.
func TestLoginLacksScopes(t *testing.T) {
	g := newGuarded(t)
	g.valid.Store("token-0")
	asked := "read write"
	g.web.Config.Handler = http.HandlerFunc(func(base http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Method") == "tools/call" {
				w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+asked+`"`)
				w.WriteHeader(http.StatusForbidden)
				return
			}
			base.ServeHTTP(w, r)
		}
	}(g.web.Config.Handler))
	store, l := g.signedIn(t, "token-0")
	s, _ := connect(t, Spec{URL: l.Server, Logins: store})
	login, ok := errors.AsType[*LoginError](callFails(t, s, "t", `{}`))
	if !ok || !login.Forbidden || !slices.Equal(login.Missing, []string{"write"}) || !slices.Equal(login.Scopes, []string{"read", "write"}) {
		t.Errorf("%+v", login)
	}
	asked = "read"
	login, ok = errors.AsType[*LoginError](callFails(t, s, "t", `{}`))
	if !ok || !login.Forbidden || len(login.Missing) > 0 {
		t.Errorf("%+v", login)
	}
	if g.tokens.Load() != 0 {
		t.Error("a token was refreshed, which adds no scope")
	}
}

// TestBoundToken: a token that is bound to a key goes with a proof of its own in each
// request. A server that wants its nonce in the proof gets it, once for each token; a call
// that was refused for it had not run.
func TestBoundToken(t *testing.T) {
	g := newGuarded(t)
	nonce := ""
	proofs := map[string]bool{}
	plain, never := 0, false
	g.web.Config.Handler = http.HandlerFunc(func(base http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			token, bound := strings.CutPrefix(r.Header.Get("Authorization"), "DPoP ")
			parts := strings.Split(r.Header.Get("DPoP"), ".")
			if r.URL.Path != "/mcp" || r.Method != "POST" {
				base.ServeHTTP(w, r)
				return
			}
			if !bound || len(parts) != 3 || proofs[parts[1]] || token == "" {
				plain++
			} else {
				proofs[parts[1]] = true
				claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
				sum := sha256.Sum256([]byte(token))
				said := func(name string) string { return jsontext.Text(jsontext.Member(claims, name)) }
				if said("htu") != g.web.URL+"/mcp" || said("htm") != "POST" || said("ath") != base64.RawURLEncoding.EncodeToString(sum[:]) {
					t.Errorf("claims %s", claims)
				}
				if nonce != "" && (never || said("nonce") != nonce) {
					w.Header().Set("DPoP-Nonce", nonce)
					w.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
			}
			r.Header.Set("Authorization", "Bearer "+token)
			base.ServeHTTP(w, r)
		}
	}(g.web.Config.Handler))
	g.valid.Store("token-0")
	store, l := g.signedIn(t, "token-0")
	key, err := oauth.NewProofKey()
	if err != nil {
		t.Fatal(err)
	}
	l.DPoP = key
	keep(t, store, l)
	s, rec := connect(t, Spec{URL: l.Server, Logins: store})
	for _, nonce = range []string{"", "n-1", "n-2"} {
		before, had := len(g.web.got("tools/call")), len(proofs)
		want := 1
		if nonce != "" {
			want = 2
		}
		if got := called(t, s, "t", `{}`); got != "ok" || len(proofs)-had != want || len(g.web.got("tools/call"))-before != 1 {
			t.Errorf("nonce %q: %s after %d requests, of which %d were calls", nonce, got, len(proofs)-had, len(g.web.got("tools/call"))-before)
		}
	}
	if plain != 0 {
		t.Errorf("%d requests had no proof, or an old one", plain)
	}
	never = true
	had := len(proofs)
	if e := callFails(t, s, "t", `{}`); e.Sent || len(proofs)-had > 5 {
		t.Errorf("%v after %d requests", e, len(proofs)-had)
	}
	text, _ := key.MarshalText()
	if wire := strings.Join(rec.snapshot(&rec.wire), ""); strings.Contains(wire, string(text)) || strings.Contains(wire, "token-0") {
		t.Error("the key or the token is on the wire log")
	}
}
