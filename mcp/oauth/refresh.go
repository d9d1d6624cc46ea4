package oauth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"toolpipe/stream/goroutine"
)

// ErrSignedOut and ErrEnded say that a person has to sign in.
var (
	ErrSignedOut = errors.New("there is no login at the server")
	ErrEnded     = errors.New("the login has ended")
)

// settleTime is how long a refresh goes on after the run has ended: the answer
// may be on its way, and with it the only valid refresh token.
const settleTime = 3 * time.Second

// Scopes are the scopes that the server names in its challenge.
func (r *Refusal) Scopes() []string { return readChallenge(r.Challenges).scopes }

// Refresh gives a login with another access token than the one used, which has
// expired or was refused. However many processes ask at once, the first that has the
// lock makes the only request, and the others read the tokens that it has stored: an
// authorization server that sees a refresh token twice takes it for stolen and
// ends the login (RFC 9700, 4.14.2).
//
// The error is ErrSignedOut where no login is stored, ErrEnded where the stored one
// cannot be refreshed any more, or any other, after which the stored tokens are as
// before.
func (s *Store) Refresh(ctx context.Context, settings *Settings, k Key, used string) (*Login, error) {
	unlock, err := s.lock(ctx, k)
	if err == nil {
		defer unlock()
	} else if _, given := s.given.Load(k); !given {
		return nil, err
	} else if l, failed := s.stored(ctx, k); l != nil || failed != nil { // which counts, not the given one
		return nil, err
	}
	l, err := s.Get(ctx, k)
	switch {
	case err != nil:
		return nil, err
	case l == nil:
		return nil, ErrSignedOut
	case l.AccessToken != used && l.AccessToken != "" && !l.Expired():
		return l, nil
	case l.RefreshToken == "":
		return nil, ErrEnded
	}
	ctx, cancel := outlast(ctx)
	defer cancel()
	fresh, err := Refresh(ctx, settings, *l)
	refused, ok := errors.AsType[*Error](err)
	switch {
	case ok && refused.Ended():
		return nil, errors.Join(ErrEnded, s.markEnded(ctx, k, l))
	case err != nil:
		return nil, err
	}
	s.tellSecrets(&fresh)
	s.keep(ctx, &fresh, l)
	return &fresh, nil
}

// outlast is a context that ends settleTime after ctx.
func outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := goroutine.AfterContext(ctx, func() {
		goroutine.AfterFunc(settleTime, func() { cancel(context.Cause(ctx)) })
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}

// keep stores a refreshed login in the place of old. Where that fails, this process
// uses the refreshed login all the same. A login that was given is not stored, except
// with a helper.
func (s *Store) keep(ctx context.Context, fresh, old *Login) {
	k := fresh.Key()
	if given, _ := s.given.Load(k); given == old && s.Helper == nil {
		s.given.Store(k, fresh)
		if fresh.RefreshToken != old.RefreshToken {
			s.warnNotSaved(k, errors.New("it was given, not stored"))
		}
	} else if err := s.put(ctx, fresh); err != nil {
		s.ahead.Store(k, fresh)
		s.warnNotSaved(k, err)
	}
}

func (s *Store) warnNotSaved(k Key, why error) {
	s.warnOnce("login_not_saved", k.Server, fmt.Sprintf("the login at %s was refreshed, but is not saved: %v; the refresh token that is stored may not be valid any more", k.Server, why))
}

// markEnded stores that the tokens of l are not valid any more. Its registration stays
// for the next sign-in. A login that was stored meanwhile stays as it is.
func (s *Store) markEnded(ctx context.Context, k Key, l *Login) error {
	now, err := s.stored(ctx, k)
	if now == nil || err != nil || now.RefreshToken != l.RefreshToken {
		return err
	}
	now.AccessToken, now.RefreshToken = "", ""
	return s.put(ctx, now)
}

// keyText is the secret text of a key; "" for none.
func keyText(k *ProofKey) string {
	if k == nil {
		return ""
	}
	text, _ := k.MarshalText()
	return string(text)
}

// tellSecrets calls Secret with the secrets of a login, so that no output shows them.
func (s *Store) tellSecrets(l *Login) {
	if s.Secret != nil {
		for _, secret := range [...]string{l.AccessToken, l.RefreshToken, l.Client.Secret, keyText(l.DPoP)} {
			s.Secret(secret)
		}
	}
}
