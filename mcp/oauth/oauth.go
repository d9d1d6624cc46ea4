// Package oauth gets tokens for remote servers: the client-credentials grant of
// OAuth 2.1 with the discovery that the Model Context Protocol prescribes
// (RFC 9728 and RFC 8414).
package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"toolpipe/mcp/netguard"
	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

// Grant is the OAuth client-credentials grant for one server: its 401 leads to the protected resource metadata (RFC 9728),
// that to the authorization server (RFC 8414), and that to a token. It is used
// by one goroutine at a time.
type Grant struct {
	server      *url.URL
	credentials *ClientCredentials
	client      *http.Client

	at      *issuer // found once, kept for the run: credentials go to no other
	scopes  []string
	stepped bool
}

// issuer is what is needed of an authorization server.
type issuer struct {
	name, tokenURL string
	methods        []string // token_endpoint_auth_methods_supported
}

func New(server *url.URL, c *ClientCredentials) *Grant {
	g := &Grant{server: server, credentials: c}
	if c.Scope != "" {
		g.scopes = strings.Fields(c.Scope)
	}
	g.client = grantClient(g.trusts)
	return g
}

// trusts says whether a URL may be asked without the guards: one on the
// server's own host, one of the issuer that a person configured, and the token
// endpoint that this issuer names.
func (g *Grant) trusts(u *url.URL) bool {
	if ownPlace(g.server, u) {
		return true
	}
	named, err := url.Parse(g.credentials.Issuer)
	pinned := err == nil && named.Host != "" && netguard.Origin(named) == netguard.Origin(u) ||
		g.credentials.Issuer != "" && g.at != nil && u.String() == g.at.tokenURL
	return pinned && (u.Scheme == "https" || IsLoopback(u.Hostname()))
}

// ownPlace says whether a URL is on the server's own host: the same origin,
// or, where both are on this machine, any port.
func ownPlace(server, u *url.URL) bool {
	return netguard.Origin(u) == netguard.Origin(server) || IsLoopback(server.Hostname()) && IsLoopback(u.Hostname())
}

// A Refusal is a response of the server that asks for a token, or for another.
type Refusal struct {
	Status     int
	Challenges []string // its WWW-Authenticate headers
}

// Token fetches a token. r is the refusal that asked for it; nil when the
// token there was has come to its end.
func (g *Grant) Token(ctx context.Context, r *Refusal) (Token, error) {
	var c challenge
	if r != nil {
		c = ReadChallenge(r.Challenges)
	}
	if g.at == nil {
		if err := g.discover(ctx, c); err != nil {
			return Token{}, fmt.Errorf("oauth: %w", err)
		}
	}
	if r != nil && r.Status == http.StatusForbidden {
		if g.stepped {
			return Token{}, errors.New("oauth: the server asks for more scopes again")
		}
		g.stepped = true
		g.scopes = union(g.scopes, c.scopes)
	} else if len(g.scopes) == 0 {
		g.scopes = c.scopes
	}
	t, err := g.request(ctx)
	if err != nil {
		return Token{}, fmt.Errorf("oauth: issuer %q: %w", g.at.name, err)
	}
	return t, nil
}

// discover finds the issuer.
func (g *Grant) discover(ctx context.Context, c challenge) error {
	resource, err := g.protectedResource(ctx, c)
	if err != nil {
		return err
	}
	servers := jsontext.Strings(jsontext.Member(resource, "authorization_servers"))
	name := g.credentials.Issuer
	switch {
	case name == "" && len(servers) == 0:
		return errors.New("the server names no authorization server")
	case name == "":
		name = servers[max(0, slices.IndexFunc(servers, g.owns))]
		if !g.owns(name) {
			return &ForeignIssuer{name, name}
		}
	case resource != nil && !slices.Contains(servers, name):
		return fmt.Errorf("the server does not name the configured issuer %q but %q", name, servers)
	}
	if len(g.scopes) == 0 && len(c.scopes) == 0 {
		g.scopes = jsontext.Strings(jsontext.Member(resource, "scopes_supported"))
	}
	at, err := g.metadata(ctx, name)
	if err == nil && g.credentials.Issuer == "" && !g.owns(at.tokenURL) {
		err = &ForeignIssuer{name, at.tokenURL}
	}
	if err == nil {
		g.at = at
	}
	return err
}

// owns says whether a URL that the server gave is on its own host.
func (g *Grant) owns(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && ownPlace(g.server, u)
}

// ForeignIssuer is an authorization that would take the credentials to another
// host, which only the server named: a server that is not what it seems would
// so choose who gets them.
type ForeignIssuer struct{ issuer, place string }

func (e *ForeignIssuer) Error() string {
	return fmt.Sprintf("the server names %q for its authorization, which is not on its own host; no credentials are sent there unless the config names the issuer", e.place)
}

// Hint is the line to write.
func (e *ForeignIssuer) Hint() string {
	return fmt.Sprintf(`if that is the right authorization server, add to the server's "oauth" in the config: "issuer": %s`, jsontext.Quoted(e.issuer))
}

