package stream

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A request that is long in sending leaves the reply its whole time.
func TestIdleAfterProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var expired atomic.Bool
		idle := newIdleTimer(3*time.Second, func() { expired.Store(true) })
		idle.start(0)
		for range 7 {
			time.Sleep(2 * time.Second)
			idle.progress()
		}
		time.Sleep(time.Second) // the rest is on its way
		idle.pause()
		idle.start(0)
		time.Sleep(1900 * time.Millisecond)
		synctest.Wait()
		if expired.Load() {
			t.Error("what was left is less than what the last progress gave")
		}
		idle.pause()
		idle.start(0)
		time.Sleep(2900 * time.Millisecond)
		synctest.Wait()
		if expired.Load() {
			t.Error("a new wait has less than the whole time")
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if !expired.Load() {
			t.Error("no bound")
		}
		idle.pause()
	})
}

// Comments alone keep a reply open for ten times the limit, and no longer.
func TestOnlyComments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var expired atomic.Bool
		idle := newIdleTimer(3*time.Second, func() { expired.Store(true) })
		wait := func(parts int) {
			idle.start(parts)
			time.Sleep(2 * time.Second)
			idle.pause()
			time.Sleep(time.Minute) // of the sink, which does not count
			synctest.Wait()
		}
		for n := range 20 {
			if wait(n / 14); expired.Load() {
				t.Fatalf("it ended in wait %d", n)
			}
		}
		for range 8 {
			wait(1)
		}
		if expired.Load() {
			t.Fatal("it ended before 28 s")
		}
		if wait(1); !expired.Load() {
			t.Error("no bound")
		}
	})
}
