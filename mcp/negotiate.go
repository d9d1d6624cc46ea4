package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
)

func (s *Session) negotiateStream(ctx context.Context) error {
	if s.spec.Protocol.Only == "legacy" {
		return s.initialize(ctx, "")
	}
	if known := s.spec.Protocol.spokeLegacy(); known != "" {
		err := s.initialize(ctx, known)
		if err == nil || ctx.Err() != nil || s.endedUnread(err) {
			return err
		}
		if err := s.restart("initialize failed (" + err.Error() + ") at a server that spoke " + known + " before"); err != nil {
			return err
		}
	}
	v, err := s.probe(ctx, false)
	switch ended := err != nil && !answered(err); {
	case errors.Is(err, errSilent):
		return s.restartSilent(ctx)
	case ended && (ctx.Err() != nil || s.spec.Protocol.Only == wire.ModernRevision || s.endedUnread(err)):
		return err
	case ended:
		return s.restartLegacy(ctx, "", "the server ended on server/discover")
	case v.err != nil || v.modern:
		return v.err
	case s.spec.Protocol.Only == wire.ModernRevision:
		return errNotModern
	}
	err = s.initialize(ctx, v.version)
	if err == nil || ctx.Err() != nil {
		return err
	}
	// Some servers take one opening request for each process
	// (github/github-mcp-server#2938).
	return s.restartLegacy(ctx, v.version, "initialize failed after the probe ("+err.Error()+")")
}

var (
	errNotModern = errors.New("the server does not speak " + wire.ModernRevision)
	errSilent    = errors.New("the server does not answer server/discover")
)

// endedUnread reports whether a request failed because the process ended before it read the
// request. The request is then not the reason, and another process would end in the same way.
func (s *Session) endedUnread(err error) bool {
	e, ok := errors.AsType[*wire.NoReplyError](err)
	return ok && s.child != nil && s.conn.lost() != nil && (!e.Sent || process.Unread(s.child.in))
}

func (s *Session) restartLegacy(ctx context.Context, version, why string) error {
	if err := s.restart(why); err != nil {
		return err
	}
	return s.initialize(ctx, version)
}

const freshProcess = "a fresh process"

func (s *Session) restart(why string) error {
	s.tried = append(s.tried, freshProcess)
	s.report.log(why + ", starting it afresh")
	return s.spawn()
}

// restartSilent is restartLegacy for a server that did not answer the probe. If the server
// then refuses initialize, it was only slow to answer: it is probed once more, for the rest
// of the start timeout.
func (s *Session) restartSilent(ctx context.Context) error {
	err := s.restartLegacy(ctx, "", errSilent.Error())
	_, refused := errors.AsType[*wire.RPCError](err)
	if !refused && !errors.Is(err, errModern) {
		return err
	}
	if v, again := s.probe(ctx, true); again == nil && v.modern {
		return v.err
	}
	return err
}

// probe sends server/discover in the form of 2026-07-28. It returns the error of the
// exchange; the probeResult is valid also with an error. Unless patient, the error is
// errSilent for a server over stdio that read the request and stays silent.
func (s *Session) probe(ctx context.Context, patient bool) (probeResult, error) {
	s.tried = append(s.tried, "server/discover")
	if !patient && s.child != nil && s.spec.Protocol.Only != wire.ModernRevision {
		limited, stop := s.untilSilent(ctx)
		defer stop()
		ctx = limited
	}
	request := &wire.Request{Method: "server/discover", Params: []byte("{}"), Meta: s.modernMeta(s.elicits()), Opening: true}
	result, err := s.conn.exchange(ctx, request)
	v := readProbe(result, err)
	if v.again {
		result, err = s.conn.exchange(ctx, request)
		v = readProbe(result, err)
	}
	if v.modern {
		v.err = checkComplete(result)
		s.meta, s.askingMeta = s.modernMeta(s.elicits()), s.modernMeta(true)
		s.begin(wire.ModernRevision, result)
	}
	return v, err
}

// untilSilent ends ctx with errSilent when the child was silent for the time limit of a
// probe. The limit is longer for a server that answered a probe in the last session.
func (s *Session) untilSilent(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	child, sent, wait := s.child, time.Now(), cmp.Or(s.spec.probeTimeout, defaultProbe)
	if s.spec.Protocol.Known == wire.ModernRevision {
		wait = s.spec.StartupTimeout / 2
	}
	goroutine.Start(func() {
		for child.silentFor(sent, s.spec.StartupTimeout/2) < wait {
			if goroutine.Await(ctx.Done(), wait/8) {
				return
			}
		}
		cancel(errSilent)
	})
	return ctx, func() { cancel(nil) }
}

func (s *Session) negotiateHTTP(ctx context.Context) error {
	h, err := newHTTP(s)
	if err != nil {
		return err
	}
	s.conn, s.http = h, h
	if s.spec.Protocol.Only == "legacy" {
		return s.legacyHTTP(ctx, "")
	}
	if known := s.spec.Protocol.spokeLegacy(); known != "" {
		err := s.legacyHTTP(ctx, known)
		if err == nil || Refused(err) != nil || !answered(err) && !errors.Is(err, errModern) {
			return err
		}
	}
	v, first := s.probe(ctx, true)
	switch {
	case Refused(first) != nil:
		// Gateways answer an unknown method with 401 (agentscope-ai/QwenPaw#7620). With a
		// token, initialize may still be accepted.
		if s.spec.Protocol.Only == wire.ModernRevision || !s.http.auth.hasToken() || s.initialize(ctx, "") != nil {
			return first
		}
		return nil
	case first != nil && !answered(first):
		return first
	case v.err != nil || v.modern:
		return v.err
	case s.spec.Protocol.Only == wire.ModernRevision:
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

// answered reports whether a failed request got an answer. Any other error does not show
// which revision the server speaks.
func answered(err error) bool {
	_, status := errors.AsType[*statusError](err)
	_, refused := errors.AsType[*wire.RPCError](err)
	return status || refused || errors.Is(err, errNoReply) || errors.Is(err, errHTTPSSE)
}

// legacyHTTP sends initialize. It changes to the transport of 2024-11-05 if the error shows
// that the server may have no other.
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

// mayBeHTTPSSE reports whether a server that refused initialize with err may have only the
// transport of 2024-11-05.
func mayBeHTTPSSE(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	refused := ok && e.rpc == nil && slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}, e.status)
	return refused || errors.Is(err, errHTTPSSE)
}
