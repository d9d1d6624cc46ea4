package mcp

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"toolpipe/mcp/wire"
)

const (
	listenOpening = time.Second // how long the start waits for the event stream to open
	listenTries   = 3           // failures in a row after which it is not opened again
)

// listen reads the event stream that belongs to no request, on which some legacy
// servers send elicitations. Nothing else needs it, so no failure of it is
// reported. It returns when the stream is open, or after listenOpening.
func (h *httpConn) listen() {
	opened := make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
	h.background.start(func() {
		defer open()
		x := &responseReader{h: h, ctx: h.life, r: &wire.Request{}}
		for failures := 0; failures < listenTries; {
			failures++
			res, err := h.get(h.life, h.state(), x.lastID)
			open()
			if e, ok := errors.AsType[*statusError](err); ok && e.status < http.StatusInternalServerError {
				return // the server does not offer the stream
			}
			if err == nil {
				x.heard = false
				err = x.events(res.Body)
				res.Body.Close()
				if x.heard {
					failures = 0
				}
			}
			if tooLarge(err) || !pause(h.life, retryWait(x.retry)) {
				return
			}
		}
	})
	select {
	case <-opened:
	case <-time.After(listenOpening):
	}
}
