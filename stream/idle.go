package stream

import (
	"sync"
	"time"

	"toolpipe/stream/goroutine"
)

// idleTimer bounds the silence of the endpoint. It runs only during a wait for the network: the
// time of the sink does not count. Each wait for bytes may take the full limit: servers send
// comments and empty lines while a model thinks. But all waits together without a part of the
// reply have a limit as well.
type idleTimer struct {
	mu    sync.Mutex
	timer *time.Timer // runs while a wait goes on
	limit time.Duration

	parts int           // of the reply that have come
	most  time.Duration // of all waits until the next part
	spent time.Duration // by the waits since the last part
	began time.Time     // of the present wait
}

const silentWaits = 10 // full limits that may pass without a part of a reply

func newIdleTimer(limit time.Duration, expired func()) *idleTimer {
	t := &idleTimer{limit: limit, most: silentWaits * limit, timer: goroutine.AfterFunc(limit, expired)}
	t.timer.Stop()
	return t
}

// start begins a wait. parts is the number of parts of the reply that have come.
func (t *idleTimer) start(parts int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if parts != t.parts {
		t.parts, t.spent = parts, 0
	}
	t.began = time.Now()
	t.timer.Reset(min(t.limit, t.most-t.spent))
}

// pause ends the present wait, if there is one.
func (t *idleTimer) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer.Stop() {
		t.spent += time.Since(t.began)
	}
}

// spentAll reports whether the wait that expired used up the time of all waits until the next
// part, and was shorter than the limit.
func (t *idleTimer) spentAll() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.most-t.spent < t.limit
}

// progress gives the present wait the full limit again, because a part of the request was sent.
// Any goroutine may call it.
func (t *idleTimer) progress() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer.Stop() {
		t.began = time.Now()
		t.timer.Reset(t.limit)
	}
}

func (t *idleTimer) shorten(limit time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit = min(limit, t.limit)
}
