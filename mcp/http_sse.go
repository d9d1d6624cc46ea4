package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"toolpipe/mcp/wire"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/netguard"
)

// sseTransport is the transport HTTP+SSE of 2024-11-05: one event stream brings all messages,
// and its first event names the endpoint for POSTs. It sends through an httpConn, with its
// credentials.
type sseTransport struct {
	h    *httpConn
	at   httpState // the POST address
	body io.Closer

	ctx  context.Context // ends with Close
	end  context.CancelFunc
	next func() (stream.Event, error, bool)
	stop func()
}

// errHTTPSSE is the failure of a POST that was answered with an endpoint event. Servers that
// have only this transport do so (quarkiverse/quarkus-mcp-server#317).
var errHTTPSSE = errors.New("the server speaks only the HTTP+SSE transport of 2024-11-05")

func (s *Session) useHTTPSSE(ctx context.Context) error {
	s.tried = append(s.tried, "HTTP+SSE")
	t, err := openSSE(ctx, s.http)
	if err != nil {
		return err
	}
	s.transport = "sse"
	s.conn = newStreamConn(t, s)
	return s.initialize(ctx, "")
}

// openSSE opens the stream and waits for its first event, until ctx ends.
func openSSE(ctx context.Context, h *httpConn) (*sseTransport, error) {
	t := &sseTransport{h: h, at: httpState{url: h.state().url}}
	t.ctx, t.end = context.WithCancel(context.Background()) // the end of the Session's life is no loss of the server
	defer goroutine.AfterContext(ctx, t.end)()
	res, err := h.get(t.ctx, t.at, "")
	if err != nil {
		t.end()
		return nil, err
	}
	t.body = res.Body
	t.next, t.stop = iter.Pull2(stream.Events(res.Body, wire.MaxFrame))
	if err := t.endpoint(); err != nil {
		t.stop()
		t.Close()
		return nil, err
	}
	return t, nil
}

// endpoint reads the event that names the endpoint. The endpoint must have the same origin,
// because credentials are sent there.
func (t *sseTransport) endpoint() error {
	for {
		ev, err, ok := t.next()
		switch {
		case err != nil:
			return err
		case !ok:
			return errors.New("GET is not answered with an event stream that names an endpoint")
		case ev.Name != "endpoint":
			continue
		}
		to, err := t.at.url.Parse(string(bytes.TrimSpace(ev.Data)))
		if err != nil {
			return err
		}
		if netguard.Origin(to) != t.h.origin {
			return fmt.Errorf("the endpoint %q is of another origin", to)
		}
		t.at.url = to
		return nil
	}
}

// Send POSTs the message. A status from 300 to 499 means that the server did not take it.
func (t *sseTransport) Send(ctx context.Context, msg []byte) error {
	if t.ctx.Err() != nil { // its end would also end the request, but perhaps after it was sent
		return fmt.Errorf("%w: the stream has ended", wire.ErrNotSent)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer goroutine.AfterContext(t.ctx, cancel)()
	err := t.h.deliver(ctx, &wire.Request{AtMostOnce: true}, msg, t.at)
	if err != nil && !wire.MayHaveArrived(err) {
		return fmt.Errorf("%w: %w", wire.ErrNotSent, err)
	}
	return err
}

func (t *sseTransport) Receive() ([]byte, error) {
	for {
		ev, err, ok := t.next()
		if !ok || err != nil || t.ctx.Err() != nil {
			t.stop()
			if err == nil || t.ctx.Err() != nil || cutOff(err) {
				err = io.EOF
			}
			return nil, err
		}
		if (ev.Name == "" || ev.Name == "message") && len(bytes.TrimSpace(ev.Data)) > 0 {
			return bytes.Clone(ev.Data), nil
		}
	}
}

func (t *sseTransport) Close() error {
	t.end()
	t.body.Close()
	t.h.conns.closeIdle()
	return nil
}
