package stream

import (
	"sync"
	"time"

	"toolpipe/stream/goroutine"
)

// idleTimer bounds the silence of the endpoint. It runs only during a wait for
// the network: the time that the sink takes does not count. Each wait ends with
// bytes and has the whole limit: comments and empty lines are what servers send
// while a model thinks.
type idleTimer struct {
	mu    sync.Mutex
	timer *time.Timer // runs while a wait goes on
	limit time.Duration
}

func newIdleTimer(limit time.Duration, expired func()) *idleTimer {
	t := &idleTimer{limit: limit, timer: goroutine.AfterFunc(limit, expired)}
	t.timer.Stop()
	return t
}

// start begins a wait.
func (t *idleTimer) start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Reset(t.limit)
}

// pause ends the present wait, if there is one.
func (t *idleTimer) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Stop()
}

// progress gives the present wait the whole limit again, because a part of the
// request was sent. Any goroutine may call it.
func (t *idleTimer) progress() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer.Stop() {
		t.timer.Reset(t.limit)
	}
}

// shorten makes the limit of the waits from now on shorter.
func (t *idleTimer) shorten(limit time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit = min(limit, t.limit)
}
