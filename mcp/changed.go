package mcp

import (
	"context"
	"fmt"
	"hash/maphash"
	"time"
)

// Settle warns, at the end of a run, if the list of tools is not the one that the run
// began with. It asks for the list if the server announced a change, which may be none: a
// browser's server announces one at every page. It takes no longer than limit.
func (s *Session) Settle(limit time.Duration) {
	if !s.announced.Swap(false) {
		return
	}
	ctx, cancel := context.WithTimeout(s.life, limit)
	defer cancel()
	var now uint64
	err := s.allPages(ctx, toolList, func(item []byte) { now += maphash.Bytes(s.toolSeed, item) })
	switch {
	case err != nil:
		s.report.log("the list of tools was announced as changed, and could not be read: " + err.Error())
	case now != s.listed:
		s.report.warn("tools_changed", fmt.Sprintf("server %q has a changed list of tools; this run used the list that it began with", s.spec.Name))
	default:
		s.report.log("the list of tools was announced as changed, and is the same")
	}
}
