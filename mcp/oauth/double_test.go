package oauth

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A Double is the metadata of a tool server and the authorization server behind it:
// well behaved, or bent into the shape of another. It serves, below one URL, the tool
// server at /mcp, its metadata, and the issuer at /as with its endpoints. The fields
// that change its behaviour are set before the first request; each may be nil.
type Double struct {
	*httptest.Server
	Resource map[string]any // replaces members of the protected resource metadata; nil removes one
	Issuer   map[string]any // the same for the issuer's metadata
	Clients  []DoubleClient // registered by hand

	AtOrigin   bool                                                      // the issuer is the origin
	Old        bool                                                      // as MCP 2025-03-26: no protected resource metadata, and the issuer is the origin
	Answer     func(w http.ResponseWriter, path string) bool             // answers in place of the document at a path if it returns true
	NoResource bool                                                      // there is no protected resource metadata
	NoIssuer   bool                                                      // there is no issuer's metadata
	Register   func(request map[string]any) (status int, reply any)      // in place of a registration
	Authorize  func(query url.Values) (wrong string)                     // more demands on the page to sign in
	Token      func(r *http.Request, form url.Values) (errorCode string) // more demands on a token request
	Redirect   func(back url.Values)                                     // changes what the browser brings back
	Reply      func(form url.Values, reply map[string]any)               // changes the reply with the tokens

	mu       sync.Mutex
	requests []seen
	codes    map[string]url.Values // the query of the page that gave each
	tokens   int
}

// A DoubleClient is a registered client.
type DoubleClient struct {
	ID, Secret, Method, RedirectURI string
}

// seen is a request that came in.
type seen struct {
	Path   string
	Query  url.Values // or the form
	Header http.Header
	Body   string
}

// NewDouble starts a server that behaves well, and ends it with the test.
func NewDouble(t testing.TB) *Double {
	s := &Double{codes: map[string]url.Values{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// Name is the issuer.
func (s *Double) Name() string {
	if s.Old || s.AtOrigin {
		return s.URL
	}
	return s.URL + "/as"
}

// Seen are the requests for a path.
func (s *Double) Seen(path string) (found []seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r.Path == path {
			found = append(found, r)
		}
	}
	return found
}

// Browser does what a person does who agrees to everything: it opens the address and
// follows it to the end.
func Browser(address string) (page string, err error) {
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(address)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

func (s *Double) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	came := seen{r.URL.Path, r.URL.Query(), r.Header.Clone(), string(body)}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		came.Query, _ = url.ParseQuery(string(body))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, came)
	if strings.HasPrefix(r.URL.Path, "/.well-known/") && s.Answer != nil && s.Answer(w, r.URL.Path) {
		return
	}
	path, as := r.URL.Path, s.Name()
	if as == s.URL {
		switch path {
		case "/.well-known/oauth-authorization-server":
			path += "/as"
		case "/authorize", "/token", "/register", "/revoke":
			path = "/as" + path
		}
	}
	switch path {
	case "/.well-known/oauth-protected-resource/mcp":
		s.document(w, s.NoResource || s.Old, s.Resource, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{as}, "scopes_supported": []string{"read", "write"}})
	case "/.well-known/oauth-authorization-server/as":
		s.document(w, s.NoIssuer, s.Issuer, map[string]any{
			"issuer": as, "authorization_endpoint": as + "/authorize", "token_endpoint": as + "/token",
			"registration_endpoint": as + "/register", "revocation_endpoint": as + "/revoke",
			"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
			"token_endpoint_auth_methods_supported": []string{"none"},
		})
	case "/as/register":
		s.register(w, body)
	case "/as/authorize":
		s.authorize(w, r)
	case "/as/token":
		s.token(w, r, came.Query)
	case "/as/revoke":
	default:
		http.NotFound(w, r)
	}
}

func (s *Double) document(w http.ResponseWriter, missing bool, bent, document map[string]any) {
	maps.Copy(document, bent)
	maps.DeleteFunc(document, func(_ string, v any) bool { return v == nil })
	if missing {
		http.Error(w, "no", http.StatusNotFound)
		return
	}
	send(w, http.StatusOK, document)
}

