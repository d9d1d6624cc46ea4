package oauth

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestJWTBearer: the platform's JWT is read anew for each token, and is not sent
// again once it was refused.
func TestJWTBearer(t *testing.T) {
	t.Parallel()
	as := NewDouble(t)
	as.Clients = []DoubleClient{{ID: "workload", Method: "none"}}
	refuse := false
	as.Token = func(*http.Request, url.Values) string {
		if refuse {
			return "invalid_grant"
		}
		return ""
	}
	server, _ := url.Parse(as.URL + "/mcp")
	read := 0
	s := &Settings{Grant: GrantJWTBearer, ClientID: "workload", Assertion: func(context.Context) (string, error) {
		read++
		return fmt.Sprint("jwt-", read), nil
	}}
	var secrets []string
	g := New(server, s, func(secret string) { secrets = append(secrets, secret) })
	for i := range 2 {
		if token, err := g.Token(t.Context(), &Refusal{Status: 401}); err != nil || token.AccessToken != fmt.Sprint("access-", i+1) {
			t.Errorf("%+v, %v", token, err)
		}
	}
	refuse = true
	for range 2 {
		if _, err := g.Token(t.Context(), &Refusal{Status: 401}); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
			t.Errorf("%v", err)
		}
	}
	asked := as.Seen("/as/token")
	for i, seen := range asked {
		if q := seen.Query; q.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || q.Get("assertion") != fmt.Sprint("jwt-", i+1) || q.Get("resource") != as.URL+"/mcp" || q.Get("scope") != "read write" {
			t.Errorf("asked %v", q)
		}
	}
	if len(asked) != 3 || !slices.Contains(secrets, "jwt-1") || !slices.Contains(secrets, "access-2") {
		t.Errorf("%d requests, secrets %q", len(asked), secrets)
	}
}

// TestTokenWaits: a token endpoint that is busy for a moment ends neither a grant nor a sign-in.
func TestTokenWaits(t *testing.T) {
	t.Parallel()
	as := NewDouble(t)
	as.Clients = []DoubleClient{{ID: "workload", Method: "none"}}
	busy := true
	as.Token = func(*http.Request, url.Values) string {
		if busy {
			busy = false
			return "temporarily_unavailable"
		}
		return ""
	}
	server, _ := url.Parse(as.URL + "/mcp")
	s := &Settings{Grant: GrantJWTBearer, ClientID: "workload", Assertion: func(context.Context) (string, error) { return "jwt", nil }}
	if _, err := New(server, s, func(string) {}).Token(t.Context(), &Refusal{Status: 401}); err != nil || len(as.Seen("/as/token")) != 2 {
		t.Errorf("grant: %v after %d requests", err, len(as.Seen("/as/token")))
	}
	busy = true
	r, _ := request(t, as, Settings{})
	if _, err := SignIn(t.Context(), r); err != nil || len(as.Seen("/as/token")) != 4 {
		t.Errorf("sign-in: %v after %d requests", err, len(as.Seen("/as/token")))
	}
}

// TestIDJAG: the identity provider exchanges the ID token for an assertion about
// this server and its issuer, and that is traded for a token.
func TestIDJAG(t *testing.T) {
	t.Parallel()
	as, idp := NewDouble(t), NewDouble(t)
	as.Clients = []DoubleClient{{ID: "me", Secret: "s", Method: "client_secret_basic"}}
	as.Issuer = map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_basic"}}
	idp.Clients = []DoubleClient{{ID: "at-idp", Method: "none"}}
	kind := "urn:ietf:params:oauth:token-type:id-jag"
	idp.Reply = func(_ url.Values, reply map[string]any) {
		reply["issued_token_type"], reply["token_type"], reply["access_token"] = kind, "N_A", "assertion"
	}
	server, _ := url.Parse(as.URL + "/mcp")
	s := &Settings{Grant: GrantIDJAG, ClientID: "me", Secret: "s", IDP: &IDP{TokenURL: idp.URL + "/as/token", ClientID: "at-idp"},
		Assertion: func(context.Context) (string, error) { return "id-token", nil }}
	token, err := New(server, s, func(string) {}).Token(t.Context(), &Refusal{Status: 401})
	if err != nil || token.AccessToken != "access-1" {
		t.Fatalf("%+v, %v", token, err)
	}
	exchange, trade := idp.Seen("/as/token")[0].Query, as.Seen("/as/token")[0].Query
	for name, want := range map[string]string{
		"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": "id-token", "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
		"requested_token_type": kind, "audience": as.URL + "/as", "resource": as.URL + "/mcp", "client_id": "at-idp",
	} {
		if exchange.Get(name) != want {
			t.Errorf("%s is %q", name, exchange.Get(name))
		}
	}
	if trade.Get("assertion") != "assertion" || trade.Get("grant_type") != grantJWT || trade.Has("subject_token") {
		t.Errorf("traded %v", trade)
	}
	kind = "urn:ietf:params:oauth:token-type:access_token"
	if _, err := New(server, s, func(string) {}).Token(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "contains no assertion") || len(as.Seen("/as/token")) != 1 {
		t.Errorf("another kind of token is traded: %v", err)
	}
}
