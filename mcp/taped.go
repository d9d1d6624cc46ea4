package mcp

import (
	"context"
	"fmt"
	"strings"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// A tapedConn is a connection with a Tape, after the start of the server.
type tapedConn struct {
	conn
	tape Tape
}

// exchange answers from the tape what a client reads: lists, and the content of a prompt, a skill or
// a resource.
func (c tapedConn) exchange(ctx context.Context, r *wire.Request) ([]byte, error) {
	_, reads, _ := strings.Cut(r.Method, "/")
	if reads != "get" && reads != "read" && !strings.HasSuffix(reads, "list") || strings.HasPrefix(r.Method, "tasks/") {
		return c.conn.exchange(ctx, r)
	}
	return c.tape(r.Method, r.Params, func() ([]byte, error) { return c.conn.exchange(ctx, r) })
}

// connectTaped is connect with a Tape. In a replay nothing starts, and the session has what the
// server said about itself.
func (s *Session) connectTaped(ctx context.Context) error {
	s.conn = noConn{}
	tape := s.report.hooks.Tape
	agreed, err := tape("connect", []byte("{}"), func() ([]byte, error) {
		err := s.connect(ctx)
		a := s.agreed.Load()
		return fmt.Appendf(nil, `{"transport":%q,"revision":%q,"about":%s}`, s.transport, a.revision, a.about), err
	})
	if err == nil {
		s.transport = jsontext.Text(jsontext.Member(agreed, "transport"))
		s.begin(jsontext.Text(jsontext.Member(agreed, "revision")), jsontext.Member(agreed, "about"))
		s.conn = tapedConn{s.conn, tape}
	}
	return err
}

// noConn is a connection to nothing.
type noConn struct{}

func (noConn) exchange(context.Context, *wire.Request) ([]byte, error) { return nil, wire.ErrNotSent }
func (noConn) postMessage(context.Context, []byte) error               { return wire.ErrNotSent }
func (noConn) lost() error                                             { return nil }
func (noConn) close()                                                  {}
