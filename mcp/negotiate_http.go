package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"toolpipe/mcp/wire"
)

// negotiateHTTP finds the revision and the transport of a server at a URL.
func (s *Session) negotiateHTTP(ctx context.Context) error {
	auth, err := newAuthorization(s)
	if err != nil {
		return err
	}
	h, err := newHTTP(s, auth)
	if err != nil {
		return err
	}
	s.conn, s.http = h, h
	if s.spec.Protocol == "legacy" {
		return s.legacyHTTP(ctx, "")
	}
	v, first := s.probe(ctx, true)
	switch {
	case first != nil && refusedAccess(first):
		return s.initializeAfterRefusal(ctx, first)
	case first != nil && !gotHTTPResponse(first):
		return first
	case v.err != nil || v.modern:
		return v.err
	case s.spec.Protocol == wire.ModernRevision:
		return wire.JoinErrors(errNotModern, first)
	}
	err = s.legacyHTTP(ctx, v.version)
	if errors.Is(err, errModern) { // the probe had failed for another reason
		v, err = s.probe(ctx, true)
		if err == nil && !v.modern {
			err = wire.JoinErrors(errModern, v.err)
		}
		return err
	}
	if e, ok := errors.AsType[*statusError](first); ok && err != nil && e.status >= 500 {
		err = first
	}
	return err
}

// gotHTTPResponse says whether err is about an HTTP response that was received;
// any other error tells nothing about the revision.
func gotHTTPResponse(err error) bool {
	_, status := errors.AsType[*statusError](err)
	_, noJSON := errors.AsType[*notJSON](err)
	return status || noJSON || errors.Is(err, errNoReply) || errors.Is(err, errHTTPSSE)
}

// initializeAfterRefusal is for gateways that answer an unknown method with 401
// (agentscope-ai/QwenPaw#7620): with a token, initialize may be accepted.
func (s *Session) initializeAfterRefusal(ctx context.Context, first error) error {
	if s.spec.Protocol == wire.ModernRevision || !s.http.auth.hasToken() || s.initialize(ctx, "") != nil {
		return first
	}
	return nil
}

// legacyHTTP sends initialize, and uses the transport of 2024-11-05 where the
// error shows that the server may have no other.
func (s *Session) legacyHTTP(ctx context.Context, version string) error {
	err := s.initialize(ctx, version)
	if err == nil {
		if s.elicits() {
			s.http.listen()
		}
		return nil
	}
	if !mayBeHTTPSSE(err) {
		return err
	}
	if old := s.useHTTPSSE(ctx); old != nil {
		return fmt.Errorf("%w; as 2024-11-05 HTTP+SSE: %w", err, old)
	}
	return nil
}

// mayBeHTTPSSE says whether the server that refused initialize with err may have
// only the transport of 2024-11-05.
func mayBeHTTPSSE(err error) bool {
	if errors.Is(err, errHTTPSSE) {
		return true
	}
	e, ok := errors.AsType[*statusError](err)
	if !ok || e.rpc != nil {
		return false
	}
	return e.status == http.StatusBadRequest || e.status == http.StatusNotFound || e.status == http.StatusMethodNotAllowed
}
