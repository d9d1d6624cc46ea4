package oauth

import "context"

// Settings are the user's configuration for the authorization at one server. The zero value
// signs in by the authorization code grant as a client that registers itself.
type Settings struct {
	Grant string // "": GrantClientCredentials with a secret or a key, else GrantCode

	ClientID   string // "": the client registers itself
	Secret     string
	PrivateKey []byte // PEM; instead of Secret: private_key_jwt
	Algorithm  string // of the signature; "": the usual one for the key

	ClientMetadataURL string // the client's metadata document; its URL is the ID at issuers that support such IDs
	ClientName        string // for a registration; "": toolpipe
	RedirectURI       string // "": http://localhost with a free port
	Account           string // distinguishes logins at one server

	// Values that the user vouches for. They replace values that the server's metadata lacks
	// or has wrong.
	Issuer           string
	Resource         *string // nil: from the server's metadata; "": omitted
	Scopes           []string
	AuthorizeParams  map[string]string
	MetadataURL      string // of the Issuer
	AuthorizationURL string // with TokenURL: no metadata is read
	TokenURL         string

	AssertionCommand []string                              // argv; the first line of its output is the Assertion
	Assertion        func(context.Context) (string, error) // GrantJWTBearer: the platform's JWT, GrantIDJAG: the ID token; called for each token
	IDP              *IDP                                  // GrantIDJAG
}

// IDP is the identity provider of a company, for GrantIDJAG.
type IDP struct {
	TokenURL string
	ClientID string
	Secret   string
}

const (
	GrantCode              = "code"
	GrantClientCredentials = "client_credentials"
	GrantJWTBearer         = "jwt_bearer"
	GrantIDJAG             = "id_jag"
)

// SignsIn reports whether tokens come from a person's sign-in.
func (s *Settings) SignsIn() bool { return s.grant() == GrantCode }

// hasSecret reports whether a token request carries anything that an impostor of the
// authorization server could use.
func (s *Settings) hasSecret() bool {
	return s.Secret != "" || len(s.PrivateKey) > 0 || s.Assertion != nil
}

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
