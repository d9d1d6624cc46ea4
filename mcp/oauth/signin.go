package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
)

// A signIn is one run of the authorization code grant with PKCE. Before the browser opens, it
// records everything that the redirect is checked against.
type signIn struct {
	Request
	agent    *agent
	resource *resource
	issuer   *issuer
	client   Client
	scopes   []string
	callback *callback
	state    string
	verifier string
}

// SignIn gets a login by the authorization code grant with PKCE. It finds the authorization
// server, registers if needed, shows the address, waits for the redirect and trades the code
// for tokens. It stores nothing.
//
// The error is an *Error if the authorization server refused, ErrNobody if nobody finished in
// time, a *SettingError if a setting would help, or any other error.
func SignIn(ctx context.Context, r Request) (Login, error) {
	s, err := r.prepare(ctx)
	if err != nil {
		return Login{}, err
	}
	serving, cancel := context.WithCancel(ctx)
	defer s.callback.close()
	defer cancel()
	address, err := s.authorizationURL()
	if err != nil {
		return Login{}, err
	}
	s.callback.serve(serving)
	isOld := func(scope string) bool { return slices.Contains(s.Previous.Scopes, scope) }
	s.Show(Consent{URL: address, RedirectURI: s.client.RedirectURI, Pasted: len(s.callback.listeners) == 0, Server: s.Server, Issuer: s.issuer.Name, Scopes: s.scopes, New: slices.DeleteFunc(slices.Clone(s.scopes), isOld)})
	back, err := s.await(serving)
	if err != nil {
		return Login{}, err
	}
	login, err := s.finish(ctx, back.query)
	back.finish(err == nil)
	return login, err
}

// prepare finds the authorization server, binds the redirect and registers.
func (r Request) prepare(ctx context.Context) (*signIn, error) {
	server, err := url.Parse(r.Server)
	if err != nil || server.Host == "" {
		return nil, fmt.Errorf("%q is not a server's URL", r.Server)
	}
	r.Settings, r.Previous = cmp.Or(r.Settings, &Settings{}), cmp.Or(r.Previous, &Login{})
	s := &signIn{Request: r, agent: newAgent(server, r.Settings), state: random(), verifier: random()}
	r.Secret(s.state)
	r.Secret(s.verifier)
	c := r.Refusal.challenge()
	if s.resource, s.issuer, err = s.agent.discover(ctx, r.Refusal, r.Previous.Issuer); err != nil {
		return nil, err
	}
	s.warnAssumed()
	switch {
	case s.issuer.AuthorizationURL == "":
		return nil, fmt.Errorf("the authorization server %q has no page to sign in", s.issuer.Name)
	case !slices.Contains(s.issuer.PKCE, "S256"):
		// Without S256 a stolen code can be used.
		return nil, &SettingError{
			fmt.Sprintf("the authorization server %q does not say that it checks PKCE with S256 (code_challenge_methods_supported), so the code could be stolen on its way", s.issuer.Name),
			`if its makers document that it does, add to the server's "oauth" in the config: "authorization_url" and "token_url"; S256 is sent to them`, nil,
		}
	}
	s.scopes = s.chooseScopes(c)
	if !isShort(s.scopes...) {
		return nil, fmt.Errorf("the server asks for scopes of more than %d KiB", maxShown>>10)
	}
	if err = s.bind(); err != nil {
		return nil, err
	}
	if s.client, err = s.agent.registration(ctx, s.issuer, r.Previous, s.callback.redirectURI); err != nil {
		s.callback.close()
		if s.issuer.guessed {
			err = &SettingError{"the server does not publish its authorization server; its origin was tried: " + err.Error(), unsureHint, err}
		}
	}
	r.Secret(s.client.Secret)
	return s, err
}

// warnAssumed warns which address is taken as the authorization server although nothing names
// it.
func (s *signIn) warnAssumed() {
	if !s.issuer.assumed || s.Warn == nil {
		return
	}
	message := fmt.Sprintf("the server does not publish its authorization server (RFC 9728), so its origin %s is used as the authorization server, as in MCP 2025-03-26", s.issuer.Name)
	if s.issuer.guessed {
		message += "; that has no metadata either: /authorize, /token and /register are tried there"
	}
	s.Warn("login_assumed", message)
}

// bind listens at the address of the redirect: the configured URI, the one of the previous
// registration if its port is still free, or a free port.
func (s *signIn) bind() (err error) {
	uri := s.Settings.RedirectURI
	if uri == "" && s.Settings.ClientID == "" && reusable(s.Previous, s.issuer) {
		if s.callback, err = listen(s.Previous.Client.RedirectURI, s.state); err == nil {
			return nil
		}
	}
	s.callback, err = listen(uri, s.state)
	return err
}

// chooseScopes are the scopes to request: the configured ones, else the challenge's, else
// those in the server's metadata. Scopes that were granted before are added. If the issuer
// offers tokens that can be refreshed, one is requested.
func (s *signIn) chooseScopes(c challenge) []string {
	scopes := s.Settings.Scopes
	for _, other := range [][]string{c.scopes, s.resource.scopes} {
		if len(scopes) == 0 {
			scopes = other
		}
	}
	if sameIssuer(s.Previous.Issuer, s.issuer.Name) {
		scopes = union(s.Previous.Scopes, scopes)
	}
	const offline = "offline_access"
	if len(scopes) > 0 && len(s.Settings.Scopes) == 0 && slices.Contains(s.issuer.Scopes, offline) {
		scopes = union(scopes, []string{offline})
	}
	return scopes
}

