package mcp

import (
	"cmp"
	"context"
	"errors"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
)

// negotiateStream finds the revision of a server over stdio or in this process.
func (s *Session) negotiateStream(ctx context.Context) error {
	if s.spec.Protocol == "legacy" {
		return s.initialize(ctx, "")
	}
	v, err := s.probe(ctx, false)
	switch ended := connectionEnded(err); {
	case errors.Is(err, errSilent):
		return s.restartSilent(ctx)
	case ended && (ctx.Err() != nil || s.spec.Protocol == wire.ModernRevision):
		return err
	case ended:
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
	if err == nil || ctx.Err() != nil {
		return err
	}
	return s.restartLegacy(ctx, version, "initialize failed after the probe ("+err.Error()+")")
}

// restartLegacy ends the server's process and begins with initialize in a new
// one.
func (s *Session) restartLegacy(ctx context.Context, version, why string) error {
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
	if v, again := s.probe(ctx, true); again == nil && v.modern {
		return v.err
	}
	return err
}

// probe sends server/discover, and once more when the server asks for another
// version. The error is that of the exchange; the probeResult holds also with an
// error. Unless patient, the error is errSilent for a server over stdio that read
// the request and is silent from then on.
func (s *Session) probe(ctx context.Context, patient bool) (probeResult, error) {
	s.try("server/discover")
	for corrected := false; ; corrected = true {
		limited, stop := ctx, func() {}
		if !patient && s.child != nil && s.spec.Protocol != wire.ModernRevision {
			limited, stop = s.untilSilent(ctx)
		}
		result, err := s.conn.exchange(limited, s.discover())
		stop()
		v := readProbe(result, err, corrected)
		if v.retry {
			continue
		}
		if v.modern {
			v.err = s.speakModern(result)
		}
		return v, err
	}
}

// untilSilent ends ctx with errSilent when the child has been silent for the
// time that a probe may take.
func (s *Session) untilSilent(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	child, sent, wait := s.child, time.Now(), cmp.Or(s.spec.probeTimeout, defaultProbe)
	goroutine.Start(func() {
		tick := time.NewTicker(wait / 8)
		defer tick.Stop()
		for child.silentFor(sent, s.spec.StartupTimeout/2) < wait {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		cancel(errSilent)
	})
	return ctx, func() { cancel(nil) }
}

// connectionEnded says whether a request has no reply because the connection
// ended. An answer that is not JSON is a reply.
func connectionEnded(err error) bool {
	_, none := errors.AsType[*wire.NoReplyError](err)
	_, garbled := errors.AsType[*notJSON](err)
	return none && !garbled
}
