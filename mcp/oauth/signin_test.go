package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// request is a sign-in of somebody who agrees to everything. Where the browser
// does not come back, it is ended, so that no test waits for a person.
func request(t *testing.T, as *Double, s Settings) (r Request, page func() string) {
	pages := make(chan string, 1)
	r = Request{Server: as.URL + "/mcp", Settings: &s, Secret: func(string) {}, Show: func(c Consent) {
		go func() {
			text, err := Browser(c.URL)
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, "The sign-in ") {
				u, _ := url.Parse(c.URL)
				back := url.Values{"error": {"the browser ended at: " + text}, "state": {u.Query().Get("state")}, "iss": {c.Issuer}}
				Browser(c.RedirectURI + "?" + back.Encode())
			}
			pages <- text
		}()
	}}
	return r, func() string { return <-pages }
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	as := NewDouble(t)
	var secrets []string
	r, page := request(t, as, Settings{})
	r.Refusal = &Refusal{Status: 401, Challenges: []string{`Bearer scope="read"`}}
	r.Secret = func(s string) { secrets = append(secrets, s) }
	l, err := SignIn(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := page(); !strings.Contains(got, "The sign-in worked") {
		t.Errorf("the page: %s", got)
	}
	registered, asked, traded := as.Seen("/as/register")[0], as.Seen("/as/authorize")[0].Query, as.Seen("/as/token")[0].Query
	uri := asked.Get("redirect_uri")
	var body map[string]any
	json.Unmarshal([]byte(registered.Body), &body)
	if got := strings.TrimSpace(fmt.Sprintln(body["redirect_uris"], body["application_type"], body["grant_types"], body["response_types"], body["token_endpoint_auth_method"], body["client_name"], len(body))); got != "["+uri+"] native [authorization_code refresh_token] [code] none toolpipe 6" {
		t.Errorf("registered %s", got)
	}
	if asked.Get("resource") != as.URL+"/mcp" || asked.Get("scope") != "read" || !strings.HasPrefix(uri, "http://localhost:") || !strings.HasSuffix(uri, "/callback") {
		t.Errorf("asked %v", asked)
	}
	if traded.Get("resource") != as.URL+"/mcp" || traded.Get("redirect_uri") != uri || traded.Get("client_id") != "registered-1" || len(traded.Get("code_verifier")) != 52 {
		t.Errorf("traded %v", traded)
	}
	for _, secret := range []string{traded.Get("code_verifier"), asked.Get("state"), "code-1", "access-1", "refresh-1"} {
		if !slices.Contains(secrets, secret) {
			t.Errorf("the secret %s was not told", secret)
		}
	}
	want := Login{Server: r.Server, Issuer: as.URL + "/as", Resource: as.URL + "/mcp", TokenURL: as.URL + "/as/token", RevocationURL: as.URL + "/as/revoke",
		Client: Client{ID: "registered-1", AuthMethod: "none", RedirectURI: uri, Dynamic: true}, Scopes: []string{"read"}, Token: Token{AccessToken: "access-1"}, RefreshToken: "refresh-1"}
	left := time.Until(l.Expires)
	l.Expires, l.Obtained = time.Time{}, time.Time{}
	if fmt.Sprint(l) != fmt.Sprint(want) || left < 59*time.Minute || left > time.Hour {
		t.Errorf("login %+v, expires in %v", l, left)
	}
}

