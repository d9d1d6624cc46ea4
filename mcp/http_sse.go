package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"sync"
	"time"

	"toolpipe/mcp/netguard"
	"toolpipe/mcp/wire"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
)

// sseTransport is the Transport of 2024-11-05: one event stream brings everything, and
// its first event names the address that messages are POSTed to. It borrows
// the HTTP side, credentials and all, from an httpConn.
type sseTransport struct {
	h    *httpConn
	at   httpState // the POST address
	body io.Closer

	ctx  context.Context // ends with Close
	end  context.CancelFunc
	next func() (stream.Event, error, bool)
	stop func()

	closing sync.Once
}

// errHTTPSSE is a POST that was answered with the first event of the old
// transport (quarkus-mcp-server#317).
var errHTTPSSE = errors.New("the server speaks only the HTTP+SSE transport of 2024-11-05")

var errNoEndpoint = errors.New("the event stream ended without an endpoint")

// useHTTPSSE goes over to the transport of 2024-11-05.
func (s *Session) useHTTPSSE(ctx context.Context) error {
	s.try("HTTP+SSE")
	t, err := openSSE(ctx, s.http)
	if err != nil {
		return err
	}
	s.transport = "sse"
	s.useTransport(t, nil)
	return s.initialize(ctx, "")
}

// openSSE opens the stream and waits for its first event, until ctx ends.
func openSSE(ctx context.Context, h *httpConn) (*sseTransport, error) {
	t := &sseTransport{h: h, at: httpState{url: h.state().url}}
	t.ctx, t.end = context.WithCancel(h.life)
	stop := goroutine.AfterContext(ctx, t.end)
	defer stop()
	res, err := h.get(t.ctx, t.at, "")
	if err != nil {
		t.end()
		return nil, err
	}
	t.body = res.Body
	t.next, t.stop = iter.Pull2(stream.Events(decoded(res), wire.MaxFrame))
	if err := t.endpoint(); err != nil {
		if kind := mediaType(res); errors.Is(err, errNoEndpoint) && kind != "text/event-stream" {
			err = fmt.Errorf("GET is answered with %s, not with an event stream", cmp.Or(kind, "no Content-Type"))
		}
		t.stop()
		t.Close()
		return nil, err
	}
	return t, nil
}

// endpoint reads the event that names the POST address. It must be of the
// same origin: credentials are sent there.
func (t *sseTransport) endpoint() error {
	for {
		ev, err, ok := t.next()
		switch {
		case err != nil:
			return err
		case !ok:
			return errNoEndpoint
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

// Send POSTs the message. A status that is a refusal means that it was not
// taken.
func (t *sseTransport) Send(ctx context.Context, msg []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer goroutine.AfterContext(t.ctx, cancel)()
	sent := &countedBody{}
	res, err := t.h.send(ctx, t.h.newPost(&wire.Request{}, msg, sent, t.at), true)
	switch {
	case err != nil && sent.began.Load():
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", wire.ErrNotSent, err)
	case res.StatusCode >= 300 && res.StatusCode < 500:
		return fmt.Errorf("%w: %w", wire.ErrNotSent, t.h.readFailure(res))
	case res.StatusCode >= 500:
		return t.h.readFailure(res)
	}
	io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	return res.Body.Close()
}

// Receive returns the data of the next message event.
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

// Close ends the stream and what it borrowed.
func (t *sseTransport) Close() error {
	t.closing.Do(func() {
		t.end()
		t.body.Close()
		t.h.conns.closeIdle()
	})
	return nil
}

const (
	listenOpening = time.Second // how long a session waits for its event stream to open
	listenTries   = 3           // failures in a row after which nobody listens any more
)

// listen reads the event stream that is tied to no request, where some legacy
// servers send their questions. It is never needed for anything else, so
// nothing that happens to it is a failure.
func (h *httpConn) listen() {
	opened := make(chan struct{})
	var once sync.Once
	open := func() { once.Do(func() { close(opened) }) }
	h.background.start(func() {
		defer open()
		lastID := ""
		for failures := 0; failures < listenTries && h.life.Err() == nil; {
			wait, heard := h.listenOnce(&lastID, open)
			if failures++; heard {
				failures = 0
			}
			if wait < 0 || !pause(h.life, wait) {
				return
			}
		}
	})
	t := time.NewTimer(listenOpening)
	defer t.Stop()
	select {
	case <-opened:
	case <-t.C:
	}
}

// listenOnce reads one stream to its end and says how long to wait before the
// next, negative for never.
func (h *httpConn) listenOnce(lastID *string, open func()) (wait time.Duration, heard bool) {
	res, err := h.get(h.life, h.state(), *lastID)
	open()
	if err != nil {
		if e, ok := errors.AsType[*statusError](err); ok && e.status < http.StatusInternalServerError {
			return -1, false // not offered
		}
		return defaultRetry, false
	}
	defer res.Body.Close()
	wait = defaultRetry
	x := &responseReader{h: h, ctx: h.life, r: &wire.Request{}, id: -1}
	for ev, err := range stream.Events(decoded(res), wire.MaxFrame) {
		if tooLarge(err) {
			return -1, heard
		}
		if err != nil {
			break
		}
		heard = true
		if ev.ID != "" {
			*lastID = ev.ID
		}
		if ev.Retry > 0 {
			wait = retryWait(ev.Retry)
		}
		x.event(ev)
	}
	return wait, heard
}
