package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/netguard"
)

// responseReader reads the response to one request, or the event stream that belongs to no
// request.
type responseReader struct {
	h      *httpConn
	ctx    context.Context
	r      *wire.Request
	id     int64 // 0: there is no request
	cancel context.CancelCauseFunc
	at     httpState // when the request was sent

	reply  *wire.Message
	heard  bool          // an event came
	lastID string        // of the stream's last event, to resume from it
	retry  time.Duration // how long to wait before a resumption
}

var errNoReply = errors.New("the response ended without the reply")

// read returns the result, or an error as exchange does.
func (x *responseReader) read(res *http.Response) ([]byte, error) {
	if res.StatusCode < 200 || res.StatusCode >= 300 {
		e := x.h.readFailure(res)
		if e.status >= 500 && e.id != x.id {
			e.rpc = nil // a gateway in between can also answer with JSON that has an error
		}
		return nil, &wire.NoReplyError{Sent: e.status >= 500 && e.rpc == nil, Cause: e}
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" && x.r.Method == "initialize" {
		x.h.session.Store(id)
	}
	err, resumed := x.body(res), false
	for failures := 0; failures < netguard.MaxRetries && x.mayResume(err); {
		from := x.lastID
		err, resumed = x.resume(failures), true
		if failures++; err == nil || x.lastID != from { // the server may end the stream, and be asked, often
			failures = 0
		}
	}
	if x.reply != nil {
		result, failure := x.reply.Result()
		e, refused := errors.AsType[*wire.RPCError](failure)
		id := wire.ReplyID(x.reply.ID)
		switch {
		case !refused:
			return result, nil
		case !resumed || id != 0: // without an id it may answer the resumption
			return nil, &statusError{status: res.StatusCode, header: res.Header, rpc: e, id: id}
		}
		err = e
	}
	switch {
	case err == nil:
		err = errNoReply
	case cutOff(err):
		err = fmt.Errorf("%w in the middle of its answer", wire.ErrGone)
	case resumed: // err is not wrapped: a refusal to resume is not the outcome of the request
		err = fmt.Errorf("the answer was interrupted, and its rest cannot be read: %v", err)
	}
	return nil, &wire.NoReplyError{Sent: true, Cause: err}
}

// body reads one response body. The first bytes decide its type, because servers send a wrong
// Content-Type, or none.
func (x *responseReader) body(res *http.Response) error {
	defer res.Body.Close()
	b := bufio.NewReaderSize(res.Body, 16) // enough to detect the type; long reads pass through
	for {
		c, err := b.ReadByte()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case strings.IndexByte(" \t\r\n\xEF\xBB\xBF", c) >= 0: // blank, or a byte order mark
			continue
		}
		b.UnreadByte()
		switch {
		case c == '{' || c == '[':
			return x.json(b)
		case mediaType(res) == "text/event-stream" || beginsEvents(b):
			return x.events(b)
		}
		return x.notMessages(b, res)
	}
}

func beginsEvents(b *bufio.Reader) bool {
	begin, _ := b.Peek(len("event:"))
	return slices.ContainsFunc([]string{":", "id:", "data:", "event:", "retry:"}, func(field string) bool { return strings.HasPrefix(string(begin), field) })
}

func (x *responseReader) notMessages(r io.Reader, res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(r, maxErrorBody))
	x.h.owner.report.message('<', body)
	if err != nil {
		return err
	}
	return &statusError{body: body, header: res.Header, unreadable: fmt.Errorf("HTTP status %d, %s", res.StatusCode, cmp.Or(mediaType(res), "no Content-Type"))}
}

// json reads a JSON body. Any reply in it is the reply to this request, whatever its id is.
func (x *responseReader) json(r io.Reader) error {
	body, err := io.ReadAll(io.LimitReader(r, wire.MaxFrame+1))
	if err == nil && len(body) > wire.MaxFrame {
		err = &wire.FrameTooLarge{}
	}
	if err != nil {
		return err
	}
	x.h.owner.report.message('<', body)
	err = wire.ParseMessages(body, func(m wire.Message) {
		if m.IsReply() {
			x.reply = &m
		} else {
			x.dispatch(m)
		}
	})
	if err == nil && x.reply == nil {
		err = errNoReply
	}
	if err != nil {
		return &statusError{body: bytes.Clone(body[:min(len(body), maxErrorBody)]), unreadable: err}
	}
	return nil
}

// events reads an event stream up to the reply.
func (x *responseReader) events(r io.Reader) error {
	for ev, err := range stream.Events(r, wire.MaxFrame) {
		if err != nil {
			return err
		}
		x.heard = true
		if ev.ID != "" && !ev.Unfinished { // the rest of an unfinished event is still to come
			x.lastID = ev.ID
		}
		if ev.Retry > 0 {
			x.retry = min(max(ev.Retry, minRetry), maxRetry)
		}
		if ev.Name == "endpoint" && x.at.session == "" {
			return errHTTPSSE
		}
		if x.event(ev); x.reply != nil {
			x.drain(r)
			return nil
		}
	}
	return nil
}