// TestRegistration: the order is the configured client, the registration of the
// login before, the metadata document, a new registration, an error that says
// what to register.
func TestRegistration(t *testing.T) {
	t.Parallel()
	as := NewDouble(t)
	signIn := func(s Settings, previous *Login) (Login, url.Values, error) {
		r, _ := request(t, as, s)
		r.Previous = previous
		l, err := SignIn(t.Context(), r)
		seen := as.Seen("/as/authorize")
		if len(seen) == 0 {
			return l, nil, err
		}
		return l, seen[len(seen)-1].Query, err
	}
	first, _, err := signIn(Settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, q, err := signIn(Settings{}, &first); err != nil || again.Client.ID != first.Client.ID || q.Get("redirect_uri") != first.Client.RedirectURI || len(as.Seen("/as/register")) != 1 {
		t.Errorf("the registration is not used again: %+v, %v", again.Client, err)
	}
	busy, err := net.Listen("tcp", "127.0.0.1:"+portOf(first.Client.RedirectURI))
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := signIn(Settings{}, &first)
	busy.Close()
	if err != nil || second.Client.ID == first.Client.ID || second.Client.RedirectURI == first.Client.RedirectURI {
		t.Errorf("with its port taken: %+v, %v", second.Client, err)
	}
	elsewhere := first
	elsewhere.Issuer = "https://login.test"
	if l, _, err := signIn(Settings{}, &elsewhere); err != nil || l.Client.ID == first.Client.ID {
		t.Errorf("a registration at another issuer: %+v, %v", l.Client, err)
	}
	expired := first
	expired.Client.SecretExpires = time.Now().Add(-time.Hour)
	if l, _, err := signIn(Settings{}, &expired); err != nil || l.Client.ID == first.Client.ID {
		t.Errorf("a registration that has expired: %+v, %v", l.Client, err)
	}

	document := Settings{ClientMetadataURL: "https://me.test/client.json", RedirectURI: freeRedirect(t)}
	registrations := len(as.Seen("/as/register"))
	as.Issuer = map[string]any{"client_id_metadata_document_supported": true}
	as.Clients = append(as.Clients, DoubleClient{ID: document.ClientMetadataURL, Method: "none", RedirectURI: document.RedirectURI})
	if l, _, err := signIn(document, nil); err != nil || l.Client.ID != document.ClientMetadataURL || l.Client.Dynamic || len(as.Seen("/as/register")) != registrations {
		t.Errorf("with a metadata document: %+v, %v", l.Client, err)
	}
	as.Issuer = map[string]any{"registration_endpoint": nil}
	_, _, err = signIn(document, nil)
	setting, ok := errors.AsType[*SettingError](err)
	if !ok || !strings.Contains(setting.Hint, "redirect URI "+document.RedirectURI) {
		t.Errorf("nothing to register with: %v", err)
	}
}

// TestConfiguredClient: the client proves itself in the way that the issuer takes,
// and its secret is not put into the login.
func TestConfiguredClient(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"none", "client_secret_basic", "client_secret_post"} {
		as := NewDouble(t)
		s := Settings{Grant: GrantCode, ClientID: "me", RedirectURI: freeRedirect(t), Account: "work"}
		if method != "none" {
			s.Secret = "s p"
		}
		as.Issuer = map[string]any{"token_endpoint_auth_methods_supported": []string{method}}
		as.Clients = []DoubleClient{{ID: "me", Secret: url.QueryEscape(s.Secret), Method: method, RedirectURI: s.RedirectURI}}
		if method == "client_secret_post" {
			as.Clients[0].Secret = s.Secret
		}
		r, _ := request(t, as, s)
		l, err := SignIn(t.Context(), r)
		if err != nil || l.Client != (Client{ID: "me", AuthMethod: method, RedirectURI: s.RedirectURI}) || l.Account != "work" || len(as.Seen("/as/register")) != 0 {
			t.Errorf("%s: %+v, %v", method, l, err)
			continue
		}
		fresh, err := Refresh(t.Context(), &s, l)
		if err != nil || fresh.AccessToken != "access-2" || fresh.Client.Secret != "" {
			t.Errorf("%s: refresh: %+v, %v", method, fresh, err)
		}
	}
}

