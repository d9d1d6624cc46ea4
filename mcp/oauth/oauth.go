// Package oauth gets bearer tokens for MCP servers over HTTP: the
// client-credentials grant of OAuth 2.1 with the discovery that the Model
// Context Protocol prescribes. A server's 401 leads to its protected resource
// metadata (RFC 9728), that to the authorization server and its metadata
// (RFC 8414), and that to a token. Credentials go to the server's own host or
// to the issuer that the configuration names, nowhere else. Package mcp uses it.
package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

// Token is a bearer token. A zero Expires is unknown.
type Token struct {
	Value   string
	Expires time.Time
}

// tokenMargin is how long before its end a token is replaced.
const tokenMargin = 30 * time.Second

// Grant gets the tokens for one server. It is used by one goroutine at a time.
type Grant struct {
	server      *url.URL
	credentials *Settings
	client      *http.Client

	issuer  *issuer // found once and kept: the credentials go to no other
	scopes  []string
	widened bool // scopes were added once
}

// New makes the Grant for a server. Nothing is sent yet.
func New(server *url.URL, c *Settings) *Grant {
	g := &Grant{server: server, credentials: c, scopes: slices.Clone(c.Scopes)}
	g.client = newClient(g.trusts)
	return g
}

// A Refusal is a response of the server that asks for a token, or for another
// one.
type Refusal struct {
	Status     int
	Challenges []string // its WWW-Authenticate headers
}

// Token fetches a token. r is the refusal that asked for it; nil when the last
// token has expired.
func (g *Grant) Token(ctx context.Context, r *Refusal) (Token, error) {
	var c challenge
	if r != nil {
		c = readChallenge(r.Challenges)
	}
	if g.issuer == nil {
		if err := g.discover(ctx, c); err != nil {
			return Token{}, fmt.Errorf("oauth: %w", err)
		}
	}
	if r != nil && r.Status == http.StatusForbidden {
		if g.widened {
			return Token{}, errors.New("oauth: the server asks for more scopes again")
		}
		g.widened = true
		for _, scope := range c.scopes {
			if !slices.Contains(g.scopes, scope) {
				g.scopes = append(g.scopes, scope)
			}
		}
	} else if len(g.scopes) == 0 {
		g.scopes = c.scopes
	}
	t, err := g.request(ctx)
	if err != nil {
		return Token{}, fmt.Errorf("oauth: issuer %q: %w", g.issuer.name, err)
	}
	return t, nil
}

// request asks the token endpoint for a token.
func (g *Grant) request(ctx context.Context) (Token, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {resourceOf(g.server)}}
	if len(g.scopes) > 0 {
		form.Set("scope", strings.Join(g.scopes, " "))
	}
	var id, secret string
	switch c := g.credentials; {
	case len(c.PrivateKey) > 0:
		assertion, err := clientAssertion(c, g.issuer.name, time.Now())
		if err != nil {
			return Token{}, err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	case slices.Contains(g.issuer.methods, "client_secret_post") && !slices.Contains(g.issuer.methods, "client_secret_basic"):
		form.Set("client_id", c.ClientID)
		form.Set("client_secret", c.Secret)
	default:
		id, secret = url.QueryEscape(c.ClientID), url.QueryEscape(c.Secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.issuer.tokenURL, strings.NewReader(form.Encode()))
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
