package oauth

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolpipe/stream/text/jsontext"
)

// bindsTokens makes a Double bind tokens to keys. The nonce is that of the token endpoint;
// "" for none.
func bindsTokens(as *Double, nonce string) {
	as.Issuer = map[string]any{"dpop_signing_alg_values_supported": []string{"RS256", "ES256"}}
	inner := as.Config.Handler
	as.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/as/token" && nonce != "" {
			w.Header().Set("DPoP-Nonce", nonce)
		}
		inner.ServeHTTP(w, r)
	})
	as.Token = func(r *http.Request, _ url.Values) string {
		htu, got := proof(r.Header, "htu"), proof(r.Header, "nonce")
		switch {
		case htu != as.URL+"/as/token" || proof(r.Header, "ath") != "":
			return "invalid_dpop_proof"
		case got != nonce:
			return "use_dpop_nonce"
		}
		return ""
	}
	as.Reply = func(_ url.Values, reply map[string]any) { reply["token_type"] = "DPoP" }
}

// proof is a claim of the proof in a header, or a member of its key.
func proof(header http.Header, claim string) string {
	parts := strings.Split(header.Get("DPoP"), ".")
	if len(parts) != 3 {
		return ""
	}
	claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
	if claim == "x" {
		claims, _ = base64.RawURLEncoding.DecodeString(parts[0])
		claims = jsontext.Member(claims, "jwk")
	}
	return jsontext.Text(jsontext.Member(claims, claim))
}

var asksForDPoP = &Refusal{Status: 401, Challenges: []string{"DPoP algs=\"ES256\""}}

// TestBoundLogin: where both sides know it, tokens are bound to a key, which is stored with
// the login and proves each request for a token, with the nonce of the server.
func TestBoundLogin(t *testing.T) {
	t.Parallel()
	for name, bend := range map[string]func(*Double, *Request){
		"by the challenge": func(_ *Double, r *Request) { r.Refusal = asksForDPoP },
		"required": func(as *Double, _ *Request) {
			as.Resource = map[string]any{"dpop_bound_access_tokens_required": true}
		},
		"by the metadata": func(as *Double, _ *Request) {
			as.Resource = map[string]any{"dpop_signing_alg_values_supported": []string{"ES256"}}
		},
	} {
		for _, nonce := range []string{"", "n-1"} {
			as := NewDouble(t)
			bindsTokens(as, nonce)
			r, _ := request(t, as, Settings{})
			var secrets []string
			r.Secret = func(s string) { secrets = append(secrets, s) }
			bend(as, &r)
			l, err := SignIn(t.Context(), r)
			if err != nil || l.DPoP == nil {
				t.Errorf("%s, nonce %q: %+v, %v", name, nonce, l, err)
				continue
			}
			key := keyText(l.DPoP)
			if !slices.Contains(secrets, key) || strings.Contains(fmt.Sprintf("%+v %v", l, l), key) {
				t.Errorf("%s: the key is no secret", name)
			}
			store := &Store{Dir: filepath.Join(t.TempDir(), "logins"), Secret: func(s string) { secrets = append(secrets, "read "+s) }}
			if err := store.Update(t.Context(), l.Key(), func(*Login) (*Login, error) { return &l, nil }); err != nil {
				t.Fatal(err)
			}
			fresh, err := store.Refresh(t.Context(), nil, l.Key(), l.AccessToken)
			if err != nil || fresh.AccessToken != "access-2" || keyText(fresh.DPoP) != key || !slices.Contains(secrets, "read "+key) {
				t.Errorf("%s: refreshed: %+v, %v", name, fresh, err)
			}
			asked := as.Seen("/as/token")
			want := 2
			if nonce != "" {
				want = 4 // a key that was read knows no nonce yet
			}
			if len(asked) != want {
				t.Errorf("%s, nonce %q: %d requests", name, nonce, len(asked))
			}
			jtis := map[string]bool{}
			for _, seen := range asked {
				jtis[proof(seen.Header, "jti")] = true
				if proof(seen.Header, "x") != proof(asked[0].Header, "x") {
					t.Errorf("%s: another key", name)
				}
			}
			if len(jtis) != want {
				t.Errorf("%s: a proof came twice", name)
			}
			for _, path := range []string{"/as/register", "/as/authorize", "/.well-known/oauth-protected-resource/mcp"} {
				for _, seen := range as.Seen(path) {
					if seen.Header.Get("DPoP") != "" {
						t.Errorf("%s: a proof at %s", name, path)
					}
				}
			}
		}
	}
}

