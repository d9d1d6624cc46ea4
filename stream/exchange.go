package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"toolpipe/stream/goroutine"
	"toolpipe/stream/netguard"
)

// maxResponse caps the bytes of one reply, as sent and as inflated.
const maxResponse = 256 << 20

// exchange is one request and its answer.
type exchange struct {
	client  *Client
	request *Request
	sink    *Sink
	draft   *draft
	decoder decoder
	sent    *body
	idle    *idleTimer
	bytes   int // bytes of the body that came
	events  int // events with data that came

	bodyEnded bool // the end of the body was read

	head           http.Header // of the answer
	connectionDied bool        // the connection had died before the request reached the endpoint
	refusal        *refusal    // of the error, nil for none
}

// run makes the exchange. Its error is an *Error, or from the sink or ctx.
func (x *exchange) run(ctx context.Context) (*Reply, error) {
	c := x.client
	x.draft = newDraft(x.request, x.sink)
	x.sent = x.body()
	ctx, cancel := context.WithCancelCause(ctx)
	x.idle = newIdleTimer(c.cfg.IdleTimeout, func() { cancel(errStalled) })
	res, err := x.send(ctx)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	if x.head = res.Header; res.StatusCode/100 != 2 {
		err = x.refused(res)
	} else {
		err = x.read(res)
	}
	if err != nil {
		cancel(nil)
		res.Body.Close()
		return nil, err
	}
	if x.bodyEnded {
		res.Body.Close()
		cancel(nil)
	} else {
		c.drain(res.Body, cancel)
	}
	return x.reply()
}

// body encodes the request, and warns if it leaves out more pictures than the one before.
func (x *exchange) body() *body {
	o := &x.client.options
	before := o.leftOut
	sent := x.client.body(x.request)
	if o.leftOut > before && x.sink.Warn != nil {
		x.sink.Warn("picture_left_out", fmt.Sprintf("pictures of tool servers that the request leaves out, because they are larger than the endpoint accepts: %d", o.leftOut))
	}
	return sent
}

func (x *exchange) reply() (*Reply, error) {
	reply, err := x.draft.reply(x.decoder, usedIDs(x.request.Messages))
	if err != nil {
		return nil, x.complete(err)
	}
	if x.client.options.plainSchemas {
		originalNames(x.request.Tools, reply.Message.Calls)
	}
	o := &reply.Message.Opaque
	o.api, o.endpoint, o.model = x.client.dialect.name, x.client.endpoint.origin, x.request.Model
	reply.Wrapped = wrapsAnswers(x.client.options) && formSchema(x.request, x.client.options) != nil
	return reply, nil
}

var errStalled = errors.New("silent for too long")

// send gets the answer to the request from the endpoint or the recording.
func (x *exchange) send(ctx context.Context) (*http.Response, error) {
	c := x.client
	if c.recorder != nil {
		c.recorder.request(c.dialect, x.sent)
	}
	if c.replayer != nil {
		return c.replayer.answer(x.sent, c.cfg.Secrets.Content())
	}
	var idled, answered atomic.Bool // the connection was idle before; the endpoint sent a byte
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			_, warm := i.Conn.(warmConn)
			idled.Store(i.Reused || warm)
		},
		GotFirstResponseByte: func() { answered.Store(true) },
	})
	res, err := x.roundTrip(x.httpRequest(ctx))
	x.connectionDied = err != nil && idled.Load() && !answered.Load()
	return res, err
}

// roundTrip sends a request and waits for the head of the answer.
func (x *exchange) roundTrip(req *http.Request) (*http.Response, error) {
	c := x.client
	if c.drained != nil {
		<-c.drained
	}
	c.wireRequest(req, x.sent)
	x.idle.start(0)
	res, err := c.network.transport.RoundTrip(req)
	x.idle.pause()
	if err != nil {
		return nil, x.unreachable(req.Context(), err)
	}
	c.wireHead('<', res.Proto+" "+res.Status, res.Header)
	return res, nil
}

// httpRequest makes the request. The key is attached only if the request goes to exactly the
// configured origin. GetBody lets the transport repeat a request if the connection had died
// before a byte of it was written.
func (x *exchange) httpRequest(ctx context.Context) *http.Request {
	e := x.client.endpoint
	req := (&http.Request{
		Method: http.MethodPost, URL: e.url, Host: e.url.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{},
		Body:          x.sent.reader(x.idle.progress),
		GetBody:       func() (io.ReadCloser, error) { return x.sent.reader(x.idle.progress), nil },
		ContentLength: x.sent.size,
	}).WithContext(ctx)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", x.client.cfg.UserAgent)
	if x.client.cfg.Traceparent != "" {
		req.Header.Set("Traceparent", x.client.cfg.Traceparent)
	}
	key, headers := x.client.cfg.Key, x.client.cfg.Headers
	if originOf(req.URL) != e.origin {
		key, headers = "", nil
	}
	if x.client.dialect.headers(req.Header, key); x.client.cfg.BearerKey && key != "" {
		req.Header.Del("X-Api-Key")
		bearerHeader(req.Header, key)
	}
	for _, h := range headers {
		req.Header.Set(h.Name, h.Value)
	}
	return req
}

// drain reads the rest of the body after the end of a reply, so that the connection can be used
// again. The next request waits for it; the reply does not.
func (c *Client) drain(body io.ReadCloser, cancel context.CancelCauseFunc) {
	c.drained = goroutine.Done(func() {
		stop := goroutine.AfterFunc(time.Second, func() { cancel(nil) })
		io.CopyN(io.Discard, body, 256<<10)
		stop.Stop()
		body.Close()
		cancel(nil)
	})
}

// refused turns an answer with another status than 2xx into an error.
func (x *exchange) refused(res *http.Response) error {
	x.idle.start(0)
	body, done := x.client.tee(res, io.LimitReader(res.Body, maxErrorBody))
	b, err := io.ReadAll(body)
	done(err)
	x.idle.pause()
	message := x.where()
	if res.StatusCode == 404 || res.StatusCode == 405 { // the path may be wrong; the query may hold a key
		message += res.Request.URL.EscapedPath()
	}
	message += strings.TrimRight(fmt.Sprintf(" answered %d %s", res.StatusCode, http.StatusText(res.StatusCode)), " ")
	if res.StatusCode/100 == 3 {
		to := "another place"
		if u, err := url.Parse(res.Header.Get("Location")); err == nil && u.Host != "" { // a relative target names no other origin
			to = clean(originOf(u), maxShown)
		}
		message += " to " + to + ", which is not followed"
	} else if text := x.shownError(b); text != "" {
		message += ": " + text
	}
	f := readRefusal(res.StatusCode, b)
	f.shown, x.head = message, res.Header
	return x.failed(f)
}

func (x *exchange) failed(f *refusal) *Error {
	x.refusal = f
	if wait := netguard.RetryAfter(x.head); wait > 0 {
		f.wait = wait
	}
	e := &Error{Kind: f.kind(x.request), Status: f.status, Code: clean(f.code(), 80), Message: f.shown, After: f.wait}
	e.Again = e.Kind.Again()
	if says := x.head.Get("X-Should-Retry"); says == "true" || says == "false" { // as the SDKs of OpenAI and Anthropic read it
		e.Again = says == "true"
	}
	if e.Kind == TooLong {
		e.Fits = fittingShare(f.words) // the message also has the port of the endpoint
	}
	e.Hint = x.hint(e.Kind, f)
	return e
}
