package mcp

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"time"

	"toolpipe/stream/goroutine"
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
	first uint64 // the sum of the hashes of all tools in the first list

	announced atomic.Int32 // how often since the list was last found to be the same
	done      int          // comparisons; used only by the goroutine that compares
	all       tasks
}

// hash is a hash of a tool's definition.
func (c *comparison) hash(item []byte) uint64 { return maphash.Bytes(c.seed, item) }

// toolsChanged compares the list of tools with the first one, in a goroutine of
// its own.
func (s *Session) toolsChanged() {
	if c := &s.changes; c.announced.Add(1) == 1 {
		c.all.start(s.compareTools)
	}
}

// compareTools compares the lists until no further change is announced. Where they
// differ, and after the last comparison, announced stays above 0: nothing is
// compared after that.
func (s *Session) compareTools() {
	c := &s.changes
	for c.done < maxComparisons {
		c.done++
		announced := c.announced.Load()
		now, err := s.sumOfTools()
		switch {
		case s.life.Err() != nil:
			return
		case err != nil:
			s.report.log("the list of tools was announced as changed, and could not be read: " + err.Error())
		case now != c.first:
			s.report.warn("tools_changed", fmt.Sprintf("server %q has a changed list of tools; this run goes on with the list it began with", s.spec.Name))
			return
		default:
			s.report.log("the list of tools was announced as changed, and is the same")
		}
		if c.announced.CompareAndSwap(announced, 0) {
			return
		}
	}
}

// sumOfTools is what comparison.first is for the list as it is now.
func (s *Session) sumOfTools() (sum uint64, err error) {
	ctx, cancel := context.WithTimeout(s.life, comparisonTimeout)
	defer cancel()
	err = s.allPages(ctx, toolList, func(item []byte) { sum += s.changes.hash(item) })
	return sum, err
}

// Settle waits until it is known whether the list of tools has changed, if the
// server announced that, but no longer than limit. No more is compared then.
func (s *Session) Settle(limit time.Duration) { goroutine.Within(limit, s.changes.all.wait) }
