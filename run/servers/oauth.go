package servers

import (
	"context"
	"path/filepath"
	"strings"

	"toolpipe/mcp/oauth"
	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
)

func (e *entry) oauth(m document.Member) (*oauth.Settings, error) {
	s := &oauth.Settings{}
	if !e.own {
		return e.hostOAuth(m.Value)
	}
	if err := m.ReadKeys(e.oauthKeys(s)); err != nil {
		return nil, err
	}
	return s, checkOAuth(m.Value, s)
}

// oauthKeys are the keys of a server's oauth in the user's own config.
func (e *entry) oauthKeys(s *oauth.Settings) []document.Key {
	return document.Keys(
		"grant", document.WordOf(&s.Grant, oauth.GrantCode, oauth.GrantClientCredentials, oauth.GrantJWTBearer, oauth.GrantIDJAG),
		"client_id", &s.ClientID,
		"client_secret client_secret_env", document.Into(&s.Secret, e.clientSecret),
		"private_key_file", func(m document.Member) error {
			key, path, err := e.fileBeside(m)
			s.PrivateKey, e.KeyFiles = key, append(e.KeyFiles, path)
			return err
		},
		"algorithm", &s.Algorithm,
		"scope scopes", document.Into(&s.Scopes, func(m document.Member) ([]string, error) {
			words, err := m.Words()
			return strings.Fields(strings.Join(words, " ")), err
		}),
		"redirect_uri", document.Into(&s.RedirectURI, secureURL),
		"client_metadata_url", document.Into(&s.ClientMetadataURL, ClientDocument),
		"client_name", &s.ClientName,
		"account", &s.Account,
		"issuer", &s.Issuer,
		"resource", &s.Resource,
		"authorize_params", &s.AuthorizeParams,
		"metadata_url", document.Into(&s.MetadataURL, secureURL),
		"authorization_url", document.Into(&s.AuthorizationURL, secureURL),
		"token_url", document.Into(&s.TokenURL, secureURL),
		"assertion_file", func(m document.Member) error {
			_, path, err := e.fileBeside(m)
			s.Assertion = func(context.Context) (string, error) { // the platform renews the file before the assertion expires
				text, err := config.RuleFile.Read(e.c, "assertion_file", path, 1<<20, func(string, string, string) {})
				return strings.TrimSpace(string(text)), err
			}
			return err
		},
		"assertion_command", &s.AssertionCommand,
		"idp", document.Into(&s.IDP, e.idp),
	)
}

// clientSecret reads a secret, or the name of its variable.
func (e *entry) clientSecret(m document.Member) (string, error) {
	s, err := m.Str()
	if err != nil {
		return "", err
	}
	if m.Key == "client_secret" {
		return e.expand(m.Value, s)
	}
	return e.required(m.Value, s)
}

// fileBeside reads a file that a key names. Its path is relative to the directory of the config
// file, as for policies.
func (e *entry) fileBeside(m document.Member) (data []byte, path string, err error) {
	if path, err = m.Str(); err != nil {
		return nil, "", err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(m.Doc.Name()), path)
	}
	data, err = config.RuleFile.Read(e.c, m.Origin()+": "+m.Key, path, 1<<20, e.warner)
	if err != nil {
		err = unresolved{failure.Of(err)}
	}
	return data, path, err
}

func (e *entry) idp(m document.Member) (*oauth.IDP, error) {
	idp := &oauth.IDP{}
	return idp, m.ReadKeys(document.Keys(
		"token_url", document.Into(&idp.TokenURL, secureURL),
		"client_id", &idp.ClientID,
		"client_secret client_secret_env", document.Into(&idp.Secret, e.clientSecret),
	))
}

// checkOAuth refuses settings that cannot work, before a browser opens.
func checkOAuth(at document.Value, s *oauth.Settings) error {
	asserts := s.Assertion != nil || len(s.AssertionCommand) > 0
	machine := !s.SignsIn()
	_, secure := oauth.SecureURL(s.Issuer)
	switch {
	case s.Issuer != "" && !secure && s.MetadataURL == "" && s.TokenURL == "": // its metadata is read from there
		return at.Errorf("issuer: %q is neither an https URL nor http on this machine", s.Issuer)
	case s.MetadataURL != "" && s.Issuer == "":
		return at.Errorf("metadata_url needs issuer, with the value in its document")
	case s.AuthorizationURL != "" && s.TokenURL == "", s.TokenURL != "" && s.AuthorizationURL == "" && !machine:
		return at.Errorf("authorization_url and token_url belong together")
	case s.Grant == oauth.GrantClientCredentials && (s.ClientID == "" || s.Secret == "" && len(s.PrivateKey) == 0):
		return at.Errorf("the grant %s needs client_id and a secret or a key", s.Grant)
	case (s.Grant == oauth.GrantJWTBearer || s.Grant == oauth.GrantIDJAG) != asserts:
		return at.Errorf("assertion_file or assertion_command belongs to the grants %s and %s, which need it", oauth.GrantJWTBearer, oauth.GrantIDJAG)
	case s.Grant == oauth.GrantIDJAG && (s.IDP == nil || s.IDP.TokenURL == ""):
		return at.Errorf("the grant %s needs idp with its token_url", s.Grant)
	}
	return nil
}

// ClientDocument reads the address of a client metadata document: authorization servers accept only
// https with a path.
func ClientDocument(m document.Member) (string, error) {
	place, err := m.Str()
	if u, ok := oauth.SecureURL(place); place != "" && (!ok || u.Scheme != "https" || strings.Trim(u.Path, "/") == "" || u.Fragment != "") {
		return "", m.Errorf("%q is not an https URL with a path", place)
	}
	return place, err
}

// secureURL reads an address that is https, or http on this machine.
func secureURL(m document.Member) (string, error) {
	place, err := m.Str()
	if _, ok := oauth.SecureURL(place); place != "" && !ok {
		return "", m.Errorf("%q is neither an https URL nor http on this machine", place)
	}
	return place, err
}
