package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"toolpipe/mcp/wire"
)

// roundTrip sends a request and, when a legacy server has forgotten the
// session, begins a new one, once in a run. What goes on the wire at most once
// is not repeated after that, though it was refused.
func (s *Session) roundTrip(ctx context.Context, r *wire.Request) ([]byte, error) {
	if s.transport != "http" {
		return s.conn.exchange(ctx, r)
	}
	h := s.http
	at, err := s.settledState(ctx, h)
	if err != nil {
		return nil, &wire.NoReplyError{Cause: err}
	}
	result, err := h.exchangeAt(ctx, r, at)
	if err == nil || at.session == "" || !sessionLost(err, r.AtMostOnce) {
		return result, err
	}
	// The text of both errors is kept. Neither is the outcome of the request,
	// so that nobody takes them for an answer of the tool.
	if again := s.renewSession(ctx, h, at.session); again != nil {
		return nil, &wire.NoReplyError{Cause: fmt.Errorf("%v; a new session failed: %v", err, again)}
	}
	if r.AtMostOnce {
		return nil, &wire.NoReplyError{Cause: fmt.Errorf("the server had lost the session, so the call was not run; a new session has begun, call again (the server said: %v)", err)}
	}
	return h.exchange(ctx, r)
}

// sessionLost says whether an error that a request of a session got means that
// the server has forgotten the session. That is a 404 by the specification; in
// the field also a 400, a 401 or an error on 200 that speaks of the session.
//
// A call must not be told as not run because its own error speaks of some
// session (a browser's, a database's): for what goes on the wire at most once,
// an error that bears the id of a request is the answer to it.
func sessionLost(err error, once bool) bool {
	e, ok := errors.AsType[*statusError](err)
	if !ok {
		return false
	}
	said := e.body
	if e.rpc != nil {
		said = []byte(e.rpc.Message)
	}
	speaks := bytes.Contains(bytes.ToLower(said), []byte("session"))
	if e.status != http.StatusNotFound && once && e.answers {
		return false
	}
	switch e.status {
	case http.StatusNotFound:
		return e.rpc == nil || speaks || e.rpc.Code != wire.CodeMethodNotFound
	case http.StatusBadRequest, http.StatusUnauthorized:
		return speaks
	case http.StatusOK:
		return speaks && e.rpc.Code <= -32000 && e.rpc.Code > -32100
	}
	return false
}

// settledState is the state to send a request with. It waits for a renewal of the
// session that is under way: what was sent meanwhile would belong to none.
func (s *Session) settledState(ctx context.Context, h *httpConn) (httpState, error) {
	select {
	case s.renewing <- struct{}{}:
		defer func() { <-s.renewing }()
		return h.state(), nil
	case <-ctx.Done():
		return httpState{}, context.Cause(ctx)
	}
}

// renewSession initializes again, unless another call has done so meanwhile.
// One that fails leaves the lost session in place for the next call to renew.
func (s *Session) renewSession(ctx context.Context, h *httpConn, lost string) error {
	select {
	case s.renewing <- struct{}{}:
		defer func() { <-s.renewing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if now := h.state().session; now != lost {
		return nil
	}
	if s.renewed {
		return errors.New("the session was lost twice")
	}
	h.setSession("")
	if err := s.initialize(ctx, s.Protocol()); err != nil {
		h.setSession(lost)
		return err
	}
	s.renewed = true
	return nil
}
