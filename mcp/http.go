package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"toolpipe/mcp/netguard"
	"toolpipe/mcp/oauth"
	"toolpipe/mcp/wire"
)

// httpConn is the conn over Streamable HTTP, both eras: each request is a POST
// and its reply comes in the response to it.
//
// Nothing here is ever sent a second time by net/http: requests have no
// GetBody and no idempotency key, and redirects are not its business. What may
// be repeated is repeated by post.
type httpConn struct {
	in      receiver
	conns   *connections
	fixed   http.Header // sent on every request
	auth    *authorization
	origin  string
	version string // toolpipe's own

	life          context.Context // ends with close
	end           context.CancelFunc
	background    tasks              // ends with life
	answers       wire.ResponseQueue // to what the server asks
	cancellations tasks              // bounded by themselves

	next atomic.Int64
	mu   sync.Mutex
	at   httpState
}

// httpState is what changes in the course of a connection.
type httpState struct {
	url      *url.URL
	session  string // legacy: Mcp-Session-Id; "" for none
	revision string
}

// newHTTP makes the connection; nothing is sent yet.
func newHTTP(spec *Spec, in receiver, auth *authorization) (*httpConn, error) {
	u, err := endpoint(spec.URL)
	if err != nil {
		return nil, err
	}
	h := &httpConn{in: in, conns: newConnections(), auth: auth, origin: netguard.Origin(u), version: spec.Version, at: httpState{url: u}}
	h.life, h.end = context.WithCancel(context.Background())
	h.answers = wire.ResponseQueue{Send: h.respond, Start: h.background.start, Full: in.onResponsesDropped}
	h.fixed = http.Header{"User-Agent": {"toolpipe/" + spec.Version}}
	for name, value := range spec.Headers {
		h.fixed.Set(name, value)
	}
	return h, nil
}

// endpoint checks a server's URL.
func endpoint(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%q is not an http or https URL", raw)
	case u.User != nil:
		return nil, errors.New("the URL holds a user name or password: give them in headers or auth_env instead")
	}
	u.Fragment = ""
	return u, nil
}

func (h *httpConn) state() httpState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *httpConn) setSession(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at.session = id
}

func (h *httpConn) negotiated(revision string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at.revision = revision
}

func (h *httpConn) lost() error { return nil }

// exchange implements conn. Besides the errors named there it gives an
// *undelivered around a *statusError; that it was sent is claimed unless the
// status says that nothing was done.
func (h *httpConn) exchange(ctx context.Context, r *wire.Request) ([]byte, error) {
	return h.exchangeAt(ctx, r, h.state())
}

// exchangeAt is exchange with what state had returned.
func (h *httpConn) exchangeAt(ctx context.Context, r *wire.Request, at httpState) ([]byte, error) {
	id := h.next.Add(1)
	body := wire.AppendRequest(make([]byte, 0, 160+len(r.Params)+len(r.Meta)), id, r.Method, r.Params, r.Meta, r.Progress != nil)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	res, err := h.post(ctx, r, body, at)
	if err != nil {
		return nil, h.abandoned(ctx, r, id, at, err)
	}
	x := &responseReader{h: h, ctx: ctx, cancel: cancel, r: r, id: id, at: at}
	result, err := x.read(res)
	if err != nil && x.reply == nil && ctx.Err() != nil {
		err = &wire.NoReplyError{Sent: true, Cause: context.Cause(ctx)}
	}
	return result, h.abandoned(ctx, r, id, at, err)
}

// abandoned tells a legacy server that a request is not wanted any more: for
// it a broken connection is no cancellation. An initialize must not be
// cancelled (2025-11-25, basic/utilities/cancellation).
func (h *httpConn) abandoned(ctx context.Context, r *wire.Request, id int64, at httpState, err error) error {
	if ctx.Err() != nil && err != nil && r.Method != "initialize" && wire.MayHaveArrived(err) && at.revision != "" && at.revision != wire.ModernRevision {
		h.cancellations.start(func() { // close waits for it, the end of ctx does not stop it
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			h.postMessage(ctx, wire.CancelledNotification(id))
		})
	}
	return err
}

// post sends a body. It follows what redirections may be followed, answers a
// refusal by a fresh token, and repeats on a connection of its own what was
// lost with one that was kept, each for requests that may be sent again;
// a call is one only as long as none of it has left.
func (h *httpConn) post(ctx context.Context, r *wire.Request, body []byte, at httpState) (*http.Response, error) {
	h.in.onMessage('>', body)
	renewed := 0
	for hops := 0; ; {
		sent := &countedBody{}
		req := h.newPost(r, body, sent, at)
		kept := h.conns.reuses(r.AtMostOnce)
		res, err := h.send(ctx, req, r.AtMostOnce)
		switch {
		case errors.Is(err, wire.ErrGone) && kept && (!r.AtMostOnce || !sent.began.Load()): // again, unlike before
		case err != nil:
			return nil, &wire.NoReplyError{Sent: sent.began.Load(), Cause: err}
		case h.asksForToken(res) && !r.AtMostOnce && renewed < 2:
			renewed++
			used := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
			if err := h.auth.renew(ctx, used, h.readFailure(res)); err != nil {
				return nil, &wire.NoReplyError{Cause: err}
			}
		case h.asksForToken(res) && r.AtMostOnce:
			e := h.readFailure(res)
			if h.auth.renew(ctx, strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "), e) != nil {
				return nil, &wire.NoReplyError{Cause: e}
			}
			return nil, &wire.NoReplyError{Cause: fmt.Errorf("%v; the call was not run; another token was fetched, call again", e)}
		case res.StatusCode >= 300 && res.StatusCode < 400:
			e := h.readFailure(res)
			to, err := h.redirected(at.url, e)
			if err != nil || r.AtMostOnce || hops == 3 {
				return nil, &wire.NoReplyError{Cause: wire.JoinErrors(e, err)}
			}
			hops++
			at.url = to
			h.mu.Lock()
			h.at.url = to
			h.mu.Unlock()
		default:
			return res, nil
		}
	}
}

