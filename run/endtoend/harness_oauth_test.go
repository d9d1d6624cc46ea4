//go:build unix

package endtoend

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// A fakeIssuer is the authorization server of a fakeServer, at the same address:
// metadata, registration, a page to sign in that asks nothing, tokens and
// revocation. A refresh token is good once; one that comes twice ends the login.
type fakeIssuer struct {
	life     int    // of tokens, in seconds; 0: not told
	scope    string // that the first 401 asks for
	writes   string // the scope that a call of the tool write needs
	open     bool   // only calls need a token
	withdraw string // the method whose first request finds its token withdrawn
	refuse   string // the answers to the first refreshes: a status and perhaps a code, separated by commas
	final    bool   // no refresh token is good
	alone    bool   // gives no refresh token
	down     bool   // the token endpoint fails at a refresh
	page     string // the address of the page to sign in; what begins with / is at the server
	deny     bool   // the person refuses
	garbled  bool   // the reply of the token endpoint cannot be read
	old      string // as MCP 2025-03-26: no metadata of the tool server; "bare": none of the issuer either; "down": 503 in its place
	dpop     bool   // tokens are bound to a key, and are sent with proofs
	hostile  bool   // texts steer the terminal, and say what is not so
	secret   string // begins every token and code

	mu      sync.Mutex
	count   int
	codes   map[string]url.Values
	access  map[string][]string // the valid tokens and their scopes
	refresh map[string][]string
}

// token is a new secret of this issuer.
func (a *fakeIssuer) token(kind string) string {
	a.count++
	return fmt.Sprintf("%s-%s-%d", a.secret, kind, a.count)
}

// handle answers what is not for the tool server.
func (a *fakeIssuer) handle(w http.ResponseWriter, r *http.Request, record func(string, ...any)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	base := "http://" + r.Host
	if a.old != "" && strings.HasPrefix(r.URL.Path, "/.well-known/") && a.oldDocument(w, r.URL.Path) {
		return true
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		scopes := "[]"
		if a.hostile {
			scopes = `["read\u001b]0;owned\u0007\u001b[2J","\u202eetirw","x\ntoolpipe: error: none"]`
		}
		fmt.Fprintf(w, `{"resource":%q,"authorization_servers":[%q],"scopes_supported":%s}`, base+"/mcp", base, scopes)
	case "/.well-known/oauth-authorization-server":
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q,"token_endpoint":%q,"registration_endpoint":%q,"revocation_endpoint":%q,`+
			`"code_challenge_methods_supported":["S256"],"token_endpoint_auth_methods_supported":["none"],"authorization_response_iss_parameter_supported":true,"dpop_signing_alg_values_supported":["ES256"]}`,
			base, a.authorizationPage(base), base+"/token", base+"/register", base+"/revoke")
	case "/register":
		record("register")
		w.WriteHeader(http.StatusCreated)
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"client_id":"registered","redirect_uris":%s,"token_endpoint_auth_method":"none"}`, gjson.GetBytes(body, "redirect_uris").Raw)
	case "/authorize":
		query := r.URL.Query()
		record("authorize scope=%q prompt=%q", query.Get("scope"), query.Get("prompt"))
		back := url.Values{"state": {query.Get("state")}, "iss": {base}}
		if a.deny {
			back.Set("error", "access_denied")
			back.Set("error_description", "no\x1b]0;owned\a\x1b[2J \u202edenied\ntoolpipe: error: none")
		} else {
			code := a.token("code")
			a.codes[code] = query
			back.Set("code", code)
		}
		http.Redirect(w, r, query.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	case "/token":
		record("token %s", r.FormValue("grant_type"))
		a.give(w, r)
	case "/revoke":
		record("revoke %s", r.FormValue("token_type_hint"))
		delete(a.access, r.FormValue("token"))
		delete(a.refresh, r.FormValue("token"))
	default:
		return false
	}
	return true
}

// oldDocument answers in place of a document that a server of 2025-03-26 does not have:
// with a page.
func (a *fakeIssuer) oldDocument(w http.ResponseWriter, path string) bool {
	status := http.StatusOK
	switch {
	case strings.HasPrefix(path, "/.well-known/oauth-protected-resource"):
		status = http.StatusNotFound
	case a.old == "down":
		status = http.StatusServiceUnavailable
	case a.old != "bare":
		return false
	}
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	io.WriteString(w, "<!doctype html>\n<title>The app</title>\n<body>not this</body>\n")
	return true
}

