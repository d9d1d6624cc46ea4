package oauth

import "context"

// Settings are the user's configuration for the authorization at one server.
// The zero value signs in by the authorization code grant as a client that
// registers itself.
type Settings struct {
	Grant string // "" is GrantClientCredentials where there is a secret or a key, else GrantCode

	ClientID   string // "" registers
	Secret     string
	PrivateKey []byte // PEM; instead of Secret: private_key_jwt
	Algorithm  string // of the signature; "" is the usual one for the key

	ClientMetadataURL string // the client's metadata document, which is its ID at issuers that know such IDs
	ClientName        string // for a registration; "" is toolpipe
	RedirectURI       string // "" is http://localhost with a free port
	Account           string // tells logins at one server apart

	// Values for which the user vouches: they count where the server's metadata
	// has none, or a wrong one.
	Issuer           string
	Resource         *string // nil: as the server's metadata publishes it; "" omits it
	Scopes           []string
	AuthorizeParams  map[string]string
	MetadataURL      string // of the Issuer
	AuthorizationURL string // with TokenURL: no metadata is read
	TokenURL         string

	AssertionCommand []string                              // argv whose first line of output is the Assertion
	Assertion        func(context.Context) (string, error) // GrantJWTBearer: the platform's JWT, GrantIDJAG: the ID token; read anew for each token
	IDP              *IDP                                  // GrantIDJAG
}

// IDP is the identity provider of a company, for GrantIDJAG.
type IDP struct {
	TokenURL string
	ClientID string
	Secret   string
}

// The grants.
const (
	GrantCode              = "code"
	GrantClientCredentials = "client_credentials"
	GrantJWTBearer         = "jwt_bearer"
	GrantIDJAG             = "id_jag"
)

// SignsIn reports whether tokens come from a person's sign-in.
func (s *Settings) SignsIn() bool { return s.grant() == GrantCode }

// hasSecret reports whether a token request carries something that an impostor of
// the authorization server could use.
func (s *Settings) hasSecret() bool {
	return s.Secret != "" || len(s.PrivateKey) > 0 || s.Assertion != nil
}

// urls are the URLs that the user configured.
func (s *Settings) urls() []string {
	all := []string{s.Issuer, s.MetadataURL, s.AuthorizationURL, s.TokenURL}
	if s.IDP != nil {
		all = append(all, s.IDP.TokenURL)
	}
	return all
}

func (s *Settings) grant() string {
	switch {
	case s.Grant != "":
		return s.Grant
	case s.Secret != "" || len(s.PrivateKey) > 0:
		return GrantClientCredentials
	}
	return GrantCode
}
