package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"toolpipe/mcp/oauth"
	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/netguard"
	"toolpipe/stream/text/jsontext"
)

// httpConn is the conn over Streamable HTTP, modern and legacy: each request is a POST, and
// its reply comes in the response.
//
// net/http never repeats a request: requests have no GetBody and no idempotency key, and it
// follows no redirects. Only post and exchange repeat requests that may be repeated.
type httpConn struct {
	owner  *Session
	conns  *connections
	fixed  http.Header // sent on every request
	auth   *authorization
	origin string // of the configured URL; only this origin gets credentials

	answers wire.Responder // to requests of the server

	renewal

	next atomic.Int64 // the id of the last request

	url     atomic.Pointer[url.URL]
	session atomic.Value // a string
}

// renewal is the state of a session that begins, or begins anew.
type renewal struct {
	renewing chan struct{} // a lock: holds an element while a lost session is renewed
	renewed  atomic.Bool   // the session was renewed and has answered nothing yet
	opening  int           // waits of the requests that begin the session, which follow each other
}

// httpState is what a server may change: its address, by a redirection, and its session.
type httpState struct {
	url     *url.URL
	session string // legacy: Mcp-Session-Id; "" for none
}

// newHTTP makes the connection; nothing is sent yet.
func newHTTP(s *Session) (*httpConn, error) {
	u, err := url.Parse(s.spec.URL)
	if err != nil {
		return nil, err
	}
	u.Fragment = ""
	auth, err := newAuthorization(s, u)
	if err != nil {
		return nil, err
	}
	h := &httpConn{owner: s, conns: newConnections(u, s.spec.Client.Certificate), auth: auth, origin: netguard.Origin(u), renewal: renewal{renewing: make(chan struct{}, 1)}}
	h.url.Store(u)
	h.session.Store("")
	h.answers = wire.Responder{Life: s.life, Send: h.postMessage, Start: s.start, Full: s.onResponsesDropped}
	h.fixed = http.Header{"User-Agent": {"toolpipe/" + s.spec.Client.Version}, "Accept-Encoding": {"identity"}}
	for name, value := range s.spec.Headers {
		h.fixed.Set(name, value)
	}
	return h, nil
}

func (h *httpConn) state() httpState { return httpState{h.url.Load(), h.session.Load().(string)} }

func (h *httpConn) lost() error { return nil }

func (h *httpConn) exchangeAt(ctx context.Context, r *wire.Request, at httpState) (result []byte, err error) {
	id := h.next.Add(1)
	body := r.Message(id)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h.owner.report.message('>', body)
	res, err := h.post(ctx, r, body, at)
	if err == nil {
		x := &responseReader{h: h, ctx: ctx, cancel: cancel, r: r, id: id, at: at, retry: defaultRetry}
		result, err = x.read(res)
		if err != nil && x.reply == nil && ctx.Err() != nil {
			err = &wire.NoReplyError{Sent: true, Cause: context.Cause(ctx)}
		}
	}
	// A legacy server does not take a closed connection as a cancellation, and initialize
	// must not be cancelled (2025-11-25, basic/utilities/cancellation).
	if ctx.Err() != nil && wire.MayHaveArrived(err) && h.owner.isLegacy() && !r.Opening {
		h.owner.start(func() { // Close waits for it; the end of the request's context does not stop it
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			h.postMessage(ctx, wire.CancelledNotification(id))
		})
	}
	return result, err
}

