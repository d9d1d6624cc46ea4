package oauth_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"toolpipe/mcp/oauth"
	"toolpipe/run/config"
	"toolpipe/run/invocation"
)

// hosted is the double of a hosted server. Without the entry of its row a
// sign-in ends with an error that holds plain; "" works without one.
type hosted struct {
	bend  func(as *oauth.Double)
	plain string
	login func(t *testing.T, as *oauth.Double, l oauth.Login, s *oauth.Settings) // what the login must be
}

// byHand is an issuer at which nobody registers without a person.
func byHand(as *oauth.Double, method string) {
	as.Issuer = map[string]any{"registration_endpoint": nil, "token_endpoint_auth_methods_supported": []string{method}, "authorization_response_iss_parameter_supported": nil}
	as.Redirect = func(back url.Values) { back.Del("iss") }
}

// misnamed is an issuer whose metadata is that of another name.
func misnamed(as *oauth.Double) {
	as.Issuer = map[string]any{"issuer": "https://ISSUER"}
	as.Redirect = func(back url.Values) { back.Set("iss", "https://ISSUER") }
}

var hostedServers = map[string]hosted{
	"GitHub": {bend: func(as *oauth.Double) {
		byHand(as, "client_secret_post")
		as.Reply = func(_ url.Values, reply map[string]any) { delete(reply, "refresh_token"); delete(reply, "expires_in") }
	}, plain: "does not let programs register themselves", login: func(t *testing.T, _ *oauth.Double, l oauth.Login, _ *oauth.Settings) {
		if l.RefreshToken != "" || !l.Expires.IsZero() {
			t.Errorf("%+v", l)
		}
	}},
	"Slack": {bend: func(as *oauth.Double) {
		byHand(as, "client_secret_post")
		as.Resource = map[string]any{"scopes_supported": nil}
		as.Authorize = func(q url.Values) string {
			if q.Get("scope") == "" {
				return "no scopes"
			}
			return ""
		}
	}, plain: "does not let programs register themselves"},
	"Google": {bend: func(as *oauth.Double) {
		byHand(as, "client_secret_post")
		as.AtOrigin = true
		as.Resource = map[string]any{"authorization_servers": []string{as.URL + "/"}, "scopes_supported": []string{"https://mail.google.com/"}}
		offline := false
		as.Authorize = func(q url.Values) string {
			offline = q.Get("access_type") == "offline" && q.Get("prompt") == "consent"
			return ""
		}
		as.Reply = func(_ url.Values, reply map[string]any) {
			if !offline {
				delete(reply, "refresh_token")
			}
		}
	}, plain: "does not let programs register themselves", login: func(t *testing.T, _ *oauth.Double, l oauth.Login, _ *oauth.Settings) {
		if l.RefreshToken == "" {
			t.Error("no refresh token")
		}
	}},
	"JumpCloud": {bend: func(as *oauth.Double) {
		byHand(as, "none")
		as.AtOrigin, as.Issuer["issuer"] = true, as.URL+"/"
	}, plain: "does not let programs register themselves", login: refreshes},
	"Expo": {bend: func(as *oauth.Double) {
		as.AtOrigin, as.Issuer = true, map[string]any{"issuer": as.URL + "/"}
		as.Redirect = func(back url.Values) { back.Set("iss", as.URL+"/") }
		as.Answer = func(w http.ResponseWriter, path string) bool {
			switch path {
			case "/.well-known/oauth-protected-resource/mcp":
				http.NotFound(w, nil)
			case "/.well-known/oauth-protected-resource":
				fmt.Fprintf(w, `{"resource":"%[1]s/mcp","authorization_servers":[%[1]q]}`, as.URL)
			default:
				return false
			}
			return true
		}
	}, login: refreshes},
	"Microsoft Entra": {bend: func(as *oauth.Double) {
		byHand(as, "none")
		as.Issuer["code_challenge_methods_supported"] = nil
		as.Authorize = func(q url.Values) string {
			if q.Has("resource") || q.Get("scope") != "api://APP/.default" {
				return "AADSTS9010010: the resource parameter does not match the scopes"
			}
			return ""
		}
	}, plain: "does not say that it checks PKCE"},
	"Asana": {bend: func(as *oauth.Double) { byHand(as, "client_secret_basic") }, plain: "does not let programs register themselves"},
	"Figma": {bend: func(as *oauth.Double) {
		as.Issuer = map[string]any{"token_endpoint_auth_methods_supported": []string{"none", "client_secret_post"}}
		as.Register = func(request map[string]any) (int, any) {
			if request["client_name"] != "NAME" {
				return http.StatusForbidden, "Forbidden"
			}
			return http.StatusOK, map[string]any{"client_id": "figma", "client_secret": "s", "token_endpoint_auth_method": "none"}
		}
		as.Authorize = func(url.Values) string {
			as.Clients[0].Method = "client_secret_post"
			return ""
		}
	}, plain: "HTTP status 403: Forbidden", login: refreshes},
	"Atlassian": {bend: misnamed, plain: `belongs to issuer "https://ISSUER"`},
	"Notion": {bend: func(as *oauth.Double) {
		used := map[string]bool{}
		as.Token = func(_ *http.Request, form url.Values) string {
			token := form.Get("refresh_token")
			if token != "" && used[token] {
				return "invalid_grant"
			}
			used[token] = true
			return ""
		}
	}, login: func(t *testing.T, as *oauth.Double, l oauth.Login, s *oauth.Settings) {
		refreshes(t, as, l, s)
		fresh, err := oauth.Refresh(t.Context(), s, l)
		if refused, ok := errors.AsType[*oauth.Error](err); !ok || refused.Code != "invalid_grant" || fresh.RefreshToken != l.RefreshToken {
			t.Errorf("a refresh token that was used: %v", err)
		}
	}},
	"Sentry": {bend: func(as *oauth.Double) {
		as.Issuer = map[string]any{"client_id_metadata_document_supported": true}
	}, login: func(t *testing.T, as *oauth.Double, l oauth.Login, _ *oauth.Settings) {
		if l.Client.ID != "https://DOCUMENT/client.json" {
			t.Errorf("%+v", l.Client)
		}
	}},
	"Cloudflare": {bend: func(as *oauth.Double) {
		as.Resource = map[string]any{"scopes_supported": []string{"account:read"}}
		as.Authorize = func(q url.Values) string {
			if q.Get("scope") != "account:read" || strings.Contains(q.Get("redirect_uri"), "127.0.0.1") {
				return "an unknown scope, or blocked"
			}
			return ""
		}
	}},
	"Linear": {bend: func(as *oauth.Double) {
		as.Resource = map[string]any{"scopes_supported": nil}
		as.Authorize = func(q url.Values) string {
			if q.Has("scope") {
				return "scopes that nobody published"
			}
			return ""
		}
	}},
	"Stripe": {bend: func(as *oauth.Double) {
		as.Resource = map[string]any{"scopes_supported": []string{"mcp"}}
	}, login: func(t *testing.T, _ *oauth.Double, l oauth.Login, _ *oauth.Settings) {
		if !slices.Equal(l.Scopes, []string{"mcp"}) {
			t.Errorf("scopes %q", l.Scopes)
		}
	}},
	"Meta": {bend: misnamed, plain: `belongs to issuer "https://ISSUER"`},
}