// protectedResource is the server's metadata, nil when it has none and an
// issuer is configured.
func (g *Grant) protectedResource(ctx context.Context, c challenge) ([]byte, error) {
	places := []string{c.metadata}
	if c.metadata == "" {
		places = wellKnownResource(g.server)
	}
	var failures []error
	for _, place := range places {
		doc, err := g.document(ctx, place)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if resource := jsontext.Text(jsontext.Member(doc, "resource")); !covers(resource, g.server) {
			return nil, fmt.Errorf("the metadata at %s is about %q, not about this server", place, resource)
		}
		return doc, nil
	}
	if g.credentials.Issuer != "" {
		return nil, nil
	}
	return nil, wire.JoinErrors(failures...)
}

// wellKnownResource is where the metadata of a resource is without a hint.
func wellKnownResource(server *url.URL) []string {
	const known = "/.well-known/oauth-protected-resource"
	root := server.Scheme + "://" + server.Host + known
	if path := strings.TrimRight(server.EscapedPath(), "/"); path != "" {
		return []string{root + path, root}
	}
	return []string{root}
}

// covers says whether a resource identifier is the server's: the same origin,
// and a path that the server's begins with.
func covers(resource string, server *url.URL) bool {
	u, err := url.Parse(resource)
	if err != nil || u.Host == "" || netguard.Origin(u) != netguard.Origin(server) {
		return false
	}
	have, want := strings.TrimRight(server.Path, "/")+"/", strings.TrimRight(u.Path, "/")+"/"
	return strings.HasPrefix(have, want)
}

// metadata is the issuer's, from the first place that has it. What it calls
// itself must be the name it was asked by, byte for byte.
func (g *Grant) metadata(ctx context.Context, name string) (*issuer, error) {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is not an issuer's URL", name)
	}
	var failures []error
	for _, place := range wellKnownIssuer(u) {
		doc, err := g.document(ctx, place)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if said := jsontext.Text(jsontext.Member(doc, "issuer")); said != name {
			return nil, fmt.Errorf("the metadata at %s is that of issuer %q", place, said)
		}
		at := &issuer{name, jsontext.Text(jsontext.Member(doc, "token_endpoint")), jsontext.Strings(jsontext.Member(doc, "token_endpoint_auth_methods_supported"))}
		if at.tokenURL == "" {
			return nil, fmt.Errorf("the metadata at %s has no token_endpoint", place)
		}
		return at, nil
	}
	return nil, wire.JoinErrors(failures...)
}

func wellKnownIssuer(u *url.URL) []string {
	const oauth, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	root := u.Scheme + "://" + u.Host
	path := strings.TrimRight(u.EscapedPath(), "/")
	if path == "" {
		return []string{root + oauth, root + openid}
	}
	return []string{root + oauth + path, root + openid + path, root + path + openid}
}

const maxDocument = 1 << 20

// document fetches a JSON object.
func (g *Grant) document(ctx context.Context, place string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	return g.do(req)
}

func (g *Grant) do(req *http.Request) ([]byte, error) {
	place := req.URL.Scheme + "://" + req.URL.Host + req.URL.Path
	res, err := g.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: HTTP status %d: %s", place, res.StatusCode, wire.Snippet(body))
	}
	if err := jsontext.CheckObject(body, jsontext.Peer, nil); err != nil {
		return nil, fmt.Errorf("%s: not a JSON object: %w", place, err)
	}
	return body[jsontext.Space(body, 0):], nil
}

// request asks the token endpoint.
func (g *Grant) request(ctx context.Context) (Token, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {resourceOf(g.server)}}
	if len(g.scopes) > 0 {
		form.Set("scope", strings.Join(g.scopes, " "))
	}
	var id, secret string
	switch c := g.credentials; {
	case len(c.PrivateKey) > 0:
		assertion, err := clientAssertion(c, g.at.name, time.Now())
		if err != nil {
			return Token{}, err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	case slices.Contains(g.at.methods, "client_secret_post") && !slices.Contains(g.at.methods, "client_secret_basic"):
		form.Set("client_id", c.ClientID)
		form.Set("client_secret", c.Secret)
	default:
		id, secret = url.QueryEscape(c.ClientID), url.QueryEscape(c.Secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.at.tokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return Token{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if id != "" {
		req.SetBasicAuth(id, secret)
	}
	doc, err := g.do(req)
	if err != nil {
		return Token{}, err
	}
	return readToken(doc, time.Now())
}

func readToken(doc []byte, now time.Time) (Token, error) {
	t := Token{Value: jsontext.Text(jsontext.Member(doc, "access_token"))}
	if t.Value == "" || !wire.IsPrintable(t.Value) || !strings.EqualFold(jsontext.Text(jsontext.Member(doc, "token_type")), "bearer") {
		return Token{}, errors.New("the answer holds no bearer token")
	}
	if n, ok := jsontext.Integer(jsontext.Member(doc, "expires_in")); ok && n > 0 {
		t.Expires = now.Add(max(time.Duration(n)*time.Second-tokenMargin, time.Duration(n)*time.Second/2))
	}
	return t, nil
}

// resourceOf is the canonical form of the server's URL (RFC 8707).
func resourceOf(server *url.URL) string {
	u := *server
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String()
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// ClientCredentials is the OAuth client-credentials grant, by secret or by private key.
type ClientCredentials struct {
	ClientID   string
	Secret     string
	PrivateKey []byte // PEM; instead of Secret: private_key_jwt
	Algorithm  string // "" chooses by the key
	Issuer     string // "" takes one on the server's own host, and no other
	Scope      string
}
