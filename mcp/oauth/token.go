package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/netguard"
	"toolpipe/stream/text/jsontext"
)

// The authentication methods of a client at the token endpoint.
const (
	authNone   = "none"
	authBasic  = "client_secret_basic"
	authPost   = "client_secret_post"
	authSigned = "private_key_jwt"
)

// grantJWT is the grant of RFC 7523: a party that the authorization server trusts vouches for
// the client or the person.
const grantJWT = "urn:ietf:params:oauth:grant-type:jwt-bearer"

func (s *Settings) authMethod(supported []string) string {
	switch {
	case len(s.PrivateKey) > 0:
		return authSigned
	case s.Secret == "":
		return authNone
	case slices.Contains(supported, authPost) && !slices.Contains(supported, authBasic):
		return authPost
	}
	return authBasic
}

type Token struct {
	AccessToken string    `json:"access_token"`
	DPoP        *ProofKey `json:"dpop_key,omitempty"` // the key that the token is bound to; nil for a bearer token
	Obtained    time.Time `json:"obtained_at,omitzero"`
	Expires     time.Time `json:"expires_at,omitzero"` // zero: unknown
}

// Expired reports whether the token must be replaced before use. It is true some time before
// the token's end, so that the token does not expire on its way.
func (t *Token) Expired() bool {
	margin := 30 * time.Second
	if !t.Obtained.IsZero() {
		margin = max(0, min(margin, t.Expires.Sub(t.Obtained)/2))
	}
	return !t.Expires.IsZero() && time.Now().After(t.Expires.Add(-margin))
}

// Alive reports whether the token's end is known and has not come. It may be true for an Expired
// token.
func (t *Token) Alive() bool { return t.AccessToken != "" && time.Now().Before(t.Expires) }

// Authorize puts the token into a request, with a proof if the token is bound to a key.
func (t *Token) Authorize(req *http.Request) error {
	scheme := "Bearer "
	if t.DPoP != nil {
		scheme = "DPoP "
	}
	req.Header.Set("Authorization", scheme+t.AccessToken)
	return t.DPoP.Sign(req, t.AccessToken)
}

type tokenReply struct {
	Token
	refresh string
	scopes  []string // nil: all that were requested
}

func (a *agent) requestToken(ctx context.Context, endpoint, issuer string, c Client, form url.Values) (tokenReply, error) {
	r, err := a.post(ctx, endpoint, issuer, c, form)
	if err = cmp.Or(err, r.refusal()); err != nil {
		return tokenReply{}, err
	}
	return readTokenReply(r.body, a.key)
}

// revoke sends a token that is not used any more (RFC 7009).
func (a *agent) revoke(ctx context.Context, l Login, form url.Values) error {
	r, err := a.post(ctx, l.RevocationURL, l.Issuer, l.Client.with(a.settings), form)
	if err == nil && r.status != http.StatusOK && r.status != http.StatusNoContent {
		err = r.refusal()
	}
	return err
}

// setTarget sets the server (RFC 8707) and the scopes of the requested tokens in a form. ""
// and nil leave a field out.
func setTarget(form url.Values, resource string, scopes []string) {
	form.Del("resource")
	if resource != "" {
		form.Set("resource", resource)
	}
	form.Del("scope")
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
}

// post sends a form. It sends it once more if the server wants its nonce in the key's proof.
func (a *agent) post(ctx context.Context, endpoint, issuer string, c Client, form url.Values) (*response, error) {
	r, err := a.postOnce(ctx, endpoint, issuer, c, form)
	if refused, ok := errors.AsType[*Error](r.refusal()); ok && refused.Code == codeUseNonce && a.key != nil {
		r, err = a.postOnce(ctx, endpoint, issuer, c, form)
	}
	return r, err
}

