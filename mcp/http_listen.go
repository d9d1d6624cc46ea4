package mcp

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream"
)

const (
	listenOpening = time.Second // how long the start waits for the event stream to open
	listenTries   = 3           // failures in a row after which it is not opened again
)

// listen reads the event stream that belongs to no request, on which some legacy
// servers send elicitations. Nothing else needs it, so no failure of it is
// reported.
func (h *httpConn) listen() {
	opened := make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
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
	select {
	case <-opened:
	case <-time.After(listenOpening):
	}
}

// listenOnce reads one stream to its end. It returns how long to wait before the
// next one, negative for none, and whether an event came.
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
