package mcp

import (
	"cmp"
	"context"
	"errors"
	"time"

	"toolpipe/mcp/wire"
)

// negotiateStream finds the revision of a server over stdio or in this process.
func (s *Session) negotiateStream(ctx context.Context) error {
	if s.spec.Protocol == "legacy" {
		return s.initialize(ctx, "")
	}
	v, err := s.probeStream(ctx, false)
	if err == nil && v.retry {
		v, err = s.probeStream(ctx, true)
	}
	switch {
	case errors.Is(err, errAnsweredLegacy):
		return nil
	case err != nil && (ctx.Err() != nil || s.spec.Protocol == wire.ModernRevision):
		return err
	case err != nil: // server/discover ended the server
		return s.respawnLegacy(ctx, "")
	case v.err != nil || v.modern:
		return v.err
	case s.spec.Protocol == wire.ModernRevision:
		return errNotModern
	}
	return s.initializeAfterProbe(ctx, v.version)
}

var (
	errNotModern      = errors.New("the server does not speak " + wire.ModernRevision)
	errAnsweredLegacy = errors.New("the server answered initialize")
)

// initializeAfterProbe sends initialize, and starts the server afresh where it
// refuses that after the probe, as servers do that take one opening request for
// each process (github/github-mcp-server#2938).
func (s *Session) initializeAfterProbe(ctx context.Context, version string) error {
	err := s.initialize(ctx, version)
	if err == nil || ctx.Err() != nil || s.transport != "stdio" {
		return err
	}
	s.report.log("initialize failed after the probe (" + err.Error() + "), starting the server afresh; \"protocol\": \"legacy\" avoids this")
	return s.respawnLegacy(ctx, version)
}

func (s *Session) respawnLegacy(ctx context.Context, version string) error {
	if s.transport != "stdio" {
		return wire.ErrGone
	}
	s.try("a fresh process")
	s.report.log("the server ended on server/discover, starting it afresh; \"protocol\": \"legacy\" avoids this")
	if err := s.spawn(); err != nil {
		return err
	}
	return s.initialize(ctx, version)
}

// probeStream sends server/discover. A server that does not answer gets
// initialize too, and the first definite answer of both counts.
func (s *Session) probeStream(ctx context.Context, corrected bool) (probeResult, error) {
	s.try("server/discover")
	m := s.stream
	c, err := m.send(ctx, s.discover())
	if err != nil {
		return probeResult{}, err
	}
	wait := cmp.Or(s.spec.probeTimeout, defaultProbe)
	select {
	case r := <-c.reply:
		return s.discovered(r, corrected)
	case <-ctx.Done():
		m.forget(c)
		return probeResult{}, context.Cause(ctx)
	case <-time.After(wait):
	}
	if s.spec.Protocol == wire.ModernRevision {
		r, err := m.await(ctx, c, "initialize")
		return s.discovered(reply{r, err}, corrected)
	}
	return s.probeBoth(ctx, m, c, wait)
}

// discovered acts on the answer to the probe. The error is that of a connection
// that ended.
func (s *Session) discovered(r reply, corrected bool) (probeResult, error) {
	if connectionEnded(r.err) {
		return probeResult{}, r.err
	}
	v := readProbe(r.result, r.err, corrected)
	if v.modern {
		v.err = s.speakModern(r.result)
	}
	return v, nil
}

// connectionEnded says whether a request has no reply because the connection
// ended. An answer that is not JSON is a reply.
func connectionEnded(err error) bool {
	_, none := errors.AsType[*wire.NoReplyError](err)
	_, garbled := errors.AsType[*notJSON](err)
	return none && !garbled
}

// probeBoth sends initialize and waits for the answers to it and to
// server/discover. An error of one is not final while the other may succeed.
func (s *Session) probeBoth(ctx context.Context, m *streamConn, discover *call, wait time.Duration) (probeResult, error) {
	s.report.log("no answer to server/discover for " + wait.String() + ", trying initialize; \"protocol\": \"legacy\" avoids this wait")
	s.try("initialize")
	init, err := m.send(ctx, s.initializeRequest(wire.LegacyRevisions[0]))
	if err != nil {
		return probeResult{}, err
	}
	defer m.forget(discover)
	defer m.forget(init)
	var late <-chan time.Time
	answers := discover.reply
	for {
		select {
		case r := <-answers:
			v, err := s.discovered(r, true)
			if err != nil || v.modern {
				return v, err
			}
			answers = nil // the server is legacy, initialize decides
		case r := <-init.reply:
			if r.err == nil {
				if err := s.initialized(ctx, wire.LegacyRevisions[0], r.result); err != nil {
					return probeResult{}, err
				}
				return probeResult{}, errAnsweredLegacy
			}
			if connectionEnded(r.err) {
				return probeResult{}, r.err
			}
			if answers == nil {
				return probeResult{}, nil // initialize is tried with older revisions
			}
			late = time.After(wait)
		case <-late:
			return probeResult{}, nil
		case <-ctx.Done():
			return probeResult{}, context.Cause(ctx)
		}
	}
}
