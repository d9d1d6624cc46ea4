package config

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"

	"toolpipe/mcp/oauth"
	"toolpipe/run/failure"
)

// The keys of a server's oauth in the user's own config, and of its idp.
var (
	oauthKeys = []string{
		"grant", "client_id", "client_secret", "client_secret_env", "private_key_file", "algorithm", "scope", "scopes",
		"redirect_uri", "client_metadata_url", "client_name", "account",
		"issuer", "resource", "authorize_params", "metadata_url", "authorization_url", "token_url",
		"assertion_file", "assertion_command", "idp",
	}
	idpKeys = []string{"token_url", "client_id", "client_secret", "client_secret_env"}
)

// oauth reads how the server gives access.
func (e *entry) oauth(v Value) (*oauth.Settings, error) {
	s := &oauth.Settings{}
	if v.Kind() != '{' {
		return nil, v.Errorf("not an object")
	}
	for _, m := range v.Members() {
		if err := e.oauthMember(m, s); err != nil {
			return nil, err
		}
	}
	return s, checkOAuth(v, s)
}

// oauthMember reads one key of oauth.
func (e *entry) oauthMember(m member, s *oauth.Settings) (err error) {
	texts := map[string]*string{
		"client_id": &s.ClientID, "algorithm": &s.Algorithm, "redirect_uri": &s.RedirectURI, "client_metadata_url": &s.ClientMetadataURL,
		"client_name": &s.ClientName, "account": &s.Account, "issuer": &s.Issuer, "metadata_url": &s.MetadataURL,
		"authorization_url": &s.AuthorizationURL, "token_url": &s.TokenURL,
	}
	if text := texts[m.Key]; text != nil {
		*text, err = m.str()
		return err
	}
	return e.oauthKey(m, s)
}

// oauthKey reads a key of oauth that is not simply a text.
func (e *entry) oauthKey(m member, s *oauth.Settings) (err error) {
	switch m.Key {
	case "grant":
		s.Grant, err = m.oneOf(oauth.GrantCode, oauth.GrantClientCredentials, oauth.GrantJWTBearer, oauth.GrantIDJAG)
	case "client_secret", "client_secret_env":
		s.Secret, err = e.clientSecret(m)
	case "private_key_file":
		s.PrivateKey, e.KeyFile, err = e.fileBeside(m)
	case "scope", "scopes":
		var words []string
		words, err = m.Words()
		s.Scopes = strings.Fields(strings.Join(words, " "))
	case "resource":
		var text string
		text, err = m.str()
		s.Resource = &text
	case "authorize_params":
		s.AuthorizeParams, err = m.table()
	case "assertion_file":
		_, path, failed := e.fileBeside(m)
		err = failed
		s.Assertion = func(context.Context) (string, error) { // the platform writes a new one before it ends
			text, err := RuleFile.Read("assertion_file", path, 1<<20, func(string, string, string) {})
			return strings.TrimSpace(string(text)), err
		}
	case "assertion_command":
		s.AssertionCommand, err = m.Words()
	case "idp":
		s.IDP, err = e.idp(m.Value)
	default:
		err = m.Unknown(oauthKeys)
	}
	return err
}

// clientSecret reads a secret, or the name of the variable that holds it.
func (e *entry) clientSecret(m member) (string, error) {
	s, err := m.str()
	if err != nil {
		return "", err
	}
	if m.Key == "client_secret" {
		return e.expand(m.Value, s)
	}
	secret, ok, err := e.variable(m.Value, s)
	if err == nil && !ok {
		err = unresolved{m.Errorf("the variable %q is not set", s)}
	}
	return secret, err
}

// fileBeside reads a file that a key names, relative to the directory of the
// file that names it, as policies are.
func (e *entry) fileBeside(m member) (data []byte, path string, err error) {
	if path, err = m.str(); err != nil {
		return nil, "", err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(m.Doc.name), path)
	}
	data, err = RuleFile.Read(m.origin()+": "+m.Key, path, 1<<20, e.warner)
	if err != nil {
		err = unresolved{failure.Of(err)}
	}
	return data, path, err
}

func (e *entry) idp(v Value) (*oauth.IDP, error) {
	idp := &oauth.IDP{}
	if v.Kind() != '{' {
		return nil, v.Errorf("not an object")
	}
	for _, m := range v.Members() {
		var err error
		switch m.Key {
		case "token_url":
			idp.TokenURL, err = m.str()
		case "client_id":
			idp.ClientID, err = m.str()
		case "client_secret", "client_secret_env":
			idp.Secret, err = e.clientSecret(m)
		default:
			err = m.Unknown(idpKeys)
		}
		if err != nil {
			return nil, err
		}
	}
	return idp, nil
}

// checkOAuth refuses what cannot work, before a browser is opened for it.
func checkOAuth(at Value, s *oauth.Settings) error {
	asserts := s.Assertion != nil || len(s.AssertionCommand) > 0
	machine := !s.SignsIn()
	switch {
	case s.MetadataURL != "" && s.Issuer == "":
		return at.Errorf("metadata_url needs issuer, the one that its document names")
	case s.AuthorizationURL != "" && s.TokenURL == "", s.TokenURL != "" && s.AuthorizationURL == "" && !machine:
		return at.Errorf("authorization_url and token_url belong together")
	case s.Grant == oauth.GrantClientCredentials && (s.ClientID == "" || s.Secret == "" && len(s.PrivateKey) == 0):
		return at.Errorf("the grant %s needs client_id and a secret or a key", s.Grant)
	case (s.Grant == oauth.GrantJWTBearer || s.Grant == oauth.GrantIDJAG) != asserts:
		return at.Errorf("assertion_file or assertion_command belongs to the grants %s and %s, which need it", oauth.GrantJWTBearer, oauth.GrantIDJAG)
	case s.Grant == oauth.GrantIDJAG && (s.IDP == nil || s.IDP.TokenURL == ""):
		return at.Errorf("the grant %s needs idp with its token_url", s.Grant)
	}
	for name, place := range map[string]string{"metadata_url": s.MetadataURL, "authorization_url": s.AuthorizationURL, "token_url": s.TokenURL, "redirect_uri": s.RedirectURI} {
		if err := checkSecureURL(place); err != nil {
			return at.within(failure.Within(name, err))
		}
	}
	return checkClientDocument(at, s.ClientMetadataURL)
}

// checkClientDocument refuses an address that no authorization server takes for a
// client metadata document: it is https, with a path.
func checkClientDocument(at Value, place string) error {
	if u, err := url.Parse(place); place != "" && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") == "" || u.Fragment != "") {
		return at.Errorf("client_metadata_url: %q is not an https URL with a path", place)
	}
	return nil
}

// checkSecureURL refuses a place that is not https, nor http on this machine.
func checkSecureURL(place string) error {
	if place == "" {
		return nil
	}
	u, err := url.Parse(place)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && oauth.IsLoopback(u.Hostname())) {
		return failure.Usage("%q is neither an https URL nor http on this machine", place)
	}
	return nil
}
