package oauth

import (
	"context"
	"errors"
	"time"
)

// Login is what the consent of one person gave for one server: the client, the
// tokens and what is needed to refresh them. It is what is stored.
type Login struct {
	Server   string `json:"url"`               // the MCP server's URL, as configured
	Account  string `json:"account,omitempty"` // the word that tells two logins at one server apart
	Issuer   string `json:"issuer"`            // client and tokens belong to this authorization server alone
	Resource string `json:"resource,omitempty"`

	TokenURL      string `json:"token_endpoint"` // refresh tokens go here and nowhere else
	RevocationURL string `json:"revocation_endpoint,omitempty"`
	Client        Client `json:"client"`

	Scopes       []string  `json:"scopes"` // granted; as requested where the reply names none
	AccessToken  string    `json:"access_token"`
	Expires      time.Time `json:"expires_at,omitzero"` // zero: unknown
	RefreshToken string    `json:"refresh_token,omitempty"`
}

// Client is this program as one authorization server knows it.
type Client struct {
	ID            string    `json:"id"`
	Secret        string    `json:"secret,omitempty"` // of a dynamic registration; a configured secret stays in the config
	AuthMethod    string    `json:"auth"`             // at the token endpoint: none, client_secret_basic, client_secret_post, private_key_jwt
	RedirectURI   string    `json:"redirect_uri"`
	Dynamic       bool      `json:"dynamic,omitempty"`          // registered by RFC 7591: the next sign-in may use it again
	SecretExpires time.Time `json:"secret_expires_at,omitzero"` // zero: never
}

// Request is what a sign-in needs.
type Request struct {
	Server   string
	Settings *Settings
	// Refusal is the server's response that asked for a token; nil where it
	// refused nothing: then its metadata is looked for where RFC 9728 puts it.
	Refusal *Refusal
	// Previous is the login that is stored, nil for none. Its registration is
	// used again with the same issuer, and its scopes are asked for again.
	Previous *Login
	// Scopes are asked for beside those that the server names.
	Scopes []string

	// Show is called once with the address to open, when the redirect can be
	// received. It prints the address, and starts a browser if there is one.
	Show func(Consent)
	// Paste reads a line with the address on which the browser ended, until
	// ctx ends; nil: nobody can paste. After an error it is not called again.
	Paste func(ctx context.Context) (string, error)
	// Secret is told every secret before it is sent or can appear anywhere.
	Secret func(string)
}

// Consent is what the person is asked in the browser. Its texts come from
// outside: the caller escapes them.
type Consent struct {
	URL         string // https, or http on this machine; without control bytes
	RedirectURI string
	Pasted      bool // the redirect leads to no address of this machine: only pasting ends the sign-in
	Server      string
	Issuer      string
	Scopes      []string
	New         []string // those of Scopes that the Previous login has not
}

// Bounds of a sign-in.
const (
	SignInTime = 5 * time.Minute // for the person in the browser
)

// SignIn gets a login by the authorization code grant with PKCE: it finds the
// authorization server, registers where that is needed, has the address shown,
// waits for the redirect and trades the code for tokens. Nothing is stored.
//
// The error is an *Error where the authorization server refused, ErrNobody
// where nobody came in time, or anything else.
func SignIn(ctx context.Context, r Request) (Login, error) {
	return Login{}, errors.New("not yet")
}

// Refresh trades the refresh token for new tokens. The result is the login to
// store in the place of l; it holds the old refresh token where the reply has
// none. The caller holds the lock on the stored login.
//
// With an *Error whose Ended is true the login is over. After any other error
// the old tokens are kept: the authorization server may not have seen the
// request, or its answer was lost.
func Refresh(ctx context.Context, s *Settings, l Login) (Login, error) {
	return Login{}, errors.New("not yet")
}

// Revoke tells the authorization server that the tokens are not used any more
// (RFC 7009). Without a revocation endpoint it does nothing.
func Revoke(ctx context.Context, s *Settings, l Login) error {
	return nil
}

// Moved says whether the server's metadata does not name the login's issuer any
// more. r is the refusal of the login's token.
func Moved(ctx context.Context, s *Settings, l Login, r *Refusal) (bool, error) {
	return false, nil
}

// ErrNobody is the end of a sign-in for which nobody came in SignInTime.
var ErrNobody = errors.New("nobody finished the sign-in in the browser within 5 minutes")

// Error is a refusal by the authorization server (RFC 6749, 4.1.2.1 and 5.2).
type Error struct {
	Code        string // such as access_denied, invalid_grant
	Description string // from outside, at most 300 bytes
}

func (e *Error) Error() string {
	if e.Description == "" {
		return e.Code
	}
	return e.Code + ": " + e.Description
}

// Ended says whether the refresh token is not valid any more.
func (e *Error) Ended() bool { return e.Code == "invalid_grant" }
