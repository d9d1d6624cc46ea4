package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// exchange implements conn. A *statusError may also be the cause of a *wire.NoReplyError,
// which is Sent unless the status shows that the request was not run. If a legacy server lost
// the session, exchange begins a new one and repeats the request once, except when the last
// session was lost before it answered anything.
func (h *httpConn) exchange(ctx context.Context, r *wire.Request) (result []byte, err error) {
	if r.Opening {
		return h.exchangeAt(ctx, r, h.state())
	}
	unlock, err := h.lockRenewal(ctx)
	if err != nil {
		return nil, &wire.NoReplyError{Cause: err}
	}
	at := h.state()
	unlock()
	defer func() {
		if err == nil {
			h.renewed.Store(false)
		}
	}()
	result, err = h.exchangeAt(ctx, r, at)
	if err == nil || at.session == "" || !sessionLost(err, r.AtMostOnce) {
		return result, err
	}
	// Neither error is wrapped: they are not the outcome of the request.
	if again := h.renewSession(ctx, at.session); again != nil {
		return nil, &wire.NoReplyError{Cause: fmt.Errorf("%v; a new session failed: %v", err, again)}
	}
	return h.exchangeAt(ctx, r, h.state())
}

// sessionLost reports whether a request failed because the server lost the session, so that it
// did not run. By the specification that is a 404; servers also send a 400, a 401, or on 200 an
// error or another text that says so. A tool may also report another kind of session, such as a
// browser's: for a call, an error that names the id of a request is the answer to the call,
// unless it is an error of the server that says nothing else.
func sessionLost(err error, once bool) bool {
	e, ok := errors.AsType[*statusError](err)
	if !ok {
		return false
	}
	text, code := string(e.body), 0
	if e.rpc != nil {
		text, code = e.rpc.Message, e.rpc.Code
	}
	text = strings.ToLower(text)
	ofServer := code == 0 || code == wire.CodeInvalidRequest || code <= -32000 && code > -32100
	switch answer := once && e.id != 0; {
	case e.unreadable != nil: // a whole text, since one that was cut off may be a result
		_, broken := errors.AsType[*jsontext.SyntaxError](e.unreadable)
		return saysLost(text) && len(text) <= maxLostText && !broken && !e.isPage()
	case wire.MayHaveArrived(err):
		return false
	case answer && e.status != http.StatusNotFound, once && e.status == http.StatusOK:
		return ofServer && saysLost(text)
	}
	ofSession := strings.Contains(text, "session")
	switch e.status {
	case http.StatusNotFound:
		return e.rpc == nil || ofSession || code != wire.CodeMethodNotFound && (!once || e.id <= 0)
	case http.StatusBadRequest, http.StatusUnauthorized:
		return ofSession
	case http.StatusOK:
		return ofSession && ofServer
	}
	return false
}

// maxLostText is the length up to which a text other than a reply may say that a session is lost.
const maxLostText = 200

// saysLost reports whether a text in lower case says that the session of the protocol does not
// exist. A noun before the word means a session of the tool, as in "browser session not found".
func saysLost(text string) bool {
	before, _, found := strings.Cut(text, "session")
	before = strings.TrimRight(before, " -'\"`")
	kind := before[strings.LastIndexAny(before, " -'\"`:;,.({\n")+1:]
	return found && (kind == "" || slices.Contains(strings.Fields("a the this your no such valid invalid unknown expired missing mcp"), kind)) &&
		slices.ContainsFunc([]string{"not found", "expired", "unknown", "invalid", "no valid", "no such", "not exist", "terminated"}, func(words string) bool {
			return strings.Contains(text, words)
		})
}

// lockRenewal waits until no renewal of the session is in progress.
func (h *httpConn) lockRenewal(ctx context.Context) (unlock func(), err error) {
	select {
	case h.renewing <- struct{}{}:
		return func() { <-h.renewing }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// renewSession initializes again, unless another call has done so meanwhile. After a failure
// the lost session stays, so that the next call tries again.
func (h *httpConn) renewSession(ctx context.Context, lost string) error {
	unlock, err := h.lockRenewal(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if h.state().session != lost {
		return nil
	}
	if h.renewed.Load() {
		return errors.New("the session was lost twice")
	}
	h.session.Store("")
	h.opening = 0
	if err := h.owner.initialize(ctx, h.owner.Protocol()); err != nil {
		h.session.Store(lost)
		return err
	}
	h.renewed.Store(true)
	return nil
}
