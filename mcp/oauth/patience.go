package oauth

import (
	"cmp"
	"context"
	"errors"
	"time"

	"toolpipe/stream/goroutine"
	"toolpipe/stream/netguard"
)

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
