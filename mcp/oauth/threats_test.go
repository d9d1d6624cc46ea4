package oauth

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// strict is an agent for a server on this machine that trusts that server's
// own port alone: for it the rest of this machine is a private network.
func strict(as *Double) *agent {
	server, _ := url.Parse(as.URL + "/mcp")
	a := newAgent(server, &Settings{})
	a.client = newClient(func(u *url.URL) bool { return u.Host == server.Host })
	return a
}

// TestThreatPrivateAddresses: none of the places that a server names leads into
// the private network, whatever its form.
func TestThreatPrivateAddresses(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	victim, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer victim.Close()
	go func() {
		for {
			conn, err := victim.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(victim.Addr().String())
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+victim.Addr().String()+"/x", http.StatusFound)
	}))
	defer redirecting.Close()
	places := []string{
		"https://127.0.0.1:" + port + "/x", "https://[::ffff:127.0.0.1]:" + port + "/x", "https://localhost:" + port + "/x",
		"https://[::ffff:7f00:1]:" + port + "/x", "https://[64:ff9b::7f00:1]:" + port + "/x",
		"http://127.0.0.1:" + port + "/x", "https://169.254.169.254/latest/meta-data", "file:///etc/passwd", "javascript:alert(1)", "https://a:b@127.0.0.1:" + port,
	}
	for i, place := range append(places, "redirected") {
		as := NewDouble(t)
		a := strict(as)
		if place == "redirected" {
			place = redirecting.URL
			server, _ := url.Parse(as.URL)
			a.client = newClient(func(u *url.URL) bool { return u.Host == server.Host || strings.HasPrefix(place, "http://"+u.Host) })
		}
		fail := func(what string, err error) {
			if err == nil {
				t.Errorf("%s at place %d, %s, is asked", what, i, place)
			}
		}
		_, _, err := a.discover(t.Context(), &Refusal{Challenges: []string{`Bearer resource_metadata="` + place + `"`}}, "")
		fail("the server's metadata", err)
		as.Resource = map[string]any{"authorization_servers": []string{place}}
		_, _, err = a.discover(t.Context(), nil, "")
		fail("the issuer's metadata", err)
		_, err = a.register(t.Context(), &issuer{Name: "x", RegistrationURL: place}, "http://localhost:1/callback")
		fail("the registration", err)
		_, err = a.requestToken(t.Context(), place, "x", Client{ID: "me", AuthMethod: authNone}, url.Values{})
		fail("the token endpoint", err)
		fail("the revocation endpoint", a.revoke(t.Context(), Login{RevocationURL: place}, url.Values{}))
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// TestThreatMixUp: a code is used only with the issuer that the flow began
// with, and no text of an answer by another is shown.
func TestThreatMixUp(t *testing.T) {
	t.Parallel()
	set := func(name, value string) func(url.Values) { return func(back url.Values) { back.Set(name, value) } }
	for _, tt := range []struct {
		name       string
		advertised bool
		back       func(url.Values)
		want       string // of the error; "" is a login
	}{
		{"advertised and right", true, func(url.Values) {}, ""},
		{"advertised and missing", true, func(back url.Values) { back.Del("iss") }, "does not name its issuer"},
		{"advertised and wrong", true, set("iss", "https://evil.test"), "not from"},
		{"with a slash", true, func(back url.Values) { back.Set("iss", back.Get("iss")+"/") }, "not from"},
		{"in capitals", true, func(back url.Values) { back.Set("iss", strings.ToUpper(back.Get("iss"))) }, "not from"},
		{"percent", true, func(back url.Values) { back.Set("iss", strings.Replace(back.Get("iss"), "/as", "/%61s", 1)) }, "not from"},
		{"empty", false, set("iss", ""), "not from"},
		{"not advertised and right", false, func(url.Values) {}, ""},
		{"not advertised and missing", false, func(back url.Values) { back.Del("iss") }, ""},
		{"not advertised and wrong", false, set("iss", "https://evil.test"), "not from"},
		{"error of another", true, func(back url.Values) {
			back.Set("iss", "https://evil.test")
			back.Set("error", "access_denied")
			back.Set("error_description", "call 0900")
		}, "not from"},
		{"error", true, func(back url.Values) { back.Del("code"); back.Set("error", "access_denied") }, "access_denied"},
		{"neither code nor error", true, func(back url.Values) { back.Del("code") }, "neither a code nor an error"},
	} {
		as := NewDouble(t)
		as.Redirect = tt.back
		as.Issuer = map[string]any{"authorization_response_iss_parameter_supported": tt.advertised}
		r, page := request(t, as, Settings{})
		_, err := SignIn(t.Context(), r)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || strings.Contains(fmt.Sprint(err), "0900") {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil && (len(as.Seen("/as/token")) > 0 || !strings.Contains(page(), "The sign-in failed")) {
			t.Errorf("%s: the code was used, or the page says that it worked", tt.name)
		}
	}
	for _, wrong := range []map[string]any{{"issuer": "https://evil.test"}, {"issuer": nil}, {"token_endpoint": nil}, {"authorization_endpoint": nil}} {
		as := NewDouble(t)
		as.Issuer = wrong
		r, _ := request(t, as, Settings{})
		if _, err := SignIn(t.Context(), r); err == nil || len(as.Seen("/as/register"))+len(as.Seen("/as/authorize")) > 0 {
			t.Errorf("metadata with %v: %v", wrong, err)
		}
	}
}

// TestThreatIssuerTheft: neither what was registered nor a secret or a refresh
// token of one issuer is sent to another, whatever that claims to be.
func TestThreatIssuerTheft(t *testing.T) {
	t.Parallel()
	as, thief := NewDouble(t), NewDouble(t)
	as.Register = func(map[string]any) (int, any) {
		return 201, map[string]any{"client_id": "real", "client_secret": "real-secret", "token_endpoint_auth_method": "client_secret_post"}
	}
	r, _ := request(t, as, Settings{})
	l, err := SignIn(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	as.Resource = map[string]any{"authorization_servers": []string{thief.URL + "/as"}}
	if moved, err := Moved(t.Context(), nil, l, nil); err != nil || !moved {
		t.Errorf("moved: %t, %v", moved, err)
	}
	r.Previous = &l
	if stolen, err := SignIn(t.Context(), r); err != nil || stolen.Client.ID == "real" || stolen.Issuer != thief.URL+"/as" {
		t.Errorf("a registration for the other issuer: %+v, %v", stolen, err)
	}
	if _, err := Refresh(t.Context(), nil, l); err != nil {
		t.Errorf("refresh at the own issuer: %v", err)
	}
	thief.Issuer = map[string]any{"issuer": as.URL + "/as"} // it claims to be the other
	if _, err := SignIn(t.Context(), r); err == nil || !strings.Contains(err.Error(), "belongs to issuer") {
		t.Errorf("an issuer that claims to be another: %v", err)
	}
	configured := Settings{Grant: GrantCode, ClientID: "me", Secret: "mine", Issuer: as.URL + "/as", RedirectURI: freeRedirect(t)}
	as.Clients = append(as.Clients, DoubleClient{"me", "mine", authBasic, configured.RedirectURI})
	r2, _ := request(t, as, configured)
	if l, err := SignIn(t.Context(), r2); err != nil || l.Issuer != as.URL+"/as" {
		t.Errorf("a configured issuer, which the server does not name: %+v, %v", l, err)
	}
	public := Settings{ClientID: "me", RedirectURI: freeRedirect(t)}
	thief.Issuer = nil
	thief.Clients = append(thief.Clients, DoubleClient{ID: "me", Method: "none", RedirectURI: public.RedirectURI})
	r3, _ := request(t, as, public)
	r3.Previous = &Login{Issuer: as.URL + "/as", Client: Client{ID: "me"}}
	if _, err := SignIn(t.Context(), r3); err == nil || !strings.Contains(err.Error(), "where the last sign-in was") {
		t.Errorf("a configured client at another issuer: %v", err)
	}
	public.Issuer = thief.URL + "/as"
	r3, _ = request(t, as, public)
	r3.Previous = &Login{Issuer: as.URL + "/as", Client: Client{ID: "me"}}
	if _, err := SignIn(t.Context(), r3); err != nil {
		t.Errorf("a configured client at an issuer that the user names: %v", err)
	}
	other := l
	other.Client = Client{ID: "old", AuthMethod: authBasic}
	if _, err := Refresh(t.Context(), &configured, other); err != ErrOtherClient {
		t.Errorf("a login of another client is refreshed with the secret of this one: %v", err)
	}
	for _, path := range []string{"/as/register", "/as/token", "/as/authorize", "/as/revoke"} {
		for _, seen := range thief.Seen(path) {
			if all := fmt.Sprint(seen); strings.Contains(all, "real") || strings.Contains(all, "mine") || strings.Contains(all, l.RefreshToken+" ") {
				t.Errorf("the other issuer got %s", all)
			}
		}
	}
	foreign, _ := url.Parse("https://tools.test/mcp")
	a := newAgent(foreign, &Settings{ClientID: "me", Secret: "mine"})
	if _, err := a.chooseIssuer(&resource{issuers: []string{"https://login.test"}}, ""); err == nil || !strings.Contains(err.Error(), "no credentials are sent there") {
		t.Errorf("a secret for an issuer on another host: %v", err)
	}
}

// TestThreatCommands: what goes to the browser is one https address, in which a
// shell reads nothing.
func TestThreatCommands(t *testing.T) {
	t.Parallel()
	for _, place := range []string{
		"javascript:alert(1)", "file:///etc/passwd", "a:$(id)", "--flag", "", "http://tools.test/x", "https://a:b@login.test/x",
		"https://$(id)/x", "https://login.test`id`/x", "https://login.test/\nx", "https://login.test/x\x00", "https://'x'/", "ftp://login.test/x",
	} {
		s := &signIn{agent: newAgent(&url.URL{Scheme: "https", Host: "tools.test"}, &Settings{}), issuer: &issuer{Name: "x", AuthorizationURL: place}, resource: &resource{}}
		s.Settings = &Settings{}
		if address, err := s.authorizationURL(); err == nil {
			t.Errorf("%q is opened as %q", place, address)
		}
	}
	for _, place := range []string{"https://login.test/$(id)", "https://login.test/x?a=$(id)&b=`id`", "https://login.test/a b;id|id", "https://login.test/&calc.exe", "https://login.test/%0aid"} {
		s := &signIn{issuer: &issuer{Name: "x", AuthorizationURL: place}, resource: &resource{id: "r"}, scopes: []string{"a;id", "$(id)", "\n`id`", "\x1b[31m"}}
		s.Settings, s.client.ID = &Settings{AuthorizeParams: map[string]string{"`id`": "$(id)"}}, "$(id) '\"`id`"
		address, err := s.authorizationURL()
		if err != nil {
			t.Errorf("%q: %v", place, err)
			continue
		}
		_, query, _ := strings.Cut(address, "?")
		if strings.ContainsAny(query, "$()`'\"|;<> \n\x00\x1b") || strings.ContainsAny(address, "`'\"|<> \n\x00\x1b\\") {
			t.Errorf("%q: %q", place, address)
		}
		if out, err := exec.Command("/bin/sh", "-c", `printf %s "$1" "$#"`, "sh", address).Output(); err != nil || string(out) != address+"1" {
			t.Errorf("%q: %q, %v", place, out, err)
		}
	}
}

// TestThreatListener: what is not the redirect neither ends nor changes the
// sign-in, however much of it comes.
func TestThreatListener(t *testing.T) {
	t.Parallel()
	as := NewDouble(t)
	r, _ := request(t, as, Settings{})
	show := r.Show
	r.Show = func(c Consent) {
		host := strings.TrimSuffix(strings.TrimPrefix(c.RedirectURI, "http://"), "/callback")
		_, port, _ := net.SplitHostPort(host)
		for _, address := range []string{"127.0.0.1:" + port, "[::1]:" + port} {
			if l, err := net.Listen("tcp", address); err == nil && !strings.HasPrefix(address, "[") {
				t.Errorf("another process can listen on %s", address)
				l.Close()
			}
		}
		addresses, _ := net.InterfaceAddrs()
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
				if conn, err := net.DialTimeout("tcp", net.JoinHostPort(n.IP.String(), port), 5*time.Second); err == nil {
					t.Errorf("it listens on %s", n.IP)
					conn.Close()
				}
			}
		}
		silent, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { silent.Close() })
		u, _ := url.Parse(c.URL)
		state := u.Query().Get("state")
		for _, wrong := range []string{
			"GET /callback?code=x&state=wrong HTTP/1.1\r\nHost: " + host,
			"GET /callback?code=x HTTP/1.1\r\nHost: " + host,
			"GET /callback?code=x&code=y&state=" + state + " HTTP/1.1\r\nHost: " + host,
			"GET /callback?code=x&state=wrong&state=" + state + " HTTP/1.1\r\nHost: " + host,
			"GET /callback?code=x&iss=a&iss=b&state=" + state + " HTTP/1.1\r\nHost: " + host,
			"GET /callback?%zz&state=" + state + " HTTP/1.1\r\nHost: " + host,
			"GET /other?code=x&state=" + state + " HTTP/1.1\r\nHost: " + host,
			"GET /callback/?code=x&state=" + state + " HTTP/1.1\r\nHost: " + host,
			"POST /callback?code=x&state=" + state + " HTTP/1.1\r\nHost: " + host,
			"GET /callback?code=x&state=" + state + " HTTP/1.1\r\nHost: evil.test:" + port,
			"GET /callback?code=x&state=" + state + " HTTP/1.1\r\nHost: localhost:1",
			"GET /callback?code=x&state=" + state + " HTTP/1.1\r\nHost: " + host + "\r\nOrigin: https://evil.test",
			"GET /callback?error=<script>&error_description=%1b]0;x&state=wrong HTTP/1.1\r\nHost: " + host,
			"\x16\x03\x01 TLS",
		} {
			reply := raw(port, wrong+"\r\n\r\n")
			if !strings.HasPrefix(reply, "HTTP/1.1 400 ") || strings.Contains(reply, "script") || strings.Contains(reply, "\x1b") {
				t.Errorf("%q: %q", wrong, reply)
			}
			for _, header := range []string{"Cache-Control: no-store", "X-Content-Type-Options: nosniff", "default-src 'none'"} {
				if !strings.Contains(reply, header) {
					t.Errorf("the page has no %s: %q", header, reply)
				}
			}
		}
		raw(port, "GET /"+strings.Repeat("x", 1<<20)+" HTTP/1.1\r\n\r\n")
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				for j := range 50 {
					raw(port, fmt.Sprintf("GET /callback?code=x&state=%d-%d HTTP/1.1\r\nHost: %s\r\n\r\n", i, j, host))
				}
			})
		}
		group.Wait()
		show(c)
	}
	if l, err := SignIn(t.Context(), r); err != nil || l.AccessToken != "access-1" {
		t.Errorf("after a thousand wrong ones: %+v, %v", l, err)
	}
	if codes := as.Seen("/as/token"); len(codes) != 1 || codes[0].Query.Get("code") != "code-1" {
		t.Errorf("traded %v", codes)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	r3, _ := request(t, as, Settings{ClientID: "me", RedirectURI: "http://localhost:" + portOf("http://"+taken.Addr().String()) + "/callback"})
	if _, err := SignIn(t.Context(), r3); err == nil || !strings.Contains(err.Error(), "cannot be received") {
		t.Errorf("a port that is taken: %v", err)
	}
	for _, uri := range []string{"http://tools.test/callback", "cursor://x/y", "://", "http://a:b@localhost:1/x"} {
		if _, err := listen(uri, "state"); err == nil || !strings.Contains(err.Error(), "neither https nor http on this machine") {
			t.Errorf("redirect_uri %q: %v", uri, err)
		}
	}
}

