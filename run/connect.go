package run

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"toolpipe/mcp"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/stream/goroutine"
)

// newToolbox has a connection for each server, and starts none of them.
func newToolbox(servers []config.Server) *toolbox {
	box := &toolbox{}
	for i := range servers {
		c := &connection{Server: servers[i]}
		if c.Parallel > 0 {
			c.slots = make(chan struct{}, c.Parallel)
		}
		box.conns = append(box.conns, c)
	}
	return box
}

// connect starts the servers side by side and lists their tools, but for those that
// start later. required gets the failure of a server that is not optional, ready the
// name of each server that has started or failed.
func (b *toolbox) connect(ctx context.Context, procs *config.Processes, hooks func(*config.Server) mcp.Hooks, required func(error), ready func(name string)) {
	conns := slices.DeleteFunc(slices.Clone(b.conns), func(c *connection) bool { return c.later != nil })
	goroutine.SideBySide(len(conns), func(i int) {
		c := conns[i]
		defer func() {
			if c.err != nil && !c.Optional {
				required(c.failure())
			}
			ready(c.Name)
		}()
		c.start(ctx, procs, hooks(&c.Server))
	})
}

// start starts the server, lists its tools and measures how long that takes.
func (c *connection) start(ctx context.Context, procs *config.Processes, hooks mcp.Hooks) {
	began := time.Now()
	defer func() { c.took = time.Since(began) }()
	if c.Unusable != nil {
		c.err = c.Unusable
		return
	}
	if c.session, c.err = mcp.Connect(ctx, c.Spec, hooks, procs); c.err != nil {
		return
	}
	for _, t := range c.session.Tools() {
		c.add(t)
	}
}

// add takes a tool of the server if its globs leave it; else it returns nil.
func (c *connection) add(definition wire.Tool) *tool {
	included := c.Server.Tools == nil || config.MatchAny(c.Server.Tools, definition.Name)
	twice := slices.ContainsFunc(c.tools, func(other *tool) bool { return other.Name == definition.Name })
	if !included || twice || config.MatchAny(c.Exclude, definition.Name) {
		return nil
	}
	t := &tool{Tool: definition, conn: c, name: mcp.OfferedName(c.Name, definition.Name)}
	c.tools = append(c.tools, t)
	return t
}

// failure is the error of a server that did not start or did not list its tools.
func (c *connection) failure() *failure.Error {
	e := failure.Error{Status: failure.StatusServer, Message: c.err.Error(), Cause: c.err}
	if given, ok := errors.AsType[*failure.Error](c.err); ok {
		if c.Unusable == nil {
			return given // the failure of another server, for which the start of this one was cancelled
		}
		e = *given
		e.Hints = slices.Clone(e.Hints)
	}
	if f, ok := errors.AsType[*mcp.ConnectError](c.err); ok {
		if f.Stderr != "" {
			e.Message += "; its last lines on stderr: " + f.Stderr
		}
		if hint := cmp.Or(f.Hint, settingHint(&c.Server, c.err)); hint != "" {
			e.Hints = strings.Split(hint, "\n")
		}
		if errors.Is(f, mcp.ErrStartup) {
			e.Hints = append(e.Hints, "--startup-timeout D gives servers longer to start")
		}
		e.Hints = append(e.Hints, c.Misplaced()...)
	}
	if !c.Optional && e.Status == failure.StatusServer {
		e.Hints = append(e.Hints, c.OptionalHint())
	}
	e.Message = c.Unexpanded(e.Message)
	for i := range e.Hints {
		e.Hints[i] = c.Unexpanded(e.Hints[i])
	}
	return &e
}

// settingHint names the setting that helps after a failure of a server; "" for
// none.
func settingHint(s *config.Server, err error) string {
	if login, ok := errors.AsType[*mcp.LoginError](err); ok {
		return loginHint(s, login)
	}
	if plain, ok := errors.AsType[mcp.PlainHTTPError](err); ok {
		return "use https, or allow it with --insecure-http " + config.ShellQuote(plain.Host)
	}
	if _, late := errors.AsType[mcp.TimeoutError](err); late {
		return "--tool-timeout, or tool_timeout in the config, raises it"
	}
	flag, given := "--mcp-auth-env "+s.Name+"=VAR", s.Spec.HasCredentials()
	refusal := mcp.Refused(err)
	forbidden := refusal != nil && refusal.Status == http.StatusForbidden
	switch {
	case forbidden && given:
		return "the token is known but not allowed to do this; it may need another scope"
	case forbidden:
		return "the server may want a token (" + flag + ", or auth_env in the config), or another host name in the URL"
	case refusal != nil && given:
		return "the token is refused: check the one given by " + flag + ", or auth_env, token_command, oauth in the config"
	case refusal != nil:
		return "give a token: " + flag + ", or auth_env (headers, token_command, oauth) in the config"
	}
	return ""
}

// withHint is message with the setting that helps, in one line.
func withHint(message string, s *config.Server, err error) string {
	if hint := settingHint(s, err); hint != "" {
		return message + "; " + strings.ReplaceAll(hint, "\n", "; ")
	}
	return message
}
