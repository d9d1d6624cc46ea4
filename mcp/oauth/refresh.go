package oauth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"toolpipe/stream/goroutine"
)

// ErrSignedOut and ErrEnded mean that a person has to sign in.
var (
	ErrSignedOut = errors.New("there is no login at the server")
	ErrEnded     = errors.New("the login has ended")
)

// settleTime is how long a refresh continues after the run has ended: the answer may already
// be on its way with the only valid refresh token.
const settleTime = 3 * time.Second

// Scopes are the scopes that the server names in its challenge.
func (r *Refusal) Scopes() []string { return readChallenge(r.Challenges).scopes }

// Refresh returns a login with a new access token. refused is the token that the server refused;
// "" if the stored one has expired. If several processes ask at once, the first one with the lock
// makes the only request, and the others read the tokens that it stored. An authorization server
// that sees a refresh token twice takes it for stolen and ends the login (RFC 9700, 4.14.2).
//
// The error is ErrSignedOut if no login is stored, and ErrEnded if the stored one cannot be
// refreshed any more. After any other error the stored tokens are unchanged. As long as the
// access token is alive, a refusal changes nothing: some authorization servers refresh a token
// only after its end (NousResearch/hermes-agent#110720).
func (s *Store) Refresh(ctx context.Context, settings *Settings, k Key, refused string) (*Login, error) {
	unlock, err := s.lock(ctx, k)
	if err == nil {
		defer unlock()
	} else if _, given := s.given.Load(k); !given {
		return nil, err
	} else if l, failed := s.stored(ctx, k); l != nil || failed != nil { // the stored login counts, not the given one
		return nil, err
	}
	l, err := s.Get(ctx, k)
	switch {
	case err != nil:
		return nil, err
	case l == nil:
		return nil, ErrSignedOut
	case l.AccessToken != refused && l.AccessToken != "" && !l.Expired():
		return l, nil
	case l.RefreshToken == "":
		return nil, ErrEnded
	}
	longer, cancel := outlast(ctx)
	defer cancel()
	limit := patience
	if l.Alive() && l.AccessToken != refused {
		limit = 0 // the token can be used meanwhile
	}
	fresh, err := patiently(ctx, limit, func() (Login, error) { return Refresh(longer, settings, *l) })
	switch {
	case ended(err) && !l.Alive():
		return nil, errors.Join(ErrEnded, s.markEnded(longer, k, l))
	case err != nil:
		return nil, err
	}
	s.tellSecrets(&fresh)
	s.keep(longer, &fresh, l)
	return &fresh, nil
}

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

// keep stores a refreshed login instead of old. If that fails, this process still uses the
// refreshed login. A login from Give is stored only with a helper.
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

// markEnded records that the tokens of l are no longer valid. Its registration stays for the
// next sign-in. A login that was stored meanwhile is not changed.
func (s *Store) markEnded(ctx context.Context, k Key, l *Login) error {
	now, err := s.stored(ctx, k)
	if now == nil || err != nil || now.RefreshToken != l.RefreshToken {
		return err
	}
	now.AccessToken, now.RefreshToken = "", ""
	return s.put(ctx, now)
}

// keyText is the secret text of a key; "" for nil.
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