func (a *agent) postOnce(ctx context.Context, endpoint, issuer string, c Client, form url.Values) (*response, error) {
	switch c.AuthMethod {
	case authSigned:
		assertion, err := clientAssertion(c.ID, a.settings, issuer, time.Now())
		if err != nil {
			return nil, err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	case authPost:
		form.Set("client_id", c.ID)
		form.Set("client_secret", c.Secret)
	case authNone:
		if c.ID != "" {
			form.Set("client_id", c.ID)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if c.AuthMethod == authBasic {
		req.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret))
	}
	if err := a.key.Sign(req, ""); err != nil {
		return nil, err
	}
	return a.do(req)
}

// refusal is the error in a reply; nil for none, and for no reply. It passes if the status or the
// code says so.
func (r *response) refusal() error {
	if r == nil {
		return nil
	}
	err := r.complaint()
	e, coded := errors.AsType[*Error](err)
	if err != nil && (r.status == http.StatusTooManyRequests || r.status >= 500) || coded && slices.Contains([]string{"temporarily_unavailable", "server_error"}, e.Code) {
		return passing{err, r.after}
	}
	return err
}

// complaint is the text of a refusal. Nothing else of a reply is ever quoted: it may contain a
// token in an unknown form.
func (r *response) complaint() error {
	if jsontext.CheckObject(r.body, jsontext.Peer, nil) == nil {
		if code := textOf(r.body, "error"); code != "" { // some servers send it with status 200
			return &Error{wire.Snippet([]byte(code)), wire.Snippet([]byte(textOf(r.body, "error_description")))}
		}
		if r.status == http.StatusOK || r.status == http.StatusCreated {
			return nil
		}
	}
	if r.isPage() {
		return fmt.Errorf("HTTP status %d with %s", r.status, r.page())
	}
	return fmt.Errorf("HTTP status %d without an answer that can be read (%d bytes)", r.status, len(r.body))
}

// maxToken limits a token, which is sent with every request, in bytes.
const maxToken = 64 << 10

// readTokenReply reads the reply to a request that was signed with key; nil means unsigned.
func readTokenReply(doc []byte, key *ProofKey) (tokenReply, error) {
	kind := strings.ToLower(textOf(doc, "token_type"))
	t := tokenReply{Token{AccessToken: textOf(doc, "access_token"), DPoP: key, Obtained: time.Now()}, textOf(doc, "refresh_token"), strings.Fields(textOf(doc, "scope"))}
	switch {
	case t.AccessToken == "" || len(t.AccessToken) > maxToken || !wire.IsPrintable(t.AccessToken) || !wire.IsPrintable(t.refresh):
		return tokenReply{}, fmt.Errorf("not a token reply (%d bytes)", len(doc))
	case key == nil && kind != "bearer":
		return tokenReply{}, errors.New("the token in the reply is not a bearer token")
	case key != nil && kind != "dpop":
		return tokenReply{}, errors.New("the token in the reply is not bound to a key, although both servers support it (DPoP, RFC 9449): a thief could use it, so it is not used")
	}
	const longest = 10 * 365 * 24 * 3600
	if n, ok := jsontext.Integer(jsontext.Member(doc, "expires_in")); ok && n > 0 {
		t.Expires = t.Obtained.Add(time.Duration(min(n, longest)) * time.Second)
	}
	return t, nil
}

// patience limits the waits for one token. It is shorter than the time that a server has to
// start, and than the time that another process waits for the lock of a login.
const patience = 20 * time.Second

// passing is the failure of a token request that may succeed later: the authorization server gets
// too many requests, or is out of order.
type passing struct {
	error
	after time.Duration // the wait that the server asks for; 0 for none
}

func (e passing) Unwrap() error { return e.error }

func (e passing) Error() string {
	if e.after == 0 {
		return e.error.Error()
	}
	return e.error.Error() + ", and asks to wait " + e.after.Round(time.Second).String()
}

// Passes reports whether the tokens of a login may still be refreshed later, although the
// authorization server failed with err.
func Passes(err error) bool {
	_, ok := errors.AsType[passing](err)
	return ok
}

// patiently repeats a token request while its failure passes: after the wait that the server asks
// for, or after a growing one. It gives up when the waits would take longer than limit, and when
// ctx ends.
func patiently[T any](ctx context.Context, limit time.Duration, request func() (T, error)) (T, error) {
	end := time.Now().Add(limit)
	for made := 0; ; made++ {
		t, err := request()
		failed, again := errors.AsType[passing](err)
		wait := cmp.Or(failed.after, netguard.Pause(made))
		if !again || made == netguard.MaxRetries || time.Until(end) < wait || goroutine.Await(ctx.Done(), wait) {
			return t, err
		}
	}
}
