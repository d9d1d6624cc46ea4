package stream

import (
	"sync"
	"time"

	"toolpipe/stream/goroutine"
)

// idleTimer bounds the silence of the endpoint. It runs only during a wait for
// the network: the time that the sink takes does not count. Every byte gives it
// new time: comments and empty lines are what servers send while a model thinks.
type idleTimer struct {
	mu      sync.Mutex
	timer   *time.Timer
	limit   time.Duration
	left    time.Duration
	began   time.Time // when the wait began
	running bool      // a wait goes on

	// bytes came in the last wait. Only the reader's goroutine uses this field,
	// so that a read costs no further lock.
	gotBytes bool
}

func newIdleTimer(limit time.Duration, expired func()) *idleTimer {
	t := &idleTimer{limit: limit, left: limit}
	t.timer = goroutine.AfterFunc(limit, expired)
	t.timer.Stop()
	return t
}

// start begins a wait.
func (t *idleTimer) start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gotBytes {
		t.gotBytes, t.left = false, t.limit
	}
	t.running, t.began = true, time.Now()
	t.timer.Reset(t.left)
}

// pause ends the present wait, if there is one.
func (t *idleTimer) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running {
		t.running = false
		t.timer.Stop()
		t.left = max(t.left-time.Since(t.began), time.Millisecond)
	}
}

// heard gives the following waits the whole time again. The goroutine that
// calls start calls it.
func (t *idleTimer) heard() { t.gotBytes = true }

// shorten makes the limit of the waits from now on shorter.
func (t *idleTimer) shorten(limit time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit, t.left = min(limit, t.limit), min(limit, t.left)
}

// progress gives the present wait the whole time again, because a part of the
// request was sent. Any goroutine may call it.
func (t *idleTimer) progress() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running {
		t.left, t.began = t.limit, time.Now()
		t.timer.Reset(t.limit)
	}
}
