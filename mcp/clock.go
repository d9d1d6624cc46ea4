package mcp

import (
	"context"
	"sync/atomic"
	"time"

	"toolpipe/stream/goroutine"
)

// A clock gives the time that a server has had. It stands still while the caller waits
// until its own output is read, and while this process does not run, as between SIGSTOP
// and SIGCONT: the server may have answered meanwhile.
type clock struct {
	began  time.Time
	before time.Duration        // what waited gave then
	waited func() time.Duration // how long, in all, the caller has waited for readers
	stood  atomic.Int64         // how long this process did not run
}

func (s *Session) clock() *clock {
	waited := s.report.hooks.OutputWait
	return &clock{began: time.Now(), before: waited(), waited: waited}
}

func (c *clock) time() time.Duration {
	return time.Since(c.began) + c.before - c.waited() - time.Duration(c.stood.Load())
}

// A wait goes on in steps of stepTime at most. What a step takes longer than it was to
// take, but for the time that a busy machine needs, this process did not run.
const (
	stepTime = 500 * time.Millisecond
	lateTime = 100 * time.Millisecond
)

// expire calls expired when left gives no time any more, unless ctx has ended. A pause of
// this process is noticed before left is asked, so that what has arrived in it is read.
func (c *clock) expire(ctx context.Context, left func() time.Duration, expired func()) *time.Timer {
	began, step := time.Now(), min(left(), stepTime)
	return goroutine.AfterFunc(step, func() {
		for {
			if late := time.Since(began) - step; late > lateTime {
				c.stood.Add(int64(late))
			}
			if began, step = time.Now(), min(left(), stepTime); step <= 0 {
				break
			}
			if goroutine.Await(ctx.Done(), step) {
				return
			}
		}
		expired()
	})
}
