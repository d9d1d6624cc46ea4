package mcp

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"toolpipe/mcp/htmltext"
	"toolpipe/mcp/wire"
	"toolpipe/stream"
	"toolpipe/stream/netguard"
)

const maxErrorBody = 8 << 10 // bytes of a body that an error keeps

// statusError is a response with an error status, with an error reply, or with a success
// status and a body that cannot be read.
type statusError struct {
	status     int
	body       []byte // its beginning
	header     http.Header
	rpc        *wire.RPCError // the body; nil when it is not a JSON-RPC error
	id         int64          // of the request that the body answers, as wire.ReplyID gives it
	location   string         // of a redirection
	unreadable error          // why the body is not JSON-RPC; nil if the status is an error
	after      time.Time      // when the server asks to try again; zero: it does not say
}

func (e *statusError) Error() string {
	switch {
	case errors.Is(e.unreadable, errNoReply):
		return fmt.Sprintf("%v: %s", e.unreadable, e.excerpt())
	case e.unreadable != nil:
		return fmt.Sprintf("the response is not JSON (%v): %s", e.unreadable, e.excerpt())
	case e.rpc != nil && e.status == http.StatusOK:
		return e.rpc.Error()
	}
	message := fmt.Sprintf("HTTP status %d %s", e.status, http.StatusText(e.status))
	switch {
	case e.location != "":
		message += fmt.Sprintf(" to %q", e.location)
	case e.rpc != nil:
		message += ": " + e.rpc.Error()
	case len(bytes.TrimSpace(e.body)) > 0:
		message += ": " + e.excerpt()
	}
	return message + e.advice()
}

// advice is the part of a message about the wait that the server asks for, "" if that is over.
func (e *statusError) advice() string {
	left := time.Until(e.after)
	if left <= 0 {
		return ""
	}
	return "; the server asks to try again in " + max(left.Round(time.Second), time.Second).String()
}

func (e *statusError) Unwrap() error {
	if e.rpc == nil {
		return nil
	}
	return e.rpc
}

// readFailure reads the beginning of an unsuccessful response and closes it.
func (h *httpConn) readFailure(res *http.Response) *statusError {
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	h.owner.report.message('<', fmt.Appendf(nil, "HTTP %d %s", res.StatusCode, body))
	e := &statusError{status: res.StatusCode, body: body, header: res.Header}
	if wait := netguard.RetryAfter(res.Header); wait > 0 {
		e.after = time.Now().Add(wait)
	}
	for ev, err := range stream.Events(bytes.NewReader(body), len(body)) {
		if err == nil { // some servers send errors as events
			body = ev.Data
		}
		break
	}
	wire.ParseMessages(body, func(m wire.Message) {
		if m.Error != nil {
			_, err := m.Result()
			e.rpc, _ = errors.AsType[*wire.RPCError](err)
			e.id = wire.ReplyID(m.ID)
		}
	})
	return e
}

// excerpt is the part of the body that an error quotes: the title or the text of a web page,
// or the beginning of any other body.
func (e *statusError) excerpt() string {
	if !e.isPage() {
		return wire.Snippet(e.body)
	}
	what, text := "a web page without a title: ", htmltext.Text(e.body, nil)
	if title := regexp.MustCompile(`(?is)<title[^>]*>\s*([^\s<].*?)</title`).FindSubmatch(e.body); title != nil {
		what, text = "the web page ", []byte(html.UnescapeString(string(title[1])))
	}
	return what + strconv.Quote(wire.Snippet(bytes.Join(bytes.Fields(text), []byte(" "))))
}

func (e *statusError) isPage() bool { return htmltext.IsPage(e.body, e.header.Get("Content-Type")) }

// wrongURL reports whether err suggests that there is no MCP server at the URL.
func wrongURL(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.rpc == nil && (e.status == http.StatusNotFound || e.isPage())
}

// gzipBody is a body that the server compressed although it was not asked to.
type gzipBody struct {
	io.ReadCloser
	z *gzip.Reader // nil before the first Read
}

func (g *gzipBody) Read(p []byte) (n int, err error) {
	if g.z == nil {
		if g.z, err = gzip.NewReader(g.ReadCloser); err != nil {
			return 0, err
		}
	}
	return g.z.Read(p)
}
