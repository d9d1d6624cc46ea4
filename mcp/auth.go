package mcp

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"sync"

	"toolpipe/mcp/oauth"
	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
	"toolpipe/stream/netguard"
)

// authorization gives the token for one HTTP server: a fixed token, the output of a command,
// a token of a grant, or a stored login. It may be used concurrently; it fetches one token at
// a time.
type authorization struct {
	fetch  func(ctx context.Context, r *oauth.Refusal) (oauth.Token, error) // a command or a grant; nil for none
	grant  bool                                                             // fetch is a grant; its first token needs the server's challenge
	login  *loginSource                                                     // nil for none
	secret func(string)                                                     // called with every token

	mu    sync.Mutex
	token oauth.Token
}

// newAuthorization also checks that no credential goes over plain http to another host,
// unless the Spec allows it.
func newAuthorization(s *Session, u *url.URL) (*authorization, error) {
	if u.Scheme == "http" && !netguard.IsLoopback(u.Hostname()) && s.spec.HasCredentials() {
		if !s.spec.InsecureHTTP {
			return nil, PlainHTTPError{u.Hostname()}
		}
		s.report.warn("insecure_http", fmt.Sprintf("server %q: credentials go over plain http to %q", s.spec.Name, u.Hostname()))
	}
	a := &authorization{secret: func(value string) { s.report.secrets.AddFrom("the token of server "+s.spec.Name, value) }}
	switch {
	case s.spec.Bearer != "":
		a.token.AccessToken = s.spec.Bearer
	case len(s.spec.TokenCommand) > 0:
		a.fetch = func(ctx context.Context, _ *oauth.Refusal) (oauth.Token, error) {
			value, err := s.runForLine(ctx, "token_command", s.spec.TokenCommand)
			return oauth.Token{AccessToken: value}, err
		}
	case s.spec.OAuth != nil && !s.spec.OAuth.SignsIn():
		settings := *s.spec.OAuth
		if argv := settings.AssertionCommand; len(argv) > 0 {
			settings.Assertion = func(ctx context.Context) (string, error) {
				return s.runForLine(ctx, "assertion_command", argv)
			}
		}
		a.fetch, a.grant = oauth.New(u, &settings, a.secret).Token, true
	default:
		a.login = s.loginSource(u)
	}
	return a, nil
}

func (a *authorization) hasToken() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.token.AccessToken != "" || a.fetch != nil || a.login != nil && a.login.login != nil
}

// current is the token to send, or an empty one. An expired token is replaced before the
// server can refuse it.
func (a *authorization) current(ctx context.Context) (oauth.Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login != nil {
		return a.login.token(ctx)
	}
	has := a.token.AccessToken != ""
	if a.fetch == nil || has && !a.token.Expired() || !has && a.grant {
		return a.token, nil
	}
	err := a.replace(ctx, nil)
	return a.token, err
}

// renew gets another token after the server refused the used one with e.
func (a *authorization) renew(ctx context.Context, used string, e *statusError) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login != nil {
		return a.login.renew(ctx, used, e)
	}
	if a.token.AccessToken != used {
		return nil // another request has renewed it
	}
	if err := a.replace(ctx, e.refusal()); err != nil {
		return fmt.Errorf("%w; %w", e, err)
	}
	return nil
}

// replace fetches a token; r is the refusal of the token before, or nil.
func (a *authorization) replace(ctx context.Context, r *oauth.Refusal) error {
	t, err := a.fetch(ctx, r)
	if err == nil {
		a.secret(t.AccessToken)
		a.token = t
	}
	return err
}

// runForLine runs argv and returns the first line of its output as a token. Errors begin with
// what, the key of the setting.
func (s *Session) runForLine(ctx context.Context, what string, argv []string) (string, error) {
	env := process.ChildEnv(s.spec.Environ, s.spec.Env, s.spec.InheritEnv)
	value, err := s.procs.FirstLine(ctx, exec.Cmd{Args: argv, Env: env, Dir: s.spec.Dir})
	if err == nil && (value == "" || !wire.IsPrintable(value)) {
		err = fmt.Errorf("%q: the first line of its output is not a token", argv[0])
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return value, nil
}