// post sends a body. It repeats a request that may be repeated: to the target of a
// redirection, with a new token after a refusal, after a failure that may pass, and on a new
// connection when the server closed a reused one. A request that is sent at most once is
// repeated only if it did not run: if no byte of it was sent, after the server limited the
// rate, and once after the server refused its token.
func (h *httpConn) post(ctx context.Context, r *wire.Request, body []byte, at httpState) (*http.Response, error) {
	renewed, nonce := 0, false
	for hops, waits := 0, 0; ; {
		sent := &lastWrite{} // to the connection
		req := h.newPost(r, body, sent, at)
		kept := h.conns.reuses(r.AtMostOnce)
		res, err := h.send(ctx, req, r.AtMostOnce)
		switch {
		case errors.Is(err, wire.ErrGone) && kept && (!r.AtMostOnce || sent.Load() == 0): // once more, on a new connection
		case err != nil:
			return nil, &wire.NoReplyError{Sent: sent.Load() != 0, Cause: err}
		case !nonce && req.Header.Get("DPoP") != "" && res.StatusCode == http.StatusUnauthorized && oauth.WantsNonce(res.Header.Values("Www-Authenticate")):
			nonce = true // send has it now; once with each token
			h.readFailure(res)
		case h.asksForToken(res) && (renewed == 0 || renewed == 1 && (!r.AtMostOnce || h.auth.login != nil)):
			renewed, nonce = renewed+1, false
			e := h.readFailure(res)
			_, used, _ := strings.Cut(req.Header.Get("Authorization"), " ")
			err := h.auth.renew(ctx, used, e)
			if err == nil && renewed == 2 && r.AtMostOnce {
				err = e
			}
			if err != nil {
				return nil, &wire.NoReplyError{Cause: err}
			}
		case res.StatusCode >= 300 && res.StatusCode < 400:
			e := h.readFailure(res)
			to, err := h.redirected(at.url, e)
			if err != nil || r.AtMostOnce || hops == 3 {
				return nil, &wire.NoReplyError{Cause: wire.JoinErrors(e, err)}
			}
			hops++
			at.url = to
			h.url.Store(to)
		default:
			made := &waits
			if r.Opening { // a server that is down refuses the probe and then initialize
				made = &h.opening
			}
			again, err := h.waitOut(ctx, r, res, *made)
			if !again {
				return res, err
			}
			*made++
		}
	}
}

// waitOut waits if a failure may pass and the request may be sent again, and reports whether
// to send it. made is how often it was sent again already. The response stays open unless the
// wait began.
func (h *httpConn) waitOut(ctx context.Context, r *wire.Request, res *http.Response, made int) (again bool, err error) {
	notRun := res.StatusCode == http.StatusTooManyRequests
	harmless := !r.AtMostOnce || r.ReadOnly && res.StatusCode == http.StatusServiceUnavailable
	if made == netguard.MaxRetries || !mayPass(res.StatusCode) || !notRun && !harmless {
		return false, nil
	}
	wait := cmp.Or(netguard.RetryAfter(res.Header), netguard.Pause(made))
	if wait >= h.owner.patience() {
		return false, nil
	}
	e := h.readFailure(res)
	h.noteWait(r, fmt.Sprintf("HTTP status %d %s, trying again in %s", e.status, http.StatusText(e.status), wait.Round(100*time.Millisecond)))
	if goroutine.Await(ctx.Done(), wait) {
		return false, &wire.NoReplyError{Sent: !notRun, Cause: fmt.Errorf("%v; %w", e, context.Cause(ctx))}
	}
	h.noteWait(r, "trying again") // the wait is not the server's time to answer
	return true, nil
}

// noteWait reports a wait in the log, and as progress of a request that has progress.
func (h *httpConn) noteWait(r *wire.Request, message string) {
	h.owner.report.log(strings.TrimPrefix(r.Method+": "+message, ": ")) // a notification has no Method here
	if r.Progress != nil {
		r.Progress(append(jsontext.AppendQuoted([]byte(`{"message":`), message), '}'))
	}
}

// mayPass reports whether a status is a rate limit, an overload or a failure of a gateway.
func mayPass(status int) bool {
	return slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, status)
}

// asksForToken reports whether a response asks for another token and we can get one.
func (h *httpConn) asksForToken(res *http.Response) bool {
	if res.StatusCode == http.StatusForbidden && (h.auth.grant || h.auth.login != nil) {
		return oauth.InsufficientScope(res.Header.Values("Www-Authenticate"))
	}
	return res.StatusCode == http.StatusUnauthorized && (h.auth.fetch != nil || h.auth.login != nil)
}

