package mcp

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"toolpipe/stream/goroutine"
	"toolpipe/stream/jsontext"
)

const (
	maxComparisons    = 16 // of a list that a server says has changed
	comparisonTimeout = 10 * time.Second
)

// comparison finds out whether a list of tools is another than at the start, after
// the server announced it. Servers announce a change that is none: a browser's at
// every page.
type comparison struct {
	seed  maphash.Seed
	first map[string]uint64 // a hash of each tool, by name, of the first list; nil before it

	mu      sync.Mutex
	running bool
	again   bool // announced while a comparison ran
	done    int
	all     tasks
}

// hashOf is a hash of a tool's definition.
func (c *comparison) hashOf(item []byte) uint64 { return maphash.Bytes(c.seed, item) }

// toolsChanged compares the list of tools with the first one, in a goroutine of
// its own.
func (s *Session) toolsChanged() {
	c := &s.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.again = c.running; !c.running {
		c.running = true
		c.all.start(s.compareTools)
	}
}

func (s *Session) compareTools() {
	c := &s.changes
	for {
		changed, err := s.otherTools()
		switch {
		case s.life.Err() != nil:
			return
		case err != nil:
			s.report.log("the list of tools was announced as changed, and could not be read: " + err.Error())
		case changed:
			s.warnOnce("changed", "tools_changed", fmt.Sprintf("server %q has a changed list of tools; this run goes on with the list it began with", s.spec.Name))
		default:
			s.report.log("the list of tools was announced as changed, and is the same")
		}
		c.mu.Lock()
		c.done++
		more := c.again && !changed && c.done < maxComparisons
		c.again, c.running = false, more || changed || c.done == maxComparisons
		c.mu.Unlock()
		if !more {
			return
		}
	}
}

// otherTools reports whether the list of tools is another than the first.
func (s *Session) otherTools() (bool, error) {
	ctx, cancel := context.WithTimeout(s.life, comparisonTimeout)
	defer cancel()
	now := map[string]uint64{}
	err := s.allPages(ctx, "tools/list", "tools", "name", func(item []byte) error {
		now[jsontext.Text(jsontext.Member(item, "name"))] = s.changes.hashOf(item)
		return nil
	})
	return !maps.Equal(now, s.changes.first), err
}

// Settle waits until it is known whether the list of tools has changed, if the
// server announced that, but no longer than limit. No more is compared then.
func (s *Session) Settle(limit time.Duration) { goroutine.Within(limit, s.changes.all.wait) }