// TestSecretInSpiteOfNone: a registration that gave a secret and the method none
// is tried with the secret when it is refused without.
func TestSecretInSpiteOfNone(t *testing.T) {
	t.Parallel()
	as := NewDouble(t)
	as.Register = func(map[string]any) (int, any) {
		return 201, map[string]any{"client_id": "f", "client_secret": "s", "token_endpoint_auth_method": "none"}
	}
	as.Token = func(_ *http.Request, form url.Values) string { return "" }
	r, _ := request(t, as, Settings{})
	as.Authorize = func(url.Values) string {
		as.Clients[0].Method = "client_secret_post"
		return ""
	}
	l, err := SignIn(t.Context(), r)
	if err != nil || l.Client.AuthMethod != "client_secret_post" || len(as.Seen("/as/token")) != 2 {
		t.Errorf("%+v, %v", l.Client, err)
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	previous := func(as *Double, scopes ...string) *Login {
		return &Login{Issuer: as.URL + "/as", Scopes: scopes}
	}
	for _, tt := range []struct {
		name, challenge string
		settings        string
		supported       any // of the server
		offline         bool
		previous        string
		want            string
	}{
		{name: "by the challenge", challenge: "a b", want: "a b"},
		{name: "by the metadata", want: "read write"},
		{name: "none", supported: []string{}, want: ""},
		{name: "none and offline", supported: []string{}, offline: true, want: ""},
		{name: "offline", challenge: "a", offline: true, want: "a offline_access"},
		{name: "configured", challenge: "a", settings: "x y", offline: true, want: "x y"},
		{name: "union", challenge: "b", previous: "a", want: "a b"},
	} {
		as := NewDouble(t)
		if tt.supported != nil {
			as.Resource = map[string]any{"scopes_supported": tt.supported}
		}
		if tt.offline {
			as.Issuer = map[string]any{"scopes_supported": []string{"offline_access", "a"}}
		}
		r, _ := request(t, as, Settings{Scopes: strings.Fields(tt.settings)})
		if tt.challenge != "" {
			r.Refusal = &Refusal{Status: 401, Challenges: []string{fmt.Sprintf(`Bearer scope=%q`, tt.challenge)}}
		}
		if tt.previous != "" {
			r.Previous = previous(as, tt.previous)
		}
		show := r.Show
		r.Show = func(c Consent) {
			if tt.previous != "" && fmt.Sprint(c.New) != "[b]" {
				t.Errorf("%s: new scopes %q", tt.name, c.New)
			}
			show(c)
		}
		_, err := SignIn(t.Context(), r)
		if q := as.Seen("/as/authorize")[0].Query; err != nil || q.Get("scope") != tt.want || q.Has("scope") != (tt.want != "") {
			t.Errorf("%s: %q, %v", tt.name, q["scope"], err)
		}
	}
}

// TestPins: what the user vouches for stands in the place of the metadata.
func TestPins(t *testing.T) {
	t.Parallel()
	none := ""
	for _, tt := range []struct {
		name     string
		bend     func(*Double, *Settings)
		resource string
	}{
		{"resource", func(as *Double, s *Settings) {
			as.Resource = map[string]any{"resource": "api://other"}
			other := "api://other"
			s.Resource = &other
		}, "api://other"},
		{"no resource", func(as *Double, s *Settings) {
			as.Issuer = map[string]any{"authorization_endpoint": as.URL + "/as/authorize?resource=x&state=y"}
			s.Resource = &none
		}, ""},
		{"metadata_url", func(as *Double, s *Settings) {
			as.Issuer = map[string]any{"issuer": "https://login.test/real"}
			as.Redirect = func(back url.Values) { back.Set("iss", "https://login.test/real") }
			s.Issuer, s.MetadataURL = "https://login.test/real", as.URL+"/.well-known/oauth-authorization-server/as"
		}, "/mcp"},
		{"issuer, and the server names another one", func(as *Double, s *Settings) {
			as.Resource = map[string]any{"authorization_servers": []string{"https://login.test"}}
			s.Issuer = as.URL + "/as"
		}, "/mcp"},
		{"issuer, beside more scopes than are shown", func(as *Double, s *Settings) {
			as.Resource = map[string]any{"scopes_supported": []string{strings.Repeat("x", maxShown)}}
			s.Issuer = as.URL + "/as"
		}, "/mcp"},
		{"authorization_url and token_url", func(as *Double, s *Settings) {
			as.NoIssuer, as.NoResource = true, true
			as.Redirect = func(back url.Values) { back.Del("iss") }
			s.AuthorizationURL, s.TokenURL, s.ClientID, s.RedirectURI = as.URL+"/as/authorize?tenant=1", as.URL+"/as/token", "me", freeRedirect(t)
			as.Clients = []DoubleClient{{ID: "me", Method: "none", RedirectURI: s.RedirectURI}}
			s.AuthorizeParams = map[string]string{"prompt": "consent", "state": "mine", "client_id": "not me"}
			as.Authorize = func(q url.Values) string {
				if q.Get("tenant") != "1" || q.Get("prompt") != "consent" {
					return "parameters are missing"
				}
				return ""
			}
		}, "/mcp"},
	} {
		as := NewDouble(t)
		s := Settings{}
		tt.bend(as, &s)
		r, _ := request(t, as, s)
		want := tt.resource
		if want == "/mcp" {
			want = as.URL + "/mcp"
		}
		if l, err := SignIn(t.Context(), r); err != nil || l.Resource != want {
			t.Errorf("%s: %+v, %v", tt.name, l, err)
		}
		for _, path := range []string{"/as/authorize", "/as/token"} {
			for _, seen := range as.Seen(path) {
				if seen.Query.Get("resource") != want || seen.Query.Has("resource") != (want != "") {
					t.Errorf("%s: resource %q at %s", tt.name, seen.Query["resource"], path)
				}
			}
		}
	}
}

// TestIssuerSlash: an issuer without a path is the same with a slash, in every place where its
// name is compared. No other two names are the same.
func TestIssuerSlash(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		named, own, pin string // behind the origin; "-" for no pin
		want            bool
	}{
		{"/", "", "-", true}, {"", "/", "-", true}, {"/", "/", "-", true},
		{"/", "", "", true}, {"/", "", "/", true}, {"", "/", "", true}, {"", "/", "/", true},
		{"", "//", "-", false}, {"/", "/?", "-", false}, {"", "/as", "-", false}, {"/as", "/as/", "-", false}, {"/as/", "/as", "-", false},
	} {
		as := NewDouble(t)
		as.AtOrigin = !strings.HasPrefix(tt.named, "/as")
		as.Resource = map[string]any{"authorization_servers": []string{as.URL + tt.named}}
		as.Issuer = map[string]any{"issuer": as.URL + tt.own}
		as.Redirect = func(back url.Values) { back.Set("iss", as.URL+tt.own) }
		s := Settings{}
		if tt.pin != "-" {
			s.Issuer = as.URL + tt.pin
		}
		r, _ := request(t, as, s)
		l, err := SignIn(t.Context(), r)
		if (err == nil) != tt.want || tt.want && l.Issuer != as.URL+tt.own {
			t.Errorf("%+v: %+v, %v", tt, l, err)
		}
		if !tt.want {
			continue
		}
		if moved, err := Moved(t.Context(), &s, l, nil); moved || err != nil {
			t.Errorf("%+v: moved %t, %v", tt, moved, err)
		}
		if _, err := Refresh(t.Context(), &s, l); err != nil {
			t.Errorf("%+v: %v", tt, err)
		}
		l.Issuer = as.URL + tt.named // as an older login has it
		r.Previous = &l
		if again, err := SignIn(t.Context(), r); err != nil || again.Client.ID != l.Client.ID || len(as.Seen("/register")) != 1 {
			t.Errorf("%+v: a second time: %+v, %v", tt, again.Client, err)
		}
	}
}