// TestUnboundLogin: no proof goes where either side does not know it, and a login that is
// bound to a key stays so.
func TestUnboundLogin(t *testing.T) {
	t.Parallel()
	for name, bend := range map[string]func(*Double, *Request){
		"a server with bearer tokens alone": func(as *Double, r *Request) { r.Refusal = &Refusal{Status: 401, Challenges: []string{"Bearer"}} },
		"an issuer without it": func(as *Double, r *Request) {
			as.Issuer, r.Refusal = nil, asksForDPoP
		},
		"an issuer without ES256": func(as *Double, r *Request) {
			as.Issuer, r.Refusal = map[string]any{"dpop_signing_alg_values_supported": []string{"RS256"}}, asksForDPoP
		},
	} {
		as := NewDouble(t)
		as.Issuer = map[string]any{"dpop_signing_alg_values_supported": []string{"ES256"}}
		r, _ := request(t, as, Settings{})
		bend(as, &r)
		l, err := SignIn(t.Context(), r)
		if err != nil || l.DPoP != nil || as.Seen("/as/token")[0].Header.Get("DPoP") != "" {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}

	as := NewDouble(t)
	bindsTokens(as, "")
	as.Reply = nil
	r, _ := request(t, as, Settings{})
	r.Refusal = asksForDPoP
	if l, err := SignIn(t.Context(), r); err == nil || !strings.Contains(err.Error(), "is not bound to a key, although both") {
		t.Errorf("an issuer that gives a bearer token all the same: %+v, %v", l, err)
	}
	bindsTokens(as, "")
	r, _ = request(t, as, Settings{})
	r.Refusal = asksForDPoP
	l, err := SignIn(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	as.Reply = nil
	if fresh, err := Refresh(t.Context(), nil, l); err == nil || !strings.Contains(err.Error(), "is not bound to a key") || fresh.DPoP != l.DPoP {
		t.Errorf("a refreshed token without the key: %v", err)
	}
	before := len(as.Seen("/as/token"))
	as.Token = func(*http.Request, url.Values) string { return "use_dpop_nonce" }
	if _, err := Refresh(t.Context(), nil, l); err == nil || len(as.Seen("/as/token")) != before+2 {
		t.Errorf("a nonce that is never right: %v after %d requests", err, len(as.Seen("/as/token"))-before)
	}
}

// TestBoundGrant: a token without a person is bound too, and an identity provider, which
// did not ask for it, gets no proof.
func TestBoundGrant(t *testing.T) {
	t.Parallel()
	as, idp := NewDouble(t), NewDouble(t)
	bindsTokens(as, "n")
	as.Clients = []DoubleClient{{ID: "me", Method: "none"}}
	idp.Clients = []DoubleClient{{ID: "at-idp", Method: "none"}}
	idp.Reply = func(_ url.Values, reply map[string]any) {
		reply["issued_token_type"], reply["token_type"] = "urn:ietf:params:oauth:token-type:id-jag", "N_A"
	}
	server, _ := url.Parse(as.URL + "/mcp")
	s := &Settings{Grant: GrantIDJAG, ClientID: "me", IDP: &IDP{TokenURL: idp.URL + "/as/token", ClientID: "at-idp"},
		Assertion: func(context.Context) (string, error) { return "id-token", nil }}
	token, err := New(server, s, func(string) {}).Token(t.Context(), asksForDPoP)
	if err != nil || token.DPoP == nil || len(as.Seen("/as/token")) != 2 {
		t.Errorf("%+v, %v", token, err)
	}
	if seen := idp.Seen("/as/token"); len(seen) != 1 || seen[0].Header.Get("DPoP") != "" {
		t.Errorf("at the identity provider: %+v", seen)
	}
	as.Reply = nil
	if token, err := New(server, s, func(string) {}).Token(t.Context(), asksForDPoP); err == nil || token.AccessToken != "" {
		t.Errorf("a bearer token: %+v, %v", token, err)
	}
}