// event reads the messages of an event. An unfinished event counts if its data
// is complete.
func (x *responseReader) event(ev stream.Event) {
	if len(bytes.TrimSpace(ev.Data)) == 0 || ev.Name != "" && ev.Name != "message" {
		return
	}
	x.h.owner.report.message('<', ev.Data)
	err := wire.ParseMessages(ev.Data, func(m wire.Message) {
		switch id := wire.ReplyID(m.ID); {
		case !m.IsReply():
			x.dispatch(m)
		case x.id != 0 && (id == 0 || id == x.id): // the id is the request's, or names no request
			x.reply = &m
		}
	})
	if err != nil && !ev.Unfinished {
		x.h.owner.garbled(ev.Data)
	}
}

// drain reads the rest of the stream, so that the connection can be reused. If the stream
// does not end within drainTime, the connection is closed.
func (x *responseReader) drain(r io.Reader) {
	t := goroutine.AfterFunc(drainTime, func() { x.cancel(nil) })
	defer t.Stop()
	io.Copy(io.Discard, io.LimitReader(r, 64<<10))
}

const drainTime = 25 * time.Millisecond

func (x *responseReader) dispatch(m wire.Message) {
	if m.ID != nil { // copied, because reading goes on before its response is POSTed
		m = wire.Message{ID: bytes.Clone(m.ID), Method: bytes.Clone(m.Method), Params: bytes.Clone(m.Params)}
	}
	x.h.owner.received(m, x.h.answers.Respond, func(params []byte) {
		if x.r.Progress != nil {
			x.r.Progress(params)
		}
	})
}

const (
	defaultRetry = time.Second            // until the server asks for another time
	minRetry     = 100 * time.Millisecond // the shortest pause, whatever the server asks for
	maxRetry     = time.Minute
)

// mayResume reports whether the rest of a stream may still come, after its last part ended with
// err: politely, or cut off, or with a failed resumption that may succeed later.
func (x *responseReader) mayResume(err error) bool {
	if x.reply != nil || x.lastID == "" || x.ctx.Err() != nil || !x.h.owner.isLegacy() {
		return false
	}
	e, refused := errors.AsType[*statusError](err)
	return !tooLarge(err) && !errors.Is(err, errHTTPSSE) && (!refused || mayPass(e.status))
}

// resume asks for the rest of a stream that ended before the reply, after a pause that doubles
// with each failure before.
func (x *responseReader) resume(failures int) error {
	if goroutine.Await(x.ctx.Done(), min(x.retry<<failures, maxRetry)) {
		return context.Cause(x.ctx)
	}
	res, err := x.get()
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return x.events(res.Body)
}

// get opens the stream after its last event. If the server asks for a wait, retry follows it.
func (x *responseReader) get() (*http.Response, error) {
	res, err := x.h.get(x.ctx, x.at, x.lastID)
	if e, ok := errors.AsType[*statusError](err); ok {
		x.retry = min(max(x.retry, time.Until(e.after)), maxRetry)
	}
	return res, err
}

// tooLarge reports whether an event stream ended at an event over the limit, which the server
// would send again.
func tooLarge(err error) bool {
	e, ok := errors.AsType[*stream.Error](err)
	return ok && e.Kind == stream.TooLarge
}

func (h *httpConn) get(ctx context.Context, at httpState, lastID string) (*http.Response, error) {
	req := h.newRequest(http.MethodGet, at, false)
	req.Header["Accept"] = []string{"text/event-stream"}
	if lastID != "" {
		req.Header["Last-Event-Id"] = []string{lastID}
	}
	res, err := h.send(ctx, req, false)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, h.readFailure(res)
	}
	return res, nil
}

const (
	listenOpening = time.Second // how long the start waits for the event stream to open; a stream that was open longer did not fail
	listenTries   = 3           // failures in a row; then the stream is not opened again
)

// listen reads the event stream that belongs to no request; some legacy servers send
// elicitations there. Nothing else needs the stream, so its failures are not reported. listen
// returns when the stream is open, or after listenOpening.
func (h *httpConn) listen() {
	opening, open := context.WithTimeout(h.owner.life, listenOpening)
	h.owner.start(func() {
		defer open()
		x := &responseReader{h: h, ctx: h.owner.life, r: &wire.Request{}, retry: defaultRetry}
		for failures := 0; failures < listenTries; {
			failures++
			x.at = h.state()
			res, err := x.get()
			open()
			if e, ok := errors.AsType[*statusError](err); ok && e.status < http.StatusInternalServerError && !mayPass(e.status) {
				return // the server does not offer the stream
			}
			if err == nil {
				began := time.Now()
				x.heard = false
				err = x.events(res.Body)
				res.Body.Close()
				if x.heard || time.Since(began) > listenOpening { // a proxy ends a stream that is idle for long
					failures = 0
				}
			}
			if tooLarge(err) || goroutine.Await(h.owner.life.Done(), x.retry) {
				return
			}
		}
	})
	<-opening.Done()
}