func send(w http.ResponseWriter, status int, value any) {
	if text, ok := value.(string); ok { // no JSON
		http.Error(w, text, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value)
}

func (s *Double) register(w http.ResponseWriter, body []byte) {
	var request map[string]any
	if err := json.Unmarshal(body, &request); err != nil {
		send(w, http.StatusBadRequest, err.Error())
		return
	}
	id, method := fmt.Sprint("registered-", len(s.Clients)+1), request["token_endpoint_auth_method"]
	answer := map[string]any{"client_id": id, "redirect_uris": request["redirect_uris"], "token_endpoint_auth_method": method}
	if method != "none" {
		answer["client_secret"] = "secret-of-" + id
	}
	status, reply := http.StatusCreated, any(answer)
	if s.Register != nil {
		status, reply = s.Register(request)
		answer, _ = reply.(map[string]any)
	}
	if status < 300 {
		text := func(value any) string { return fmt.Sprint(cmp.Or(value, "")) }
		uris, _ := request["redirect_uris"].([]any)
		s.Clients = append(s.Clients, DoubleClient{text(answer["client_id"]), text(answer["client_secret"]), text(answer["token_endpoint_auth_method"]), text(uris[0])})
	}
	send(w, status, reply)
}

func (s *Double) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	known := slices.ContainsFunc(s.Clients, func(c DoubleClient) bool {
		return c.ID == q.Get("client_id") && c.RedirectURI == q.Get("redirect_uri")
	})
	wrong := ""
	switch {
	case !known:
		wrong = "no such client, or another redirect_uri"
	case q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || len(q.Get("state")) < 20 || q.Get("response_type") != "code":
		wrong = "no PKCE, or no state"
	case s.Authorize != nil:
		wrong = s.Authorize(q)
	}
	back := url.Values{"state": {q.Get("state")}, "iss": {s.Name()}}
	if wrong != "" {
		back.Set("error", "invalid_request")
		back.Set("error_description", wrong)
	} else {
		code := fmt.Sprint("code-", len(s.codes)+1)
		s.codes[code] = q
		back.Set("code", code)
	}
	if s.Redirect != nil {
		s.Redirect(back)
	}
	to, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || to.Host == "" {
		http.Error(w, "no redirect_uri", http.StatusBadRequest)
		return
	}
	to.RawQuery = back.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

func (s *Double) token(w http.ResponseWriter, r *http.Request, form url.Values) {
	code := ""
	if form.Get("grant_type") == "authorization_code" {
		code = s.checkCode(form)
	}
	if code == "" {
		code = s.checkClient(r, form)
	}
	if code == "" && s.Token != nil {
		code = s.Token(r, form)
	}
	if code != "" {
		send(w, http.StatusBadRequest, map[string]any{"error": code, "error_description": "as the test wants"})
		return
	}
	s.tokens++
	reply := map[string]any{"access_token": fmt.Sprint("access-", s.tokens), "token_type": "Bearer", "expires_in": 3600, "refresh_token": fmt.Sprint("refresh-", s.tokens)}
	if s.Reply != nil {
		s.Reply(form, reply)
	}
	delete(s.codes, form.Get("code"))
	send(w, http.StatusOK, reply)
}

// checkCode gives the error for a code that was not given to this client.
func (s *Double) checkCode(form url.Values) string {
	q := s.codes[form.Get("code")]
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	if q == nil || q.Get("redirect_uri") != form.Get("redirect_uri") || q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		return "invalid_grant"
	}
	return ""
}

// checkClient gives the error for a client that does not prove itself.
func (s *Double) checkClient(r *http.Request, form url.Values) string {
	id, secret, basic := r.BasicAuth()
	method := "client_secret_basic"
	if !basic {
		id, secret = form.Get("client_id"), form.Get("client_secret")
		if method = "client_secret_post"; secret == "" {
			method = "none"
		}
	}
	if slices.ContainsFunc(s.Clients, func(c DoubleClient) bool { return c.ID == id && c.Secret == secret && c.Method == method }) {
		return ""
	}
	return "invalid_client"
}

// FreePort is a port that nobody listens on.
func FreePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