// TestPaste: where the redirect cannot come back, its address is pasted. Wrong
// lines are told, and asked for again.
func TestPaste(t *testing.T) {
	t.Parallel()
	as := NewDouble(t)
	s := Settings{ClientID: "me", RedirectURI: "https://tools.test/back"}
	as.Clients = []DoubleClient{{ID: "me", Method: "none", RedirectURI: s.RedirectURI}}
	r, _ := request(t, as, s)
	ended := make(chan string, 1)
	r.Show = func(c Consent) {
		if !c.Pasted {
			t.Error("the redirect is said to come here")
		}
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := client.Get(c.URL)
		if err != nil {
			t.Error(err)
			return
		}
		res.Body.Close()
		ended <- res.Header.Get("Location")
	}
	var wrongs []string
	r.Paste = func(_ context.Context, wrong error) (string, error) {
		wrongs = append(wrongs, fmt.Sprint(wrong))
		switch len(wrongs) {
		case 1:
			return "code-1", nil
		case 2:
			return "https://tools.test/back?code=code-1&state=x", nil
		}
		return " " + <-ended + "\n", nil
	}
	l, err := SignIn(t.Context(), r)
	if err != nil || l.AccessToken == "" {
		t.Errorf("%+v, %v", l, err)
	}
	if len(wrongs) != 3 || !strings.Contains(wrongs[1], "begins with https://tools.test/back") || !strings.Contains(wrongs[2], "its state belongs to another sign-in") {
		t.Errorf("said %q", wrongs)
	}
	r.Paste = nil
	r.Show = func(Consent) {}
	if _, err := SignIn(t.Context(), r); err == nil || !strings.Contains(err.Error(), "not this machine") {
		t.Errorf("without anybody to paste: %v", err)
	}
}

