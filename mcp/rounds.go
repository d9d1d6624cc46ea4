package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// roundTrip sends a request and, when a legacy server has forgotten the
// session, begins a new one, once in a run. What goes on the wire at most once
// is not repeated after that, though it was refused.
func (s *Session) roundTrip(ctx context.Context, r *request) ([]byte, error) {
	h, ok := s.conn.(*httpConn)
	if !ok {
		return s.conn.exchange(ctx, r)
	}
	before := h.state().session
	result, err := h.exchange(ctx, r)
	if err == nil || before == "" || !sessionLost(err) {
		return result, err
	}
	if again := s.renewSession(ctx, h, before); again != nil {
		return nil, &undelivered{cause: fmt.Errorf("%w; a new session failed: %w", err, again)}
	}
	if r.once {
		return nil, &undelivered{cause: errSessionRenewed}
	}
	return h.exchange(ctx, r)
}

var errSessionRenewed = errors.New("the server had lost the session, so the call was not run; a new session has begun, call again")

// sessionLost: 404 by the specification, in the field also 400, 401 or an
// error on 200 that speaks of the session (mcp-client.md 4.2).
func sessionLost(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	if !ok {
		return false
	}
	said := e.body
	if e.rpc != nil {
		said = []byte(e.rpc.message)
	}
	speaks := bytes.Contains(bytes.ToLower(said), []byte("session"))
	switch e.status {
	case http.StatusNotFound:
		return e.rpc == nil || speaks || e.rpc.code != codeMethodNotFound
	case http.StatusBadRequest, http.StatusUnauthorized:
		return speaks
	case http.StatusOK:
		return speaks && e.rpc.code <= -32000 && e.rpc.code > -32100
	}
	return false
}

// renewSession initializes again, unless another call has done so meanwhile.
func (s *Session) renewSession(ctx context.Context, h *httpConn, lost string) error {
	s.renewing.Lock()
	defer s.renewing.Unlock()
	if now := h.state().session; now != lost {
		return nil
	}
	if s.renewed {
		return errors.New("the session was lost twice")
	}
	s.renewed = true
	h.mu.Lock()
	h.at.session = ""
	h.mu.Unlock()
	return s.initialize(ctx, s.revision)
}

const (
	maxRounds  = 8
	roundPause = 50 * time.Millisecond
)

// rounds sends a request and answers what the server asks on the way
// (multi round-trip requests, mcp-client.md 3.7): each round is a new request
// with the same params, the answers, and the server's state byte for byte.
func (s *Session) rounds(ctx context.Context, r *request) ([]byte, error) {
	params := r.params
	for round := 1; ; round++ {
		raw, err := s.roundTrip(ctx, r)
		if err != nil {
			return nil, err
		}
		incomplete, ok := errors.AsType[*partial](complete(raw))
		switch {
		case !ok:
			return raw, nil
		case incomplete.resultType != "input_required" || !s.modern:
			return nil, &undelivered{sent: true, cause: incomplete}
		case round == maxRounds:
			return nil, &undelivered{cause: fmt.Errorf("the server asked for input %d times without an end", maxRounds)}
		}
		answers, err := s.inputResponses(ctx, member(raw, "inputRequests"))
		if err != nil {
			return nil, &undelivered{cause: err}
		}
		if answers == nil && !pause(ctx, time.Duration(round)*roundPause) {
			return nil, &undelivered{cause: context.Cause(ctx)}
		}
		again := *r
		again.params = nextRound(params, answers, member(raw, "requestState"))
		r = &again
	}
}

// nextRound is params with the members of the next round; nil for none.
func nextRound(params, answers, state []byte) []byte {
	next := bytes.Clone(params[:len(params)-1])
	if answers != nil {
		next = append(append(next, `,"inputResponses":`...), answers...)
	}
	if state != nil && string(state) != "null" {
		next = append(append(next, `,"requestState":`...), state...)
	}
	return append(next, '}')
}

// inputResponses answers every request of a round; nil when there was none.
func (s *Session) inputResponses(ctx context.Context, requests []byte) ([]byte, error) {
	var answers []byte
	for key, r := range members(requests) {
		method := text(member(r, "method"))
		if method != "elicitation/create" {
			return nil, fmt.Errorf("the server asked for %q, which toolpipe does not offer", method)
		}
		if answers == nil {
			answers = []byte{'{'}
		} else {
			answers = append(answers, ',')
		}
		answers = append(append(answers, key...), ':')
		answers = append(answers, s.elicited(ctx, member(r, "params"))...)
	}
	if answers == nil {
		return nil, nil
	}
	return append(answers, '}'), nil
}

// pause says false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