// redirected is the target of a redirection. Only 307 and 308 keep the method and the body;
// any other status would turn the request into a GET.
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

// send is one HTTP exchange. It adds the credentials, only for the configured origin. once
// marks a request that is sent at most once.
func (h *httpConn) send(ctx context.Context, req *http.Request, once bool) (*http.Response, error) {
	if netguard.Origin(req.URL) != h.origin {
		return nil, fmt.Errorf("refusing to leave %s for %s", h.origin, netguard.Origin(req.URL))
	}
	token, err := h.auth.current(ctx)
	if err == nil && token.AccessToken != "" {
		err = token.Authorize(req)
	}
	if err != nil {
		return nil, err
	}
	res, err := h.conns.roundTrip(req.WithContext(ctx), once)
	if err == nil {
		token.DPoP.Learn(req.URL, res.Header)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil && strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip"):
		res.Body = &gzipBody{ReadCloser: res.Body}
	}
	return res, err
}

func (h *httpConn) newPost(r *wire.Request, body []byte, sent io.Writer, at httpState) *http.Request {
	req := h.newRequest(http.MethodPost, at, r.Opening)
	req.Header["Content-Type"] = []string{"application/json"}
	req.Header["Accept"] = []string{"application/json, text/event-stream"}
	if r.Meta != nil { // as every request of 2026-07-28 has, and no other
		req.Header["Mcp-Protocol-Version"] = []string{wire.ModernRevision}
		req.Header["Mcp-Method"] = []string{r.Method}
		if r.Name != "" {
			req.Header["Mcp-Name"] = []string{headerValue(r.Name)}
		}
		for _, f := range r.Headers {
			req.Header["Mcp-Param-"+f.Name] = []string{f.Value}
		}
	}
	req.Body = io.NopCloser(io.TeeReader(bytes.NewReader(body), sent))
	req.ContentLength = int64(len(body))
	return req
}

// newRequest is a request with the headers of all requests. An opening request belongs to no
// session.
func (h *httpConn) newRequest(method string, at httpState, opening bool) *http.Request {
	header := maps.Clone(h.fixed)
	if revision := h.owner.Protocol(); revision != wire.ModernRevision && !opening {
		if at.session != "" {
			header["Mcp-Session-Id"] = []string{at.session}
		}
		if revision >= "2025-06-18" {
			header["Mcp-Protocol-Version"] = []string{revision}
		}
	}
	return &http.Request{Method: method, URL: at.url, Host: at.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
}

func (h *httpConn) postMessage(ctx context.Context, msg []byte) error {
	h.owner.report.message('>', msg)
	return h.deliver(ctx, &wire.Request{}, msg, h.state())
}

// deliver POSTs a message and does not read the response. Any status below 300 is a success.
// The error is a *wire.NoReplyError.
func (h *httpConn) deliver(ctx context.Context, r *wire.Request, msg []byte, at httpState) error {
	res, err := h.post(ctx, r, msg, at)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return &wire.NoReplyError{Sent: res.StatusCode >= 500, Cause: h.readFailure(res)}
	}
	io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	return res.Body.Close()
}

// close ends the session if the server gave one, and closes the connections. It first waits
// for the session's background work, such as a cancellation. That wait is limited, since the
// work may be a question to the user.
func (h *httpConn) close() {
	goroutine.Within(wire.ShutdownGrace, h.owner.background.Wait)
	at := h.state()
	if at.session != "" {
		h.session.Store("")
		ctx, cancel := context.WithTimeout(context.Background(), wire.ShutdownGrace)
		defer cancel()
		if res, err := h.send(ctx, h.newRequest(http.MethodDelete, at, false), false); err == nil {
			res.Body.Close()
		}
	}
	h.conns.closeIdle()
}

func mediaType(res *http.Response) string {
	t, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return t
}