// TestThreatSecondRedirect: one redirect is taken, however many come with the
// right state.
func TestThreatSecondRedirect(t *testing.T) {
	t.Parallel()
	as := NewDouble(t)
	r, _ := request(t, as, Settings{})
	var pages [8]string
	var group sync.WaitGroup
	r.Show = func(c Consent) {
		for i := range pages {
			group.Go(func() { pages[i], _ = Browser(c.URL) })
		}
	}
	l, err := SignIn(t.Context(), r)
	group.Wait()
	if n := strings.Count(strings.Join(pages[:], ""), "The sign-in worked"); err != nil || l.AccessToken != "access-1" || n != 1 || len(as.Seen("/as/token")) != 1 {
		t.Errorf("%+v, %v, %d pages, %d requests for a token", l, err, n, len(as.Seen("/as/token")))
	}
}

// raw sends bytes to the listener, and reads until it closes.
func raw(port, text string) string {
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	io.WriteString(conn, text)
	reply, _ := io.ReadAll(conn)
	return string(reply)
}

// TestThreatStolenCode: who sees the address and the redirect cannot use the
// code: the verifier is in neither, it is another one each time, and it is not
// what was sent.
func TestThreatStolenCode(t *testing.T) {
	t.Parallel()
	as := NewDouble(t)
	seen := map[string]bool{}
	for range 2 {
		r, _ := request(t, as, Settings{})
		var shown Consent
		show := r.Show
		r.Show = func(c Consent) {
			shown = c
			show(c)
		}
		if _, err := SignIn(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		traded := as.Seen("/as/token")
		verifier := traded[len(traded)-1].Query.Get("code_verifier")
		if seen[verifier] || len(verifier) != 52 || strings.Contains(fmt.Sprint(shown), verifier) {
			t.Errorf("verifier %q, shown %+v", verifier, shown)
		}
		seen[verifier] = true
	}
}

// TestThreatDowngrade: without PKCE, with another kind of token, and over plain
// http there is no login.
func TestThreatDowngrade(t *testing.T) {
	t.Parallel()
	for name, bend := range map[string]func(*Double){
		"no challenge methods": func(as *Double) { as.Issuer = map[string]any{"code_challenge_methods_supported": nil} },
		"plain only": func(as *Double) {
			as.Issuer = map[string]any{"code_challenge_methods_supported": []string{"plain"}}
		},
		"another token type": func(as *Double) {
			as.Reply = func(_ url.Values, reply map[string]any) { reply["token_type"] = "DPoP" }
		},
		"no token type": func(as *Double) {
			as.Reply = func(_ url.Values, reply map[string]any) { delete(reply, "token_type") }
		},
		"a token with a blank": func(as *Double) {
			as.Reply = func(_ url.Values, reply map[string]any) { reply["access_token"] = "a b" }
		},
		"page over plain http": func(as *Double) {
			as.Issuer = map[string]any{"authorization_endpoint": "http://login.test/x"}
		},
		"token over plain http": func(as *Double) { as.Issuer = map[string]any{"token_endpoint": "http://login.test/x"} },
	} {
		as := NewDouble(t)
		bend(as)
		r, _ := request(t, as, Settings{})
		if l, err := SignIn(t.Context(), r); err == nil || strings.HasPrefix(name, "token over") && !strings.Contains(err.Error(), "only https") {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}

// TestThreatScopeLoop: a grant ends when the server asks for what was asked for,
// or too often; what was asked for before stays.
func TestThreatScopeLoop(t *testing.T) {
	t.Parallel()
	as := NewDouble(t)
	as.Clients = []DoubleClient{{ID: "me", Secret: "s", Method: "client_secret_basic"}}
	as.Issuer = map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_basic"}}
	server, _ := url.Parse(as.URL + "/mcp")
	ask := func(g *Grant, scope string) error {
		_, err := g.Token(t.Context(), &Refusal{Status: 403, Challenges: []string{fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, scope)}})
		return err
	}
	grant := func() *Grant {
		g := New(server, &Settings{ClientID: "me", Secret: "s"}, func(string) {})
		if _, err := g.Token(t.Context(), &Refusal{Status: 401, Challenges: []string{`Bearer scope="a"`}}); err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := grant()
	if err := ask(g, "b"); err != nil {
		t.Error(err)
	}
	if err := ask(g, "a"); err == nil {
		t.Error("a scope that was asked for is asked for again")
	}
	if tokens := as.Seen("/as/token"); tokens[len(tokens)-1].Query.Get("scope") != "a b" {
		t.Errorf("asked for %v", tokens[len(tokens)-1].Query)
	}
	g = grant()
	n := 0
	for ask(g, fmt.Sprint("x", n)) == nil {
		n++
	}
	if n != maxWidened {
		t.Errorf("more scopes were asked for %d times", n)
	}
}

// TestThreatHugeAndLooping: no document is read without end.
func TestThreatHugeAndLooping(t *testing.T) {
	t.Parallel()
	as := NewDouble(t)
	as.Issuer = map[string]any{"x": strings.Repeat("x", maxDocument)}
	r, _ := request(t, as, Settings{})
	if _, err := SignIn(t.Context(), r); err == nil || !strings.Contains(err.Error(), "longer than 1 MiB") {
		t.Errorf("a huge document: %.200v", err)
	}
	long := strings.Repeat("x", 9<<10)
	for where, bend := range map[string]func(*Double){
		"issuer": func(as *Double) {
			as.Resource = map[string]any{"authorization_servers": []string{"https://" + long}}
		},
		"scopes":     func(as *Double) { as.Resource = map[string]any{"scopes_supported": []string{long}} },
		"other name": func(as *Double) { as.Issuer = map[string]any{"issuer": long} },
		"endpoint":   func(as *Double) { as.Issuer = map[string]any{"authorization_endpoint": as.URL + "/" + long} },
		"client_id": func(as *Double) {
			as.Register = func(map[string]any) (int, any) { return 201, map[string]any{"client_id": long} }
		},
		"refusal": func(as *Double) { as.Register = func(map[string]any) (int, any) { return 403, long } },
		"token": func(as *Double) {
			as.Reply = func(_ url.Values, reply map[string]any) { reply["access_token"] = strings.Repeat(long, 8) }
		},
		"error": func(as *Double) {
			as.Redirect = func(back url.Values) { back.Set("error", "x"); back.Set("error_description", long[:7<<10]) }
		},
	} {
		as := NewDouble(t)
		bend(as)
		r, _ := request(t, as, Settings{})
		if _, err := SignIn(t.Context(), r); err == nil || len(err.Error()) > 1<<10 {
			t.Errorf("a long %s: %.200v", where, err)
		}
	}
	as = NewDouble(t)
	var requests atomic.Int32
	loop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.Redirect(w, r, "/again", http.StatusFound)
	}))
	defer loop.Close()
	as.Resource = map[string]any{"authorization_servers": []string{loop.URL}}
	r, _ = request(t, as, Settings{})
	if _, err := SignIn(t.Context(), r); err == nil || requests.Load() > 2 {
		t.Errorf("redirects: %v, %d requests", err, requests.Load())
	}
}