// asksForToken says whether a response asks for another token that can be had.
func (h *httpConn) asksForToken(res *http.Response) bool {
	if res.StatusCode == http.StatusForbidden && h.auth.grant != nil {
		return oauth.InsufficientScope(res.Header.Values("Www-Authenticate"))
	}
	return res.StatusCode == http.StatusUnauthorized && h.auth.renewable()
}

// redirected is where a request may be sent instead: 307 and 308 keep method
// and body, anything else would turn it into a GET.
func (h *httpConn) redirected(from *url.URL, e *statusError) (*url.URL, error) {
	e.location = e.header.Get("Location")
	to, err := from.Parse(e.location)
	switch {
	case err != nil || e.location == "":
		return nil, errors.New("a redirection without a usable target")
	case e.status != http.StatusTemporaryRedirect && e.status != http.StatusPermanentRedirect:
		return nil, errors.New("only 307 and 308 are followed: use that address as the server's URL")
	case netguard.Origin(to) != h.origin:
		return nil, errors.New("it leads to another origin: use that address as the server's URL if it is right")
	}
	e.location = to.String()
	return to, nil
}

// send is one HTTP exchange; once: the request is never sent again. The
// credentials are put on here, for the configured origin only.
func (h *httpConn) send(ctx context.Context, req *http.Request, once bool) (*http.Response, error) {
	if netguard.Origin(req.URL) != h.origin {
		return nil, fmt.Errorf("refusing to leave %s for %s", h.origin, netguard.Origin(req.URL))
	}
	bearer, err := h.auth.bearer(ctx)
	if err != nil {
		return nil, err
	}
	if bearer != "" {
		req.Header["Authorization"] = []string{"Bearer " + bearer}
	}
	res, err := h.conns.roundTrip(req.WithContext(ctx), once)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return res, err
}

func (h *httpConn) newPost(r *wire.Request, body []byte, sent *countedBody, at httpState) *http.Request {
	req := h.newRequest(http.MethodPost, at, r.Opening)
	req.Header["Content-Type"] = []string{"application/json"}
	req.Header["Accept"] = []string{"application/json, text/event-stream"}
	if modern := at.revision == wire.ModernRevision || r.Version != ""; modern {
		version := at.revision
		if r.Version != "" {
			version = r.Version
		}
		req.Header["Mcp-Protocol-Version"] = []string{version}
		req.Header["Mcp-Method"] = []string{r.Method}
		if r.Name != "" {
			req.Header["Mcp-Name"] = []string{headerValue(r.Name)}
		}
		for _, f := range r.Headers {
			req.Header["Mcp-Param-"+f.Name] = []string{f.Value}
		}
	}
	sent.r.Reset(body)
	req.Body = sent
	req.ContentLength = int64(len(body))
	return req
}

// newRequest is a request with the headers that every one has. An opening one
// belongs to no session.
func (h *httpConn) newRequest(method string, at httpState, opening bool) *http.Request {
	header := make(http.Header, len(h.fixed)+8)
	for name, values := range h.fixed {
		header[name] = values
	}
	if at.revision != wire.ModernRevision && !opening {
		if at.session != "" {
			header["Mcp-Session-Id"] = []string{at.session}
		}
		if at.revision >= "2025-06-18" {
			header["Mcp-Protocol-Version"] = []string{at.revision}
		}
	}
	return &http.Request{Method: method, URL: at.url, Host: at.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
}

// countedBody knows whether any of it may have left.
type countedBody struct {
	r     bytes.Reader
	began atomic.Bool
}

func (b *countedBody) Read(p []byte) (int, error) {
	b.began.Store(true)
	return b.r.Read(p)
}

func (b *countedBody) Close() error { return nil }

// postMessage POSTs a message that has no reply: a notification or a response. Only
// the class of the status counts.
func (h *httpConn) postMessage(ctx context.Context, msg []byte) error {
	res, err := h.post(ctx, &wire.Request{}, msg, h.state())
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return &wire.NoReplyError{Cause: h.readFailure(res)}
	}
	io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	return res.Body.Close()
}

func (h *httpConn) notify(ctx context.Context, method string) error {
	return h.postMessage(ctx, wire.Notification(method, []byte("{}")))
}

// close ends the session, if the server gave one, once, and what runs beside.
func (h *httpConn) close() {
	h.end()
	h.background.wait()
	h.cancellations.wait()
	h.mu.Lock()
	at := h.at
	h.at.session = ""
	h.mu.Unlock()
	if at.session != "" {
		ctx, cancel := context.WithTimeout(context.Background(), wire.ShutdownGrace)
		defer cancel()
		if res, err := h.send(ctx, h.newRequest(http.MethodDelete, at, false), false); err == nil {
			res.Body.Close()
		}
	}
	h.conns.closeIdle()
}

// mediaType is the media type of a response, without parameters.
func mediaType(res *http.Response) string {
	t, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return t
}

// readAll reads a body of at most MaxFrame bytes, without copying when its
// length is known; -1 is an unknown length.
func readAll(r io.Reader, length int64) ([]byte, error) {
	if length > wire.MaxFrame {
		return nil, wire.ErrFrameTooLarge
	}
	body := bytes.NewBuffer(make([]byte, 0, length+1+bytes.MinRead))
	_, err := body.ReadFrom(io.LimitReader(r, wire.MaxFrame+1))
	if err == nil && body.Len() > wire.MaxFrame {
		err = wire.ErrFrameTooLarge
	}
	return body.Bytes(), err
}