// refreshes holds that the login can be refreshed.
func refreshes(t *testing.T, _ *oauth.Double, l oauth.Login, s *oauth.Settings) {
	fresh, err := oauth.Refresh(t.Context(), s, l)
	if err != nil || fresh.AccessToken == l.AccessToken || fresh.RefreshToken == l.RefreshToken {
		t.Errorf("refreshed: %+v, %v", fresh, err)
	}
}

// TestHostedServers signs in to a double of each server of the table, with the
// entry of its row and without.
func TestHostedServers(t *testing.T) {
	text, err := os.ReadFile("../../testdata/hosted.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| ([^|]+) \\| [^|]+ \\| `(.+)` \\|$").FindAllStringSubmatch(string(text), -1)
	if len(rows) != len(hostedServers) || len(rows) != 15 {
		t.Errorf("%d rows, %d doubles", len(rows), len(hostedServers))
	}
	for _, row := range rows {
		name, entry := row[1], row[2]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			double, known := hostedServers[name]
			if !known {
				t.Fatal("there is no double")
			}
			if _, err := signInHosted(t, double, "{}"); (err == nil) != (double.plain == "") || err != nil && !strings.Contains(err.Error(), double.plain) {
				t.Errorf("without an entry: %v, want %q", err, double.plain)
			}
			if check, err := signInHosted(t, double, entry); err != nil {
				t.Errorf("with %s: %v", entry, err)
			} else {
				check()
			}
		})
	}
}

// signInHosted signs in with an entry. The double has the client of the entry
// registered, and stands for the hosts that the entry names.
func signInHosted(t *testing.T, double hosted, entry string) (check func(), err error) {
	as := oauth.NewDouble(t)
	double.bend(as)
	entry = strings.NewReplacer("https://github.com/login/oauth", as.URL+"/as", "https://accounts.google.com", as.Name(), "https://METADATA", as.URL+"/.well-known/oauth-authorization-server/as",
		"https://login.microsoftonline.com/TENANT/oauth2/v2.0", as.URL+"/as", "localhost:8910", "localhost:"+oauth.FreePort(t)).Replace(entry)
	if as.Issuer["issuer"] == nil {
		entry = strings.ReplaceAll(entry, "https://ISSUER", as.Name())
	}
	s := readEntry(t, fmt.Sprintf(`{"url":%q,"oauth":%s}`, as.URL+"/mcp", entry))
	for _, id := range []string{s.ClientID, s.ClientMetadataURL} {
		c := oauth.DoubleClient{ID: id, Secret: s.Secret, Method: "none", RedirectURI: s.RedirectURI}
		if methods, _ := as.Issuer["token_endpoint_auth_methods_supported"].([]string); len(methods) == 1 {
			c.Method = methods[0]
		}
		if id != "" {
			as.Clients = append(as.Clients, c)
		}
	}
	r := oauth.Request{Server: as.URL + "/mcp", Settings: s, Secret: func(string) {}, Show: func(c oauth.Consent) { go oauth.Browser(c.URL) }}
	l, err := oauth.SignIn(t.Context(), r)
	return func() {
		if encoded, err := json.Marshal(l); err != nil || l.AccessToken == "" || strings.Contains(string(encoded), "s-e-c") {
			t.Errorf("login %s, %v", encoded, err)
		}
		if double.login != nil {
			double.login(t, as, l, s)
		}
	}, err
}

// readEntry reads the entry of a server as a run does.
func readEntry(t *testing.T, entry string) *oauth.Settings {
	file := filepath.Join(t.TempDir(), "c.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"s":`+entry+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &config.Config{Setup: config.Setup{ConfigFile: file}, Environ: []string{"SECRET=s-e-c"}}
	warn := func(code, server, message string) { t.Errorf("%s: %s", code, message) }
	found, err := invocation.LoadSettings(c, warn)
	if err != nil {
		t.Fatal(err)
	}
	used, _, err := found.Servers(t.Context(), c, nil, warn)
	if err != nil || len(used) != 1 || used[0].Unusable != nil {
		t.Fatalf("%s: %v, %+v", entry, err, used)
	}
	return used[0].OAuth
}
