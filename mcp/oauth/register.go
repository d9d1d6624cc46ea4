package oauth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"toolpipe/stream/text/jsontext"
)

// registration is how the issuer knows this program: by the configured ID, by the
// registration of the previous sign-in, by the URL of its metadata document, or by a new
// registration. A registration is valid only at its issuer and never sent to another.
func (a *agent) registration(ctx context.Context, is *issuer, previous *Login, redirectURI string) (Client, error) {
	s := a.settings
	switch {
	case s.ClientID != "" && previous.Client.ID == s.ClientID && !sameIssuer(previous.Issuer, is.Name) && s.Issuer == "" && s.TokenURL == "":
		return Client{}, fmt.Errorf("the server names the authorization server %q now; the client_id belongs to %q, where the last sign-in was: if the new server is right, add its \"issuer\" to \"oauth\"", is.Name, previous.Issuer)
	case s.ClientID != "":
		return Client{ID: s.ClientID, AuthMethod: s.authMethod(is.AuthMethods), RedirectURI: redirectURI}, nil
	case reusable(previous, is) && previous.Client.RedirectURI == redirectURI:
		return previous.Client, nil
	case is.Documents && s.ClientMetadataURL != "" && (len(is.AuthMethods) == 0 || slices.Contains(is.AuthMethods, authNone)):
		return Client{ID: s.ClientMetadataURL, AuthMethod: authNone, RedirectURI: redirectURI}, nil
	case is.RegistrationURL != "":
		return a.register(ctx, is, redirectURI)
	}
	return Client{}, byHand(fmt.Sprintf("the authorization server %q does not let programs register themselves", is.Name), redirectURI, nil)
}

// reusable reports whether the issuer still knows the registration of the previous login.
func reusable(l *Login, is *issuer) bool {
	return l.Client.Dynamic && sameIssuer(l.Issuer, is.Name) && (l.Client.SecretExpires.IsZero() || time.Now().Before(l.Client.SecretExpires))
}

// byHand is the error of a failed registration. Its hint explains how the user registers by
// hand.
func byHand(message, redirectURI string, cause error) error {
	return &SettingError{message, fmt.Sprintf(`register an application in its developer console with the redirect URI %s, and add to the server's "oauth" in the config: "client_id", "redirect_uri": %s, and "client_secret_env" if it has a secret`,
		redirectURI, jsontext.Quoted(redirectURI)), cause}
}

// register registers this program (RFC 7591). It sends neither resource nor scope, because
// some servers refuse them.
func (a *agent) register(ctx context.Context, is *issuer, redirectURI string) (Client, error) {
	method := authNone
	if len(is.AuthMethods) > 0 && !slices.Contains(is.AuthMethods, authNone) {
		if method = authBasic; !slices.Contains(is.AuthMethods, authBasic) {
			method = authPost
		}
	}
	body := fmt.Appendf(nil, `{"client_name":%s,"application_type":"native","redirect_uris":[%s],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":%q}`,
		jsontext.Quoted(cmp.Or(a.settings.ClientName, "toolpipe")), jsontext.Quoted(redirectURI), method)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, is.RegistrationURL, bytes.NewReader(body))
	if err != nil {
		return Client{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	r, err := a.do(req)
	if err == nil {
		if err = r.refusal(); err != nil && r.status >= 400 {
			err = r.failure() // a refusal has no secret, and often names what is wrong with the redirect URI
		}
	}
	if err != nil {
		return Client{}, byHand(fmt.Sprintf("the authorization server %q refuses to register this program: %v", is.Name, err), redirectURI, err)
	}
	return readRegistration(r.body, method, redirectURI)
}

// readRegistration reads the reply. The reply decides the authentication method; asked is the
// default.
func readRegistration(doc []byte, asked, redirectURI string) (Client, error) {
	c := Client{ID: textOf(doc, "client_id"), Secret: textOf(doc, "client_secret"), RedirectURI: redirectURI, Dynamic: true}
	if c.ID == "" || !isShort(c.ID, c.Secret) {
		return Client{}, errors.New("the reply to the registration contains no client_id that can be used")
	}
	if n, ok := jsontext.Integer(jsontext.Member(doc, "client_secret_expires_at")); ok && n > 0 {
		c.SecretExpires = time.Unix(n, 0)
	}
	switch c.AuthMethod = cmp.Or(textOf(doc, "token_endpoint_auth_method"), asked); {
	case c.AuthMethod != authNone && c.Secret == "":
		c.AuthMethod = authNone
	case !slices.Contains([]string{authNone, authBasic, authPost}, c.AuthMethod):
		return Client{}, fmt.Errorf("the registration asks for %q at the token endpoint, which a program that registers itself cannot do", c.AuthMethod)
	}
	return c, nil
}
