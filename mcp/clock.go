package mcp

import (
	"context"
	"sync/atomic"
	"time"

	"toolpipe/stream/goroutine"
)

// A clock counts the time that a server has had to answer. It pauses while the caller waits
// for a reader of its own output, and while this process is suspended, as between SIGSTOP and
// SIGCONT: the server may have answered meanwhile.
type clock struct {
	began  time.Time
	before time.Duration        // the value of waited at began
	waited func() time.Duration // the total time that the caller has waited for readers
	stood  atomic.Int64         // how long this process was suspended
}

func (s *Session) clock() *clock {
	waited := s.report.hooks.OutputWait
	return &clock{began: time.Now(), before: waited(), waited: waited}
}

func (c *clock) time() time.Duration {
	return time.Since(c.began) + c.before - c.waited() - time.Duration(c.stood.Load())
}

// A wait is a series of steps of at most stepTime. If a step takes more than lateTime too
// long, the process was suspended for the excess. lateTime allows for a busy machine.
const (
	stepTime = 500 * time.Millisecond
	lateTime = 100 * time.Millisecond
)

// expire calls expired when left returns no more time, unless ctx has ended before. It
// accounts for a suspension before it calls left, so that messages that arrived meanwhile are
// still read.
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
