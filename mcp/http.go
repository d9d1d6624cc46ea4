package mcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// httpConn is the conn over Streamable HTTP, both eras: each request is a POST
// and its reply comes in the response to it.
//
// Nothing here is ever sent a second time by net/http: requests have no
// GetBody and no idempotency key, and redirects are not its business. What may
// be repeated is repeated by post.
type httpConn struct {
	in      inbound
	conns   *connections
	fixed   http.Header // sent on every request
	auth    *authorization
	origin  string
	version string // toolpipe's own

	life       context.Context // ends with close
	end        context.CancelFunc
	background crew   // ends with life
	answers    outbox // to what the server asks
	farewells  crew   // bounded by themselves

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
func newHTTP(spec *Spec, in inbound, auth *authorization) (*httpConn, error) {
	u, err := endpoint(spec.URL)
	if err != nil {
		return nil, err
	}
	h := &httpConn{in: in, conns: newConnections(), auth: auth, origin: originOf(u), version: spec.Version, at: httpState{url: u}}
	h.life, h.end = context.WithCancel(context.Background())
	h.answers = outbox{send: h.respond, start: h.background.start, full: in.unread}
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

// originOf is scheme, host and port: what credentials are bound to.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

var dialer = &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		DisableCompression:     true, // what comes packed all the same is unpacked under the cap
	}
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
func (h *httpConn) exchange(ctx context.Context, r *request) ([]byte, error) {
	return h.exchangeAt(ctx, r, h.state())
}

// exchangeAt is exchange with what state had returned.
func (h *httpConn) exchangeAt(ctx context.Context, r *request, at httpState) ([]byte, error) {
	id := h.next.Add(1)
	body := appendRequest(make([]byte, 0, 160+len(r.params)+len(r.meta)), id, r.method, r.params, r.meta, r.heard != nil)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	res, err := h.post(ctx, r, body, at)
	if err != nil {
		return nil, h.abandoned(ctx, r, id, at, err)
	}
	x := &exchangeReader{h: h, ctx: ctx, cancel: cancel, r: r, id: id, at: at}
	result, err := x.read(res)
	if err != nil && x.reply == nil && ctx.Err() != nil {
		err = &undelivered{sent: true, cause: context.Cause(ctx)}
	}
	return result, h.abandoned(ctx, r, id, at, err)
}

// abandoned tells a legacy server that a request is not wanted any more: for
// it a broken connection is no cancellation. An initialize must not be
// cancelled (2025-11-25, basic/utilities/cancellation).
func (h *httpConn) abandoned(ctx context.Context, r *request, id int64, at httpState, err error) error {
	if ctx.Err() != nil && err != nil && r.method != "initialize" && mayHaveArrived(err) && at.revision != "" && at.revision != modernRevision {
		h.farewells.start(func() { // close waits for it, the end of ctx does not stop it
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			h.tell(ctx, cancelled(id))
		})
	}
	return err
}

// post sends a body. It follows what redirections may be followed, answers a
// refusal by a fresh token, and repeats on a connection of its own what was
// lost with one that was kept, each for requests that may be sent again;
// a call is one only as long as none of it has left.
func (h *httpConn) post(ctx context.Context, r *request, body []byte, at httpState) (*http.Response, error) {
	h.in.wire('>', body)
	renewed := 0
	for hops := 0; ; {
		sent := &countedBody{}
		req := h.newPost(r, body, sent, at)
		kept := h.conns.keeps(r.once)
		res, err := h.send(ctx, req, r.once)
		switch {
		case errors.Is(err, errGone) && kept && (!r.once || !sent.began.Load()): // again, unlike before
		case err != nil:
			return nil, &undelivered{sent: sent.began.Load(), cause: err}
		case h.refusal(res) && !r.once && renewed < 2:
			renewed++
			used := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
			if err := h.auth.renew(ctx, used, h.failure(res)); err != nil {
				return nil, &undelivered{cause: err}
			}
		case h.refusal(res) && r.once:
			e := h.failure(res)
			if h.auth.renew(ctx, strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "), e) != nil {
				return nil, &undelivered{cause: e}
			}
			return nil, &undelivered{cause: fmt.Errorf("%v; the call was not run; another token was fetched, call again", e)}
		case res.StatusCode >= 300 && res.StatusCode < 400:
			e := h.failure(res)
			to, err := h.redirected(at.url, e)
			if err != nil || r.once || hops == 3 {
				return nil, &undelivered{cause: together(e, err)}
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

// refusal says whether a response asks for another token that can be had.
func (h *httpConn) refusal(res *http.Response) bool {
	if res.StatusCode == http.StatusForbidden && h.auth.grant != nil {
		return readChallenge(res.Header.Values("Www-Authenticate")).failure == "insufficient_scope"
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
	case originOf(to) != h.origin:
		return nil, errors.New("it leads to another origin: use that address as the server's URL if it is right")
	}
	e.location = to.String()
	return to, nil
}

// send is one HTTP exchange; once: the request is never sent again. The
// credentials are put on here, for the configured origin only.
func (h *httpConn) send(ctx context.Context, req *http.Request, once bool) (*http.Response, error) {
	if originOf(req.URL) != h.origin {
		return nil, fmt.Errorf("refusing to leave %s for %s", h.origin, originOf(req.URL))
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

func (h *httpConn) newPost(r *request, body []byte, sent *countedBody, at httpState) *http.Request {
	req := h.newRequest(http.MethodPost, at, r.opening)
	req.Header["Content-Type"] = []string{"application/json"}
	req.Header["Accept"] = []string{"application/json, text/event-stream"}
	if modern := at.revision == modernRevision || r.version != ""; modern {
		version := at.revision
		if r.version != "" {
			version = r.version
		}
		req.Header["Mcp-Protocol-Version"] = []string{version}
		req.Header["Mcp-Method"] = []string{r.method}
		if r.name != "" {
			req.Header["Mcp-Name"] = []string{headerValue(r.name)}
		}
		for _, f := range r.headers {
			req.Header["Mcp-Param-"+f.name] = []string{f.value}
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
	if at.revision != modernRevision && !opening {
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

// tell POSTs a message that has no reply: a notification or a response. Only
// the class of the status counts.
func (h *httpConn) tell(ctx context.Context, msg []byte) error {
	res, err := h.post(ctx, &request{}, msg, h.state())
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return &undelivered{cause: h.failure(res)}
	}
	io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	return res.Body.Close()
}

func (h *httpConn) notify(ctx context.Context, method string) error {
	return h.tell(ctx, notification(method, []byte("{}")))
}

// close ends the session, if the server gave one, once, and what runs beside.
func (h *httpConn) close() {
	h.end()
	h.background.wait()
	h.farewells.wait()
	h.mu.Lock()
	at := h.at
	h.at.session = ""
	h.mu.Unlock()
	if at.session != "" {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
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

// readAll reads a body of at most maxFrame bytes, in one piece when its length
// is known.
func readAll(r io.Reader, length int64) ([]byte, error) {
	if length > maxFrame {
		return nil, errFrameTooLarge
	}
	f := frameReader{r: r}
	if length >= 0 {
		f.buf = make([]byte, length+1)
	}
	for {
		switch err := f.fill(); {
		case err == io.EOF:
			return f.buf[:f.end], nil
		case err != nil:
			return nil, err
		case f.end > maxFrame:
			return nil, errFrameTooLarge
		}
	}
}