// TestThreatQuoting: an answer of the token endpoint is never quoted: it may
// hold a token in a form that nobody knows.
func TestThreatQuoting(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{`{"access_token":{"v":"tok-secret"},"token_type":"bearer"}`, `{"access_token":"tok-secret`, `tok-secret`, `{"token":"tok-secret"}`, `{"access_token":"tok-secret\u0000","token_type":"bearer"}`, `["tok-secret"]`} {
		for _, status := range []int{200, 400, 500} {
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(status)
				io.WriteString(w, reply)
			}))
			server, _ := url.Parse(web.URL)
			_, err := newAgent(server, &Settings{}).requestToken(t.Context(), web.URL, "x", Client{ID: "me", AuthMethod: authNone}, url.Values{})
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%d %s: %v", status, reply, err)
			}
			web.Close()
		}
	}
}

// TestThreatAbsence: only a server that plainly has no metadata is taken for its own
// authorization server. What is wrong, or was not to be had, ends the sign-in before
// anything is registered or opened.
func TestThreatAbsence(t *testing.T) {
	t.Parallel()
	const resource, issuer = "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"
	answer := func(status int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Location", "/login")
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	cut := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	for _, tt := range []struct {
		name      string
		challenge string
		path      string
		answer    func(http.ResponseWriter)
		absent    bool
	}{
		{"404", "Bearer", resource, answer(404, "no"), true},
		{"401 of a gateway", "Bearer", resource, answer(401, `{"error":"unauthorized"}`), true},
		{"410 without a body", "Bearer", issuer, answer(410, ""), true},
		{"a page for every address", "Bearer", resource, answer(200, "<!doctype html><title>App</title>"), true},
		{"a page in place of the issuer's", "Bearer", issuer, answer(200, "<html>"), true},
		{"nothing", "Bearer", resource, answer(200, ""), true},
		{"an array", "Bearer", resource, answer(200, "[]"), true},
		{"no challenge", "", resource, answer(404, "no"), true},
		{"500", "Bearer", resource, answer(500, "no"), false},
		{"503 of the issuer's", "Bearer", issuer, answer(503, ""), false},
		{"503 at the root alone", "Bearer", resource + "$", answer(503, ""), false},
		{"429", "Bearer", resource, answer(429, "later"), false},
		{"408", "Bearer", resource, answer(408, ""), false},
		{"a redirection", "Bearer", resource, answer(302, "<html>"), false},
		{"a cut connection", "Bearer", resource, cut, false},
		{"a cut connection at the issuer's", "Bearer", issuer, cut, false},
		{"the metadata of another", "Bearer", resource, answer(200, `{"resource":"https://evil.test","authorization_servers":["https://evil.test"]}`), false},
		{"empty metadata", "Bearer", resource, answer(200, `{}`), false},
		{"broken metadata", "Bearer", resource, answer(200, ` {"resource":`), false},
		{"another issuer", "Bearer", issuer, answer(200, `{"issuer":"https://evil.test","token_endpoint":"https://evil.test/t"}`), false},
		{"an error as JSON", "Bearer", issuer, answer(200, `{"error":"not found"}`), false},
		{"metadata that is named and missing", `Bearer resource_metadata="URL/.well-known/x"`, resource, answer(404, ""), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			as := NewDouble(t)
			as.Old, as.NoIssuer = true, true
			as.Answer = func(w http.ResponseWriter, path string) bool {
				if exact, is := strings.CutSuffix(tt.path, "$"); is && path != exact || !strings.HasPrefix(path, strings.TrimSuffix(tt.path, "$")) {
					return false
				}
				tt.answer(w)
				return true
			}
			r, _ := request(t, as, Settings{})
			r.Refusal = &Refusal{Status: 401}
			if tt.challenge != "" {
				r.Refusal.Challenges = []string{strings.ReplaceAll(tt.challenge, "URL", as.URL)}
			}
			_, err := SignIn(t.Context(), r)
			if (err == nil) != tt.absent || !tt.absent && len(as.Seen("/register"))+len(as.Seen("/authorize")) > 0 {
				t.Errorf("%v, %d registrations", err, len(as.Seen("/register")))
			}
		})
	}
	refused := &Refusal{Status: 401}
	for name, bend := range map[string]func(*Double, *Request){
		"a server that asked for nothing": func(_ *Double, r *Request) { r.Refusal = nil },
		"a server that forbids":           func(_ *Double, r *Request) { r.Refusal = &Refusal{Status: 403} },
		"a network that is down":          func(as *Double, _ *Request) { as.Close() },
		"no PKCE":                         func(as *Double, _ *Request) { as.Issuer = map[string]any{"code_challenge_methods_supported": nil} },
		"two slashes":                     func(as *Double, _ *Request) { as.Issuer = map[string]any{"issuer": as.URL + "//"} },
		"the server's path":               func(as *Double, _ *Request) { as.Issuer = map[string]any{"issuer": as.URL + "/mcp"} },
		"a redirect of another": func(as *Double, _ *Request) {
			as.NoIssuer, as.Redirect = true, func(back url.Values) { back.Set("iss", "https://evil.test") }
		},
		"a redirect with a slash": func(as *Double, _ *Request) {
			as.NoIssuer, as.Redirect = true, func(back url.Values) { back.Set("iss", back.Get("iss")+"/") }
		},
	} {
		as := NewDouble(t)
		as.Old = true
		r, _ := request(t, as, Settings{})
		r.Refusal = refused
		bend(as, &r)
		if _, err := SignIn(t.Context(), r); err == nil || len(as.Seen("/token")) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	as := NewDouble(t)
	as.Old = true
	server, _ := url.Parse(as.URL + "/mcp")
	if _, err := New(server, &Settings{ClientID: "me", Secret: "s"}, func(string) {}).Token(t.Context(), refused); err == nil || len(as.Seen("/token")) > 0 {
		t.Errorf("a configured secret goes to a guessed place: %v", err)
	}
}