// random is a secret of 260 bits in the alphabet of a code verifier (RFC 7636).
func random() string { return rand.Text() + rand.Text() }

// authorizationURL is the address for the browser. Neither configured parameters nor
// parameters in the endpoint's URL replace a parameter that is set here.
func (s *signIn) authorizationURL() (string, error) {
	u, ok := SecureURL(s.issuer.AuthorizationURL)
	// A shell could take any other character in the host for an operator, and programs that
	// open browsers are scripts. Path and query are escaped.
	if !ok || !wire.IsOnly(u.Host, ".-_:[]") {
		return "", fmt.Errorf("the authorization server %q has a page to sign in that is not opened: %q is not an https URL", s.issuer.Name, wire.Snippet([]byte(s.issuer.AuthorizationURL)))
	}
	query := u.Query()
	for name, value := range s.Settings.AuthorizeParams {
		query.Set(name, value)
	}
	sum := sha256.Sum256([]byte(s.verifier))
	query.Set("response_type", "code")
	query.Set("client_id", s.client.ID)
	query.Set("redirect_uri", s.client.RedirectURI)
	query.Set("state", s.state)
	query.Set("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))
	query.Set("code_challenge_method", "S256")
	setTarget(query, s.resource.id, s.scopes)
	u.RawQuery, u.Fragment = query.Encode(), ""
	return u.String(), nil
}

// await waits for the redirect, from the browser or pasted.
func (s *signIn) await(ctx context.Context) (redirect, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, SignInTime, ErrNobody)
	defer cancel()
	if s.Paste != nil {
		goroutine.StartIn(&s.callback.group, func() { s.awaitPaste(ctx) })
	} else if len(s.callback.listeners) == 0 {
		return redirect{}, fmt.Errorf("the redirect leads to %s, which is not this machine, and nobody can paste its address here", s.client.RedirectURI)
	}
	select {
	case r := <-s.callback.arrived:
		return r, nil
	case <-ctx.Done():
		return redirect{}, context.Cause(ctx)
	}
}

func (s *signIn) awaitPaste(ctx context.Context) {
	var wrong error
	for ctx.Err() == nil {
		line, err := s.Paste(ctx, wrong)
		if err != nil {
			return
		}
		var query url.Values
		if query, wrong = s.callback.readPasted(line); wrong != nil {
			continue
		}
		select {
		case s.callback.arrived <- redirect{query, nil}:
		case <-ctx.Done():
		}
		return
	}
}

// finish checks the redirect and trades its code for tokens.
func (s *signIn) finish(ctx context.Context, query url.Values) (Login, error) {
	code := query.Get("code")
	s.Secret(code)
	if err := s.checkIssuer(query); err != nil {
		return Login{}, err
	}
	if refused := query.Get("error"); refused != "" {
		return Login{}, &Error{wire.Snippet([]byte(refused)), wire.Snippet([]byte(query.Get("error_description")))}
	}
	if code == "" {
		return Login{}, errors.New("the redirect contains neither a code nor an error")
	}
	t, err := patiently(ctx, patience, func() (tokenReply, error) { return s.exchange(ctx, code) })
	if err != nil {
		return Login{}, fmt.Errorf("the authorization server %q gives no token: %w", s.issuer.Name, err)
	}
	l := Login{
		Server: s.Server, Account: s.Settings.Account, Issuer: s.issuer.Name, Resource: s.resource.id,
		TokenURL: s.issuer.TokenURL, RevocationURL: s.issuer.RevocationURL, Client: s.client, Scopes: s.scopes,
	}
	s.Secret(t.AccessToken)
	s.Secret(t.refresh)
	s.Secret(keyText(t.DPoP))
	l.take(t)
	return l, nil
}

// checkIssuer compares the sender of the redirect (RFC 9207) with the issuer, byte for byte:
// a hostile authorization server may have led the browser to an honest one.
func (s *signIn) checkIssuer(query url.Values) error {
	switch said, given := query.Get("iss"), query.Has("iss"); {
	case given && said != s.issuer.Name:
		return fmt.Errorf("the redirect comes from the issuer %q, not from %q: its code is not used", wire.Snippet([]byte(said)), s.issuer.Name)
	case !given && s.issuer.NamesItself:
		return fmt.Errorf("the redirect does not name its issuer, which %q always does: its code is not used", s.issuer.Name)
	}
	return nil
}

// exchange trades the code for tokens. If a registration gave a secret and the method "none",
// and the request without the secret is refused, it is repeated with the secret: some servers
// register clients so and then want it.
func (s *signIn) exchange(ctx context.Context, code string) (tokenReply, error) {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {s.client.RedirectURI}, "code_verifier": {s.verifier}}
	setTarget(form, s.resource.id, nil)
	t, err := s.agent.requestToken(ctx, s.issuer.TokenURL, s.issuer.Name, s.client.with(s.Settings), form)
	if e, refused := errors.AsType[*Error](err); refused && e.Code == "invalid_client" && s.client.AuthMethod == authNone && s.client.Secret != "" {
		s.client.AuthMethod = authPost
		t, err = s.agent.requestToken(ctx, s.issuer.TokenURL, s.issuer.Name, s.client, form)
	}
	return t, err
}
