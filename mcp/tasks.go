package mcp

import (
	"sync"

	"toolpipe/stream/goroutine"
)

// tasks are goroutines that a close waits for. Unlike with a sync.WaitGroup,
// start and wait may be called at the same time; after wait began, start does
// nothing.
type tasks struct {
	mu     sync.Mutex
	closed bool
	all    sync.WaitGroup
}

func (c *tasks) start(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		goroutine.StartIn(&c.all, f)
	}
}

func (c *tasks) wait() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.all.Wait()
}