func (a *fakeIssuer) authorizationPage(base string) string {
	switch {
	case a.page == "":
		return base + "/authorize"
	case a.page[0] == '/':
		return base + a.page
	}
	return a.page
}

// give answers the token endpoint.
func (a *fakeIssuer) give(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	old := r.FormValue("refresh_token")
	scopes, good := a.refresh[old]
	if r.FormValue("grant_type") == "authorization_code" {
		asked, known := a.codes[r.FormValue("code")]
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		good = known && asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:])
		scopes = strings.Fields(asked.Get("scope"))
		delete(a.codes, r.FormValue("code"))
	} else if answer, rest, _ := strings.Cut(a.refuse, ","); answer != "" {
		status, code, _ := strings.Cut(answer, " ")
		a.refuse = rest
		w.Header().Set("Retry-After", "1")
		number, _ := strconv.Atoi(status)
		w.WriteHeader(number)
		if code != "" {
			fmt.Fprintf(w, `{"error":%q}`, code)
		}
		return
	} else if a.down {
		http.Error(w, "down for maintenance, your token was "+old, http.StatusServiceUnavailable)
		return
	} else if !good || a.final { // it may be stolen: the login ends
		a.access, a.refresh = map[string][]string{}, map[string][]string{}
		good = false
	}
	if (r.Header.Get("DPoP") != "") != a.dpop {
		good = false
	}
	if !good {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	delete(a.refresh, old)
	access := a.token("access")
	a.access[access] = scopes
	reply := fmt.Sprintf(`{"access_token":%q,"token_type":%q,"scope":%s`, access, a.scheme(), jsontext.Quoted(strings.Join(scopes, " ")))
	if !a.alone {
		refresh := a.token("refresh")
		a.refresh[refresh] = scopes
		reply += fmt.Sprintf(`,"refresh_token":%q`, refresh)
	}
	if a.life > 0 {
		reply += fmt.Sprintf(`,"expires_in":%d`, a.life)
	}
	if a.garbled {
		reply = reply[1:]
	}
	io.WriteString(w, reply+"}")
}

// scheme is how tokens are sent to the tool server.
func (a *fakeIssuer) scheme() string {
	if a.dpop {
		return "DPoP"
	}
	return "Bearer"
}

// admits reports whether a request to the tool server has a token that is good for
// it, and refuses it otherwise.
func (a *fakeIssuer) admits(w http.ResponseWriter, r *http.Request, message gjson.Result) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	method := message.Get("method").String()
	token := strings.TrimPrefix(r.Header.Get("Authorization"), a.scheme()+" ")
	if (r.Header.Get("DPoP") != "") != a.dpop {
		token = "none"
	}
	if method == a.withdraw && method != "" {
		a.withdraw = ""
		delete(a.access, token)
	}
	scopes, good := a.access[token]
	metadata := `resource_metadata="http://` + r.Host + `/.well-known/oauth-protected-resource/mcp"`
	if a.old != "" {
		metadata = `realm="tools"`
	}
	switch {
	case a.open && method != "tools/call":
		return true
	case !good:
		challenge := a.scheme() + " " + metadata
		if a.scope != "" {
			challenge += `, scope="` + a.scope + `"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error":"unauthorized: `+token+`"}`)
		return false
	case method == "tools/call" && message.Get("params.name").String() == "write" && a.writes != "" && !slices.Contains(scopes, a.writes):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+a.writes+`", `+metadata)
		w.WriteHeader(http.StatusForbidden)
		return false
	}
	return true
}

// fakeBrowser is the program fakebrowser [-stay] LOG ADDRESS. It opens the
// address, and LOG gets the addresses it was led to and the last page. With -stay
// it does not go where it is led: LOG gets that address.
func fakeBrowser(args []string) int {
	stay := args[0] == "-stay"
	if stay {
		args = args[1:]
	}
	log, err := os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return 1
	}
	fmt.Fprintf(log, "%d arguments\n", len(args)-1)
	client := http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if stay {
			fmt.Fprintf(log, "led to %s\n", r.URL)
			return http.ErrUseLastResponse
		}
		fmt.Fprintf(log, "%s%s\n", r.URL.Host, r.URL.Path)
		return nil
	}}
	res, err := client.Get(args[len(args)-1])
	if err != nil {
		fmt.Fprintln(log, err)
		return 1
	}
	defer res.Body.Close()
	io.Copy(log, res.Body)
	return 0
}
