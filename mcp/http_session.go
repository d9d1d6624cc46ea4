package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"toolpipe/mcp/wire"
)

// exchange implements conn. A *statusError may also be the cause of a *wire.NoReplyError,
// which is Sent unless the status shows that the request was not run. If a legacy server lost
// the session, exchange begins a new one, except when the last session was lost before it
// answered anything. Then it repeats the request, unless that may be sent only once.
func (h *httpConn) exchange(ctx context.Context, r *wire.Request) (result []byte, err error) {
	if r.Opening {
		return h.exchangeAt(ctx, r, h.state())
	}
	unlock, err := h.lockRenewal(ctx)
	if err != nil {
		return nil, &wire.NoReplyError{Cause: err}
	}
	at := h.state()
	unlock()
	defer func() {
		if err == nil {
			h.renewed.Store(false)
		}
	}()
	result, err = h.exchangeAt(ctx, r, at)
	if err == nil || at.session == "" || !sessionLost(err, r.AtMostOnce) {
		return result, err
	}
	// Neither error is wrapped: they are not the outcome of the request.
	if again := h.renewSession(ctx, at.session); again != nil {
		return nil, &wire.NoReplyError{Cause: fmt.Errorf("%v; a new session failed: %v", err, again)}
	}
	if r.AtMostOnce {
		return nil, &wire.NoReplyError{Cause: fmt.Errorf("the server had lost the session, so the call was not run; a new session has begun, call again (the server said: %v)", err)}
	}
	return h.exchangeAt(ctx, r, h.state())
}

// sessionLost reports whether a request failed because the server lost the session. By the
// specification that is a 404; servers also send a 400, a 401, or an error on 200 with
// "session" in its message. A tool may also report another kind of session, such as a
// browser's: for a call, an error that names the id of a request is the answer to the call.
func sessionLost(err error, once bool) bool {
	e, ok := errors.AsType[*statusError](err)
	if !ok {
		return false
	}
	text := e.body
	if e.rpc != nil {
		text = []byte(e.rpc.Message)
	}
	ofSession := bytes.Contains(bytes.ToLower(text), []byte("session"))
	if e.status != http.StatusNotFound && once && e.id != 0 {
		return false
	}
	switch e.status {
	case http.StatusNotFound:
		return e.rpc == nil || ofSession || e.rpc.Code != wire.CodeMethodNotFound
	case http.StatusBadRequest, http.StatusUnauthorized:
		return ofSession
	case http.StatusOK:
		return ofSession && e.rpc.Code <= -32000 && e.rpc.Code > -32100
	}
	return false
}

// lockRenewal waits until no renewal of the session is in progress.
func (h *httpConn) lockRenewal(ctx context.Context) (unlock func(), err error) {
	select {
	case h.renewing <- struct{}{}:
		return func() { <-h.renewing }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// renewSession initializes again, unless another call has done so meanwhile. After a failure
// the lost session stays, so that the next call tries again.
func (h *httpConn) renewSession(ctx context.Context, lost string) error {
	unlock, err := h.lockRenewal(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if h.state().session != lost {
		return nil
	}
	if h.renewed.Load() {
		return errors.New("the session was lost twice")
	}
	h.session.Store("")
	if err := h.owner.initialize(ctx, h.owner.Protocol()); err != nil {
		h.session.Store(lost)
		return err
	}
	h.renewed.Store(true)
	return nil
}