// TestNobody: the wait for the person is bounded, and ends with the run.
func TestNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &callback{arrived: make(chan redirect)}
		c.listeners = []net.Listener{nil}
		s := &signIn{callback: c}
		began := time.Now()
		if _, err := s.await(t.Context()); err != ErrNobody || time.Since(began) != SignInTime {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
	as := NewDouble(t)
	r, _ := request(t, as, Settings{})
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	r.Show = func(Consent) { cancel(stop) }
	if _, err := SignIn(ctx, r); err != stop {
		t.Errorf("%v", err)
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	as := NewDouble(t)
	r, _ := request(t, as, Settings{})
	l, err := SignIn(t.Context(), r)
	if err == nil {
		err = Revoke(t.Context(), nil, l)
	}
	var revoked []string
	for _, seen := range as.Seen("/as/revoke") {
		revoked = append(revoked, seen.Query.Get("token")+" "+seen.Query.Get("token_type_hint")+" "+seen.Query.Get("client_id"))
	}
	slices.Sort(revoked)
	if want := []string{"access-1 access_token registered-1", "refresh-1 refresh_token registered-1"}; err != nil || !slices.Equal(revoked, want) {
		t.Errorf("%q, %v", revoked, err)
	}
}

// TestOldServer: a server of MCP 2025-03-26 that asks for a token and publishes nothing
// about it is its own authorization server, whatever its path, with a warning.
func TestOldServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		bend func(*Double)
		want string // the login's issuer, behind the origin
		warn string
	}{
		{"metadata", func(*Double) {}, "", "so its origin URL is used as the authorization server"},
		{"metadata with a slash", func(as *Double) {
			as.Issuer = map[string]any{"issuer": as.URL + "/"}
			as.Redirect = func(back url.Values) { back.Set("iss", as.URL+"/") }
		}, "/", "so its origin URL/ is used"},
		{"no metadata", func(as *Double) { as.NoIssuer = true }, "", "URL is used as the authorization server, as in MCP 2025-03-26; that has no metadata either: /authorize, /token and /register are tried there"},
		{"no metadata, no iss", func(as *Double) {
			as.NoIssuer = true
			as.Redirect = func(back url.Values) { back.Del("iss") }
		}, "", "no metadata either"},
		{"no method in the registration", func(as *Double) {
			as.NoIssuer = true
			as.Register = func(map[string]any) (int, any) {
				return 201, map[string]any{"client_id": "me", "client_secret": "s"}
			}
			as.Authorize = func(url.Values) string {
				as.Clients[0].Method = "client_secret_post"
				return ""
			}
		}, "", "no metadata either"},
	} {
		as := NewDouble(t)
		as.Old = true
		tt.bend(as)
		r, _ := request(t, as, Settings{})
		r.Server = as.URL + "/deep/mcp?x=1"
		r.Refusal = &Refusal{Status: 401, Challenges: []string{`Bearer realm="x", scope="read"`}}
		var warnings []string
		r.Warn = func(code, message string) { warnings = append(warnings, code+": "+message) }
		show := r.Show
		r.Show = func(c Consent) {
			if len(warnings) != 1 || c.Issuer != as.URL+tt.want {
				t.Errorf("%s: shown %+v after the warnings %q", tt.name, c, warnings)
			}
			show(c)
		}
		l, err := SignIn(t.Context(), r)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if l.AccessToken != "access-1" || l.Issuer != as.URL+tt.want || l.TokenURL != as.URL+"/token" || l.Resource != r.Server || fmt.Sprint(l.Scopes) != "[read]" {
			t.Errorf("%s: %+v", tt.name, l)
		}
		if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "login_assumed: ") || !strings.Contains(warnings[0], strings.ReplaceAll(tt.warn, "URL", as.URL)) {
			t.Errorf("%s: warnings %q", tt.name, warnings)
		}
		asked := as.Seen("/.well-known/oauth-authorization-server")
		if len(asked) != 1 || asked[0].Header.Get("MCP-Protocol-Version") != "2025-03-26" || len(as.Seen("/.well-known/oauth-protected-resource/deep/mcp")) != 1 || len(as.Seen("/.well-known/oauth-protected-resource")) != 1 {
			t.Errorf("%s: asked %+v", tt.name, asked)
		}
		if fresh, err := Refresh(t.Context(), nil, l); err != nil || fresh.AccessToken != "access-2" {
			t.Errorf("%s: refreshed: %+v, %v", tt.name, fresh, err)
		}
	}

	// A server that wants a key and no login: what to do is said.
	as := NewDouble(t)
	as.Old, as.NoIssuer, as.Register = true, true, func(map[string]any) (int, any) { return 404, "no such page" }
	r, _ := request(t, as, Settings{})
	r.Refusal = &Refusal{Status: 401}
	_, err := SignIn(t.Context(), r)
	setting, ok := errors.AsType[*SettingError](err)
	if !ok || !strings.HasPrefix(setting.Hint, "does it need a login at all?") || !strings.Contains(err.Error(), "does not publish its authorization server; its origin was tried: ") || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v", err)
	}
}

func portOf(uri string) string {
	u, _ := url.Parse(uri)
	return u.Port()
}

// freeRedirect is a redirect URI with a port that nobody listens on.
func freeRedirect(t *testing.T) string { return "http://localhost:" + FreePort(t) + "/callback" }
