package toolserver

import (
	"slices"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// logLevels are the levels of log notifications, the least severe first.
var logLevels = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// logLevel is the index of a level, or len(logLevels) for anything else.
func logLevel(level []byte) int {
	if i := slices.Index(logLevels[:], jsontext.Text(level)); i >= 0 {
		return i
	}
	return len(logLevels)
}

// logFrom makes the proxied servers log from the level that a request of 2026-07-28 asks for,
// unless an earlier request already asked for as much. It does not wait.
func (c *connection) logFrom(level int) {
	front := c.server.Front
	c.mu.Lock()
	more := front != nil && level < c.listens.lowest
	if more {
		c.listens.lowest = level
	}
	c.mu.Unlock()
	if more {
		params := c.server.leastLevel(level)
		goroutine.Start(func() {
			front.Request(c.ctx, &HostRequest{Client: c.client, Method: "logging/setLevel", Params: params})
		})
	}
}

// leastLevel are the params of logging/setLevel for the proxied servers: the lowest level
// that any client asks for, at most level.
func (s *Server) leastLevel(level int) []byte {
	s.eachClient(func(c *connection) {
		c.mu.Lock()
		defer c.mu.Unlock()
		level = min(level, c.listens.logLevel, c.listens.lowest)
	})
	return append(jsontext.AppendQuoted([]byte(`{"level":`), logLevels[level]), '}')
}

// Log sends a log notification to the clients of Serve that asked for its level, for the
// connection or in a running request. params are the params of notifications/message.
func (s *Server) Log(params []byte) {
	if level := logLevel(jsontext.Member(params, "level")); level < len(logLevels) {
		s.eachClient(func(c *connection) { c.log(level, params) })
	}
}

func (c *connection) log(level int, params []byte) {
	c.mu.Lock()
	wanted := level >= c.listens.logLevel
	for _, r := range c.running {
		wanted = wanted || level >= r.logLevel
	}
	c.mu.Unlock()
	if wanted {
		c.put(wire.Notification("notifications/message", params), true)
	}
}
