package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/mcp/oauth"
	"toolpipe/stream/netguard"
)

// LoginError reports that a server can be used only after a person has signed in: the server
// wants a token and there is none, or it wants one with more scopes.
type LoginError struct {
	Server    string   // its name
	Scopes    []string // that the server names
	Forbidden bool     // the server takes the login and refuses the request
	Missing   []string // for Forbidden: the Scopes that the login lacks; if none, signing in again does not help
	Why       error    // oauth.ErrSignedOut, oauth.ErrEnded, or why the stored login is not used
	refusal   error    // the server's; nil if it was not asked
}

func (e *LoginError) Error() string {
	message := e.Why.Error()
	if e.refusal != nil {
		message = e.refusal.Error() + "; " + message
	}
	return message
}

func (e *LoginError) Unwrap() []error { return []error{e.Why, e.refusal} }

// refreshPause is how long a token is still used after a refresh failed.
const refreshPause = 30 * time.Second

// loginSource gives the tokens of a stored login. The lock of its authorization guards it.
type loginSource struct {
	owner  *Session
	unsafe error // why no token may be sent; nil if it may

	read    bool
	login   *oauth.Login // nil: there is none
	refused error        // why the stored login cannot be used
	pause   time.Time    // until then no refresh is tried
	renewed time.Time    // when a refused token was refreshed last, or the refresh was refused
	failed  error        // why the last refresh failed; nil while the token can be used
}

// HasFixedToken reports whether the Spec names another source for the token than a login. No
// login is used then.
func (spec *Spec) HasFixedToken() bool {
	for name := range spec.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return spec.Bearer != "" || len(spec.TokenCommand) > 0 || spec.OAuth != nil && !spec.OAuth.SignsIn()
}

// LoginKey is the key of the server's login in the store.
func (spec *Spec) LoginKey() oauth.Key {
	k := oauth.Key{Server: spec.URL}
	if spec.OAuth != nil {
		k.Account = spec.OAuth.Account
	}
	return k
}

// loginSource is the source of the token if the Spec names no other one; nil if it does.
func (s *Session) loginSource(u *url.URL) *loginSource {
	if s.spec.Logins == nil || s.spec.HasFixedToken() {
		return nil
	}
	l := &loginSource{owner: s}
	if u.Scheme == "http" && !netguard.IsLoopback(u.Hostname()) && !s.spec.InsecureHTTP {
		l.unsafe = PlainHTTPError{u.Hostname()}
	}
	return l
}

// token is the token to send, or an empty one.
func (l *loginSource) token(ctx context.Context) (none oauth.Token, err error) {
	if !l.read {
		l.read = true
		if l.reread(ctx); l.refused != nil && ctx.Err() == nil {
			l.owner.report.warn("login_refused", fmt.Sprintf("server %q is used without its login: %v", l.owner.spec.Name, l.refused))
		}
	}
	switch {
	case l.login == nil:
		return none, nil
	case l.unsafe != nil:
		return none, l.unsafe
	case l.login.AccessToken != "" && (!l.login.Expired() || time.Now().Before(l.pause)):
		return l.login.Token, nil
	}
	err = l.refresh(ctx, "")
	switch {
	case ctx.Err() != nil:
		return none, context.Cause(ctx)
	case errors.Is(err, oauth.ErrSignedOut): // by another process
		l.login = nil
		return none, nil
	case err != nil && l.login.Alive(): // tried again after its end, or when the server refuses it
		l.pause, l.failed = l.login.Expires, nil
	case over(err):
		return none, &LoginError{Server: l.owner.spec.Name, Scopes: l.login.Scopes, Why: err}
	case err != nil: // the old token is good until the server refuses it
		l.pause, l.failed = time.Now().Add(refreshPause), err
	}
	return l.login.Token, nil
}

// reread reads the stored login. After a failure the server is used without a login: only a
// server that wants a token fails then.
func (l *loginSource) reread(ctx context.Context) {
	l.login, l.refused = l.owner.spec.Logins.Get(ctx, l.owner.spec.LoginKey())
}

func (l *loginSource) refresh(ctx context.Context, refused string) error {
	fresh, err := l.owner.spec.Logins.Refresh(ctx, l.owner.spec.OAuth, l.owner.spec.LoginKey(), refused)
	if err == nil {
		l.login, l.failed = fresh, nil
	}
	return err
}

// renew gets another token than the one that the server refused with e.
func (l *loginSource) renew(ctx context.Context, used string, e *statusError) error {
	l.reread(ctx) // another process may have refreshed it, or a person signed in again
	switch {
	case l.login != nil && l.login.AccessToken != "" && l.login.AccessToken != used && l.unsafe == nil:
		return nil
	case l.refused != nil:
		return l.needed(e, l.refused)
	case l.login == nil:
		return l.needed(e, oauth.ErrSignedOut)
	case l.unsafe != nil:
		return l.unsafe
	case e.status == http.StatusForbidden:
		return l.lacking(e)
	case l.login.AccessToken == "":
		return l.needed(e, oauth.ErrEnded)
	case time.Since(l.renewed) < time.Minute && !l.login.Expired():
		return l.needed(e, cmp.Or(l.failed, errors.New("the server refuses a token that was just refreshed")))
	}
	if l.failed == nil || time.Now().After(l.pause) { // otherwise a refresh has just failed
		err := l.refresh(ctx, used)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil || over(err):
			l.renewed = time.Now()
		default:
			l.pause = time.Now().Add(refreshPause)
		}
		l.failed = err
	}
	switch {
	case over(l.failed):
		return l.needed(e, l.failed)
	case l.failed != nil:
		return fmt.Errorf("%w; the token could not be refreshed: %w", e, l.failed)
	}
	return nil
}

// over reports whether a login that could not be refreshed is useless from now on.
func over(err error) bool {
	if _, refused := errors.AsType[*oauth.Error](err); refused {
		return !oauth.Passes(err)
	}
	return errors.Is(err, oauth.ErrEnded) || errors.Is(err, oauth.ErrSignedOut) || errors.Is(err, oauth.ErrOtherClient)
}

func (l *loginSource) needed(e *statusError, why error) *LoginError {
	return &LoginError{Server: l.owner.spec.Name, Scopes: e.refusal().Scopes(), Why: why, refusal: e}
}

// lacking is the error for a login with too few scopes.
func (l *loginSource) lacking(e *statusError) error {
	f := l.needed(e, errors.New("the login has the scopes that the server asks for, and the server still refuses"))
	f.Forbidden = true
	f.Missing = slices.DeleteFunc(slices.Clone(f.Scopes), func(scope string) bool { return slices.Contains(l.login.Scopes, scope) })
	if len(f.Missing) > 0 {
		f.Why = errors.New("the login lacks the scopes " + strconv.Quote(strings.Join(f.Missing, " ")))
	}
	return f
}

func (e *statusError) refusal() *oauth.Refusal {
	return &oauth.Refusal{Status: e.status, Challenges: e.header.Values("Www-Authenticate")}
}
