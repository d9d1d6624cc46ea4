package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"toolpipe/mcp/local"
	"toolpipe/mcp/process"
	"toolpipe/mcp/task"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

const (
	restartLimit   = 2 * time.Second // for the old process to end before its replacement starts
	defaultStartup = 30 * time.Second
	defaultProbe   = 2 * time.Second // of silence; then a server over stdio is restarted with initialize
)

var ErrStartup = errors.New("no answer within the start-up timeout")

// Connect connects to the server, negotiates the revision and lists the tools, within
// StartupTimeout. After an error nothing is left running; the error is a *ConnectError or the
// cause of ctx.
func Connect(ctx context.Context, spec Spec, hooks Hooks, procs *process.Processes) (*Session, error) {
	spec.StartupTimeout = cmp.Or(spec.StartupTimeout, defaultStartup)
	s := newSession(spec, hooks, procs)
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := s.clock()
	left := func() time.Duration { return spec.StartupTimeout - clock.time() }
	defer clock.expire(limited, left, func() { cancel(ErrStartup) }).Stop()
	connect := s.connect
	if hooks.Tape != nil {
		connect = s.connectTaped
	}
	err := connect(limited)
	if err == nil {
		s.tried = append(s.tried, "tools/list")
		var l *toolListing
		if l, err = s.list(limited); err == nil {
			s.listing.Store(l)
		}
	}
	if err == nil {
		s.ready.Store(true)
		if cause := s.conn.lost(); cause != nil { // it was lost before ready was set
			s.onLost(cause)
		}
		return s, nil
	}
	if s.child != nil {
		s.child.proc.Kill()
	}
	s.Close()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, s.connectError(err)
}

func (s *Session) connect(ctx context.Context) error {
	_, atSocket := local.Path(s.spec.URL)
	_, atDoor := local.DoorValue(s.spec.URL)
	switch {
	case s.spec.Local != nil:
		s.transport = "local"
		s.spec.Protocol = Protocol{Only: wire.ModernRevision}
		s.conn = newStreamConn(s.spec.Local(), s)
		return s.negotiateStream(ctx)
	case s.spec.URL != "" && !atSocket && !atDoor:
		s.transport = "http"
		return s.negotiateHTTP(ctx)
	}
	s.transport = "stdio"
	first := "start"
	switch {
	case atDoor:
		s.transport, first = "door", "connect"
		s.spec.Protocol = Protocol{Only: wire.ModernRevision}
	case atSocket:
		s.transport, first = "unix", "connect"
	}
	if err := s.spawn(); err != nil {
		s.tried = append(s.tried, first)
		return err
	}
	return s.negotiateStream(ctx)
}

// spawn starts the server's process after it ended the previous one. For a socket or a door it
// makes a new connection.
func (s *Session) spawn() error {
	if value, is := local.DoorValue(s.spec.URL); is {
		c, err := local.DialDoor(value, s.junk)
		if err == nil {
			s.conn = newStreamConn(c, s)
		}
		return err
	}
	if path, is := local.Path(s.spec.URL); is {
		if s.conn != nil {
			s.conn.close()
		}
		c, err := local.Dial(s.life, path, s.junk)
		if err == nil {
			s.conn = newStreamConn(c, s)
		}
		return err
	}
	if s.child != nil {
		gone := s.conn.lost()
		s.child.proc.KillTree(restartLimit) // two copies could want the same port or file
		s.conn.close()
		if gone != nil && s.ended == "" {
			s.ended, s.words = gone.Error(), s.stderr()
		}
	}
	c, err := startStdio(&s.spec, s.procs, s.junk, s.report.logStderr)
	if err != nil {
		return err
	}
	s.child = c
	s.conn = newStreamConn(c, s)
	return nil
}

// junk handles a line of the server's stdout that is not a message.
func (s *Session) junk(line []byte) {
	s.mu.Lock()
	if s.junkSample == "" {
		s.junkSample = wire.Snippet(line)
	}
	s.mu.Unlock()
	s.report.log("not a message: " + wire.Snippet(line))
}

// modernMeta are the members of _meta that every request of 2026-07-28 carries. asks declares
// that the user can be asked.
func (s *Session) modernMeta(asks bool) []byte {
	return fmt.Appendf(nil, `"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":%s,"io.modelcontextprotocol/clientCapabilities":%s`,
		wire.ModernRevision, s.clientInfo(), s.clientCapabilities(true, asks))
}

func (s *Session) clientInfo() []byte {
	return fmt.Appendf(nil, `{"name":"toolpipe","version":%s}`, jsontext.Quoted(cmp.Or(s.spec.Client.Version, "0")))
}

// clientCapabilities declares tasks and skills if the revision has them, and elicitation if the
// user can be asked. A server does not use a capability that is not declared.
func (s *Session) clientCapabilities(modern, asks bool) string {
	switch {
	case modern && asks:
		return `{"elicitation":{"form":{}},` + extensions + `}`
	case modern:
		return `{` + extensions + `}`
	case asks:
		return `{"elicitation":{}}`
	}
	return "{}"
}

const extensions = `"extensions":{"` + task.Extension + `":{},"` + skillsExtension + `":{}}`

// begin records the agreed revision and the server's description of itself.
func (s *Session) begin(revision string, result []byte) {
	s.agreed.Store(&agreement{revision, bytes.Clone(result)})
}

// initialize is the legacy handshake. It offers version first; "" means the newest.
func (s *Session) initialize(ctx context.Context, version string) error {
	s.tried = append(s.tried, "initialize")
	version = cmp.Or(version, wire.LegacyRevisions[0])
	for attempt := 1; ; attempt++ {
		params := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"clientInfo":%s}`, version, s.clientCapabilities(false, s.elicits()), s.clientInfo())
		result, err := s.conn.exchange(ctx, &wire.Request{Method: "initialize", Opening: true, Params: params})
		if err == nil {
			return s.initialized(ctx, version, result)
		}
		e, ok := errors.AsType[*wire.RPCError](err)
		if !ok || Refused(err) != nil {
			return err
		}
		if e.Code == wire.CodeUnsupportedVersion && slices.Contains(supported(e), wire.ModernRevision) {
			return errModern
		}
		if version = nextOffer(version, attempt, e); version == "" {
			return err
		}
	}
}

var errModern = errors.New("the server speaks only " + wire.ModernRevision)

// initialized completes the handshake. It waits until the notification was sent: servers
// refuse requests that overtake it (modelcontextprotocol/python-sdk#1675).
func (s *Session) initialized(ctx context.Context, offered string, result []byte) error {
	answered := jsontext.Text(jsontext.Member(result, "protocolVersion"))
	revision := nearestRevision(cmp.Or(answered, offered))
	if answered != revision {
		s.report.warn("protocol_mismatch", fmt.Sprintf("server %q answered with the unknown protocol revision %q; it is taken as %s", s.spec.Name, answered, revision))
	}
	s.begin(revision, result)
	return s.conn.postMessage(ctx, wire.Notification("notifications/initialized", []byte("{}")))
}
