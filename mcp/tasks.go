package mcp

import (
	"sync"

	"toolpipe/stream/goroutine"
)

// tasks are the goroutines that a close waits for. Unlike a sync.WaitGroup,
// which panics, it may be given work by calls that are still under way while
// somebody closes: what comes after wait began is not run.
type tasks struct {
	mu   sync.Mutex
	over bool
	all  sync.WaitGroup
}

func (c *tasks) start(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		goroutine.StartIn(&c.all, f)
	}
}

func (c *tasks) wait() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.all.Wait()
}
