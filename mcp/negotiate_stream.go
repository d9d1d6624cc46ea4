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
	case errors.Is(err, errSilent):
		return s.restartSilent(ctx)
	case err != nil && (ctx.Err() != nil || s.spec.Protocol == wire.ModernRevision):
		return err
	case err != nil:
		return s.restartLegacy(ctx, "", "the server ended on server/discover")
	case v.err != nil || v.modern:
		return v.err
	case s.spec.Protocol == wire.ModernRevision:
		return errNotModern
	}
	return s.initializeAfterProbe(ctx, v.version)
}

var (
	errNotModern = errors.New("the server does not speak " + wire.ModernRevision)
	errSilent    = errors.New("the server does not answer server/discover")
)

// initializeAfterProbe sends initialize, and starts the server afresh where it
// refuses that after the probe, as servers do that take one opening request for
// each process (github/github-mcp-server#2938).
func (s *Session) initializeAfterProbe(ctx context.Context, version string) error {
	err := s.initialize(ctx, version)
	if err == nil || ctx.Err() != nil || s.transport != "stdio" {
		return err
	}
	return s.restartLegacy(ctx, version, "initialize failed after the probe ("+err.Error()+")")
}

// restartLegacy ends the server's process and begins with initialize in a new
// one.
func (s *Session) restartLegacy(ctx context.Context, version, why string) error {
	if s.transport != "stdio" {
		return wire.ErrGone
	}
	s.try("a fresh process")
	s.report.log(why + ", starting it afresh; \"protocol\": \"legacy\" avoids this")
	if err := s.spawn(); err != nil {
		return err
	}
	return s.initialize(ctx, version)
}

// restartSilent is restartLegacy for a server that did not answer the probe. One
// that refuses initialize was only slow, and is probed once more.
func (s *Session) restartSilent(ctx context.Context) error {
	err := s.restartLegacy(ctx, "", errSilent.Error())
	_, refused := errors.AsType[*wire.RPCError](err)
	if !refused && !errors.Is(err, errModern) {
		return err
	}
	s.try("server/discover")
	result, again := s.conn.exchange(ctx, s.discover())
	if v := readProbe(result, again, true); again == nil && v.modern {
		return s.speakModern(result)
	}
	return err
}

// probeStream sends server/discover. The error is errSilent for a server over
// stdio that read it and is silent from then on.
func (s *Session) probeStream(ctx context.Context, corrected bool) (probeResult, error) {
	s.try("server/discover")
	m := s.stream
	c, err := m.send(ctx, s.discover())
	if err != nil {
		return probeResult{}, err
	}
	var silent <-chan time.Time
	if s.child != nil && s.spec.Protocol != wire.ModernRevision {
		tick := time.NewTicker(s.probeWait() / 8)
		defer tick.Stop()
		silent = tick.C
	}
	for sent := time.Now(); ; {
		select {
		case r := <-c.reply:
			return s.discovered(r, corrected)
		case <-ctx.Done():
			m.forget(c)
			return probeResult{}, context.Cause(ctx)
		case <-silent:
			if s.child.silentFor(sent, s.spec.StartupTimeout/2) >= s.probeWait() {
				m.forget(c)
				return probeResult{}, errSilent
			}
		}
	}
}

// probeWait is how long a server may be silent after the probe.
func (s *Session) probeWait() time.Duration { return cmp.Or(s.spec.probeTimeout, defaultProbe) }

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
