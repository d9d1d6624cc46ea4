package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"toolpipe/mcp/wire"
)

// Login is the stored result of one person's consent for one server: the client, the tokens,
// and the endpoints for refreshing and revoking them.
type Login struct {
	Server   string `json:"url"`               // the MCP server's URL, as configured
	Account  string `json:"account,omitempty"` // distinguishes several logins at one server
	Issuer   string `json:"issuer"`            // client and tokens belong to this authorization server alone
	Resource string `json:"resource,omitempty"`

	TokenURL      string `json:"token_endpoint"` // refresh tokens go here and nowhere else
	RevocationURL string `json:"revocation_endpoint,omitempty"`
	Client        Client `json:"client"`

	Scopes []string `json:"scopes"` // granted; if the reply names none, as requested
	Token
	RefreshToken string `json:"refresh_token,omitempty"`
}

// Client is this program as registered at one authorization server.
type Client struct {
	ID            string    `json:"id"`
	Secret        string    `json:"secret,omitempty"` // of a dynamic registration; a configured secret stays in the config
	AuthMethod    string    `json:"auth"`             // at the token endpoint: none, client_secret_basic, client_secret_post, private_key_jwt
	RedirectURI   string    `json:"redirect_uri"`
	Dynamic       bool      `json:"dynamic,omitempty"`          // registered by RFC 7591: the next sign-in may use it again
	SecretExpires time.Time `json:"secret_expires_at,omitzero"` // zero: never
}

// Request describes a sign-in.
type Request struct {
	Server   string
	Settings *Settings
	// Refusal is the server's response that asked for a token. If it is nil, the metadata is
	// looked for at the addresses of RFC 9728.
	Refusal *Refusal
	// Previous is the stored login, nil for none. The same issuer gets its registration
	// again, and its scopes are requested again.
	Previous *Login

	// Show is called once with the address to open, when the redirect can be received. It
	// prints the address and starts a browser if there is one.
	Show func(Consent)
	// Paste reads a line with the last address in the browser, until ctx ends; nil: nobody
	// can paste. While lines are wrong, it is called again with the fault of the last line;
	// after an error it is not called again.
	Paste func(ctx context.Context, wrong error) (string, error)
	// Secret is called with every secret before it is sent or can appear anywhere.
	Secret func(string)
	// Warn is called with warnings for the person before Show. It may be nil.
	Warn func(code, message string)
}

// Consent is the question to the person in the browser. Its texts come from outside: the
// caller escapes them.
type Consent struct {
	URL         string // https, or http on this machine; without control bytes
	RedirectURI string
	Pasted      bool // the redirect does not lead to this machine: the person must paste the address
	Server      string
	Issuer      string
	Scopes      []string
	New         []string // the Scopes that the Previous login lacks; all of them if there is none
}

// SignInTime is how long a sign-in waits for the person in the browser.
const SignInTime = 5 * time.Minute

// take puts the tokens of a reply into the login. If the reply has no refresh token or no
// scopes, the login keeps its own.
func (l *Login) take(t tokenReply) {
	l.Token = t.Token
	l.RefreshToken = cmp.Or(t.refresh, l.RefreshToken)
	if len(t.scopes) > 0 {
		l.Scopes = t.scopes
	}
}

// with is the client with the configured secret, which is not stored.
func (c Client) with(s *Settings) Client {
	if c.ID == s.ClientID && !c.Dynamic {
		c.Secret = s.Secret
	}
	return c
}

// Refresh trades the refresh token for new tokens. The result is the login to store instead
// of l; it keeps the old refresh token if the reply has none. The caller holds the lock on
// the stored login.
//
// After any error the old tokens are kept: the authorization server may not have seen the
// request, or its answer was lost.
func Refresh(ctx context.Context, s *Settings, l Login) (Login, error) {
	a, err := l.agent(s)
	if err != nil {
		return l, err
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.RefreshToken}}
	setTarget(form, l.Resource, nil)
	t, err := a.requestToken(ctx, l.TokenURL, l.Issuer, l.Client.with(a.settings), form)
	if err != nil {
		return l, fmt.Errorf("the authorization server %q does not refresh the login: %w", l.Issuer, err)
	}
	l.take(t)
	return l, nil
}

// Revoke reports to the authorization server that the tokens are not used any more (RFC
// 7009). Without a revocation endpoint it does nothing.
func Revoke(ctx context.Context, s *Settings, l Login) error {
	a, err := l.agent(s)
	if err != nil || l.RevocationURL == "" {
		return err
	}
	for _, t := range [...]struct{ kind, token string }{{"refresh_token", l.RefreshToken}, {"access_token", l.AccessToken}} {
		if t.token == "" {
			continue
		}
		if failed := a.revoke(ctx, l, url.Values{"token": {t.token}, "token_type_hint": {t.kind}}); failed != nil {
			err = wire.JoinErrors(err, fmt.Errorf("the authorization server %q did not revoke the %s: %w", l.Issuer, t.kind, failed))
		}
	}
	return err
}

// Moved reports whether the server no longer names the login's issuer; then the login is
// useless. r is the refusal of the login's token.
func Moved(ctx context.Context, s *Settings, l Login, r *Refusal) (bool, error) {
	a, err := l.agent(s)
	if err != nil || a.settings.Issuer != "" || a.settings.TokenURL != "" {
		return false, err
	}
	resource, err := a.protectedResource(ctx, r.challenge())
	return err == nil && !resource.names(l.Issuer), err
}

// agent is an agent for the login. Its tokens go to the endpoints of its issuer. The secret
// of a configured client is sent only with a login that was made with that client.
func (l *Login) agent(s *Settings) (*agent, error) {
	s = cmp.Or(s, &Settings{})
	server, err := url.Parse(l.Server)
	if err != nil {
		return nil, err
	}
	if s.ClientID != "" && s.ClientID != l.Client.ID || s.Issuer != "" && !sameIssuer(s.Issuer, l.Issuer) {
		return nil, ErrOtherClient
	}
	a := newAgent(server, s)
	a.key = l.DPoP
	if s.Issuer != "" {
		a.vouched = []string{l.TokenURL, l.RevocationURL}
	}
	return a, nil
}

// ErrOtherClient is the error for a login that was made with another client or issuer than
// the configured one.
var ErrOtherClient = errors.New("the login was made with another client_id or issuer than the config names now")

// ErrNobody ends a sign-in that nobody finished within SignInTime.
var ErrNobody = errors.New("nobody finished the sign-in in the browser within 5 minutes")

// Error is a refusal by the authorization server (RFC 6749, 4.1.2.1 and 5.2).
type Error struct {
	Code        string // such as access_denied or invalid_grant; a text from outside
	Description string // a text from outside; each text has at most 300 bytes
}

func (e *Error) Error() string {
	if e.Description == "" {
		return e.Code
	}
	return e.Code + ": " + e.Description
}

// ended reports whether err says that the refresh token is not valid. Not all servers use the
// code of RFC 6749 for that.
func ended(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && !Passes(err) && slices.Contains([]string{"invalid_grant", "bad_refresh_token", "invalid_refresh_token"}, e.Code)
}
