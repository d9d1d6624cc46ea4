package stream

import (
	"sync"
	"time"

	"toolpipe/stream/goroutine"
)

// idleTimer bounds the time without useful data. It runs only while a read
// or the network is waited for: time that the sink takes does not count, and
// comments do not set it back.
type idleTimer struct {
	mu      sync.Mutex
	timer   *time.Timer
	limit   time.Duration
	left    time.Duration
	began   time.Time
	running bool

	fresh bool // useful data came since the last wait; of the reader's goroutine alone, which needs no lock for each event
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
	if t.fresh {
		t.fresh, t.left = false, t.limit
	}
	t.running, t.began = true, time.Now()
	t.timer.Reset(t.left)
}

// pause ends a wait, if one goes on.
func (t *idleTimer) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running {
		t.running = false
		t.timer.Stop()
		t.left = max(t.left-time.Since(t.began), time.Millisecond)
	}
}

// useful gives the next waits the whole time again. It is called by the
// goroutine that calls start.
func (t *idleTimer) useful() { t.fresh = true }

// progress gives a wait that goes on the whole time again: some of the
// request was sent. It may be called from another goroutine.
func (t *idleTimer) progress() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running {
		t.left, t.began = t.limit, time.Now()
		t.timer.Reset(t.limit)
	}
}
