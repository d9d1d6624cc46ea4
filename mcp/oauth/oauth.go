// Package oauth gets bearer tokens for MCP servers over HTTP, as the Model Context Protocol
// prescribes. A server's 401 leads to its protected resource metadata (RFC 9728). The
// metadata leads to the authorization server and its metadata (RFC 8414), and from there to a
// token: by the sign-in of a person (SignIn, Refresh), or without one (Grant). A configured
// secret goes only to the server's own host or to the issuer that the configuration names.
// Package mcp uses it.
package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// Grant gets the tokens for one server without a person: by client credentials, by a
// platform's JWT, or by a JWT of a company's identity provider. Only one goroutine may use it
// at a time.
type Grant struct {
	agent    *agent
	secret   func(string)
	resource *resource
	issuer   *issuer // found once and kept: the credentials go to no other issuer
	scopes   []string
	widened  int   // how often scopes were added
	refused  error // why a grant by JWT failed: it is not tried again
}

// New makes the Grant for a server. Nothing is sent yet. secret is called with every secret
// that is not in the Settings, before the secret is sent.
func New(server *url.URL, s *Settings, secret func(string)) *Grant {
	return &Grant{agent: newAgent(server, s), secret: secret, scopes: slices.Clone(s.Scopes)}
}

// A Refusal is a response of the server that asks for a token, or for another token.
type Refusal struct {
	Status     int
	Challenges []string // its WWW-Authenticate headers
}

func (r *Refusal) challenge() challenge {
	if r == nil {
		return challenge{}
	}
	return readChallenge(r.Challenges)
}

// Token fetches a token. r is the refusal that asked for it; nil if the last token has
// expired.
func (g *Grant) Token(ctx context.Context, r *Refusal) (Token, error) {
	c := r.challenge()
	if g.issuer == nil {
		var err error
		if g.resource, g.issuer, err = g.agent.discover(ctx, r, ""); err != nil {
			return Token{}, fmt.Errorf("oauth: %w", err)
		}
	}
	switch {
	case r != nil && r.Status == http.StatusForbidden:
		before := len(g.scopes)
		g.scopes = union(g.scopes, c.scopes)
		if g.widened++; len(g.scopes) == before || g.widened > maxWidened {
			return Token{}, errors.New("oauth: the server asks for more scopes again")
		}
	case len(g.scopes) == 0 && len(c.scopes) > 0:
		g.scopes = c.scopes
	case len(g.scopes) == 0:
		g.scopes = g.resource.scopes
	}
	t, err := patiently(ctx, patience, func() (tokenReply, error) { return g.request(ctx) })
	g.secret(t.AccessToken)
	if err != nil {
		return Token{}, fmt.Errorf("oauth: issuer %q: %w", g.issuer.Name, err)
	}
	return t.Token, nil
}

// maxWidened limits how often a server may ask for more scopes.
const maxWidened = 3

// union is a followed by the elements of b that are not in a.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

func (g *Grant) request(ctx context.Context) (tokenReply, error) {
	if g.refused != nil {
		return tokenReply{}, g.refused
	}
	s := g.agent.settings
	form := url.Values{"grant_type": {"client_credentials"}}
	if s.grant() != GrantClientCredentials {
		assertion, err := g.assertion(ctx)
		if err != nil {
			return tokenReply{}, err
		}
		form = url.Values{"grant_type": {grantJWT}, "assertion": {assertion}}
	}
	setTarget(form, g.resource.id, g.scopes)
	client := Client{ID: s.ClientID, Secret: s.Secret, AuthMethod: s.authMethod(g.issuer.AuthMethods)}
	t, err := g.agent.requestToken(ctx, g.issuer.TokenURL, g.issuer.Name, client, form)
	if err != nil && s.grant() != GrantClientCredentials && !Passes(err) {
		g.refused = err
	}
	return t, err
}

// assertion is the JWT that the authorization server trusts: the platform's JWT, or the one
// that a company's identity provider gives for the ID token (RFC 8693; the Identity Assertion
// Authorization Grant).
func (g *Grant) assertion(ctx context.Context) (string, error) {
	s := g.agent.settings
	token, err := s.Assertion(ctx)
	g.secret(token)
	if err != nil || s.grant() != GrantIDJAG {
		return token, err
	}
	const types = "urn:ietf:params:oauth:token-type:"
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {token},
		"subject_token_type": {types + "id_token"}, "requested_token_type": {types + "id-jag"}, "audience": {g.issuer.Name}}
	setTarget(form, g.resource.id, g.scopes)
	client := Client{ID: s.IDP.ClientID, Secret: s.IDP.Secret, AuthMethod: authNone}
	if s.IDP.Secret != "" {
		client.AuthMethod = authBasic
	}
	idp := *g.agent
	idp.key = nil // the key is for the authorization server
	r, err := idp.post(ctx, s.IDP.TokenURL, "", client, form)
	if err = cmp.Or(err, r.refusal()); err != nil {
		return "", fmt.Errorf("the identity provider: %w", err)
	}
	exchanged := textOf(r.body, "access_token")
	g.secret(exchanged)
	if exchanged == "" || textOf(r.body, "issued_token_type") != types+"id-jag" {
		return "", fmt.Errorf("the identity provider's reply contains no assertion (%d bytes)", len(r.body))
	}
	return exchanged, nil
}
