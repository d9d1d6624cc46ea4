package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"toolpipe/mcp/oauth"
	"toolpipe/mcp/task"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

const (
	defaultIdle = 120 * time.Second
	hardFactor  = 10 // the hard deadline of a call, as a multiple of the idle limit
)

type ToolCall struct {
	Tool     string
	Args     json.RawMessage     // one JSON object, which is sent byte for byte
	Meta     []byte              // further members of _meta, without braces; nil for none
	Progress func(wire.Progress) // may be nil
	// Task is called with the id of the task if the server answers the call with one, before
	// the first request about the task. An error of Task cancels the task. It may be nil.
	Task func(id string) error
	// Ask asks the user a question of the server, where Spec.Elicit is "ask", instead of
	// Hooks.Elicit. It may be nil.
	Ask wire.AskFunc
}

// Call is CallTool without the other settings of a ToolCall.
func (s *Session) Call(ctx context.Context, tool string, args json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
	return s.CallTool(ctx, &ToolCall{Tool: tool, Args: args, Progress: progress})
}

// CallTool calls a tool. The request is sent again only if the server refused it before the tool
// ran. The error is a *wire.RPCError or a *wire.NoReplyError. A call that becomes a task has no
// deadline except the one of ctx.
func (s *Session) CallTool(ctx context.Context, c *ToolCall) (*wire.Result, error) {
	if jsontext.Kind(c.Args) != '{' {
		return nil, &wire.NoReplyError{Message: "not one JSON object"}
	}
	raw, err := s.exchangeCall(ctx, c)
	if err == nil {
		if handle := s.taskHandle(c.Tool, raw); handle != nil {
			raw, err = s.newTask(ctx, c, handle)
		}
	}
	return s.callResult(c.Tool, raw, err)
}

func (s *Session) exchangeCall(ctx context.Context, c *ToolCall) ([]byte, error) {
	ctx, alive, stop := s.watch(ctx)
	defer stop()
	params := append(jsontext.AppendQuoted([]byte(`{"name":`), c.Tool), `,"arguments":`...)
	params = append(params, c.Args...)
	if s.wantsTask(c.Tool) {
		params = append(params, `,"task":{}`...)
	}
	r := s.request("tools/call", append(params, '}'), c.Ask)
	r.AtMostOnce = true
	r.Name = c.Tool
	r.Meta = joinMembers(r.Meta, c.Meta)
	r.Progress = func(params []byte) {
		alive()
		if c.Progress != nil {
			c.Progress(readProgress(params))
		}
	}
	r.ReadOnly = slices.ContainsFunc(s.Tools(), func(t wire.Tool) bool { return t.Name == c.Tool && t.ReadOnly })
	var err error
	if r.Headers, err = headerFields(s.listing.Load().headers[c.Tool], c.Args); err != nil {
		return nil, &wire.NoReplyError{Cause: err}
	}
	raw, err := s.exchangeWithInput(ctx, r)
	if e, ok := errors.AsType[*wire.RPCError](err); ok && e.Code == wire.CodeHeaderMismatch && s.relistHeaders(ctx, r, c) {
		return s.exchangeWithInput(ctx, r) // the server refused the call before the tool ran
	}
	return raw, err
}

// relistHeaders lists the tools again for the headers of call c and of later calls, and reports
// whether it gave r other headers. Tools returns the same tools as before.
func (s *Session) relistHeaders(ctx context.Context, r *wire.Request, c *ToolCall) bool {
	if s.http == nil || s.isLegacy() {
		return false
	}
	now, err := s.list(ctx)
	if err != nil {
		return false
	}
	l := *s.listing.Load()
	l.headers = now.headers
	s.listing.Store(&l)
	was := r.Headers
	r.Headers, err = headerFields(l.headers[c.Tool], c.Args)
	return err == nil && !slices.Equal(was, r.Headers)
}

func (s *Session) callResult(tool string, raw []byte, err error) (*wire.Result, error) {
	if err != nil {
		return nil, s.callError(err)
	}
	result, err := wire.ReadResult(raw)
	if err != nil {
		return nil, &wire.NoReplyError{Sent: true, Message: fmt.Sprintf("server %q, tool %q: %v", s.spec.Name, tool, err), Cause: err}
	}
	result.TextComplete = s.spec.Local != nil // as with every built-in tool
	return result, nil
}

// wantsTask reports whether a call of a tool must ask for a task. Only 2025-11-25 has that.
func (s *Session) wantsTask(tool string) bool {
	return s.isLegacy() && s.has("tasks") && slices.ContainsFunc(s.Tools(), func(t wire.Tool) bool { return t.Name == tool && t.TaskOnly })
}

// taskHandle is the task handle in the answer to a call; nil if the answer is a result.
func (s *Session) taskHandle(tool string, result []byte) []byte {
	switch {
	case resultType(result) == "task":
		return result
	case s.wantsTask(tool):
		return jsontext.Member(result, "task")
	}
	return nil
}

// newTask waits for the task with the given handle, the answer to call c.
func (s *Session) newTask(ctx context.Context, c *ToolCall, handle []byte) ([]byte, error) {
	id, err := task.ID(handle)
	if err != nil {
		return nil, &wire.NoReplyError{Sent: true, Cause: err}
	}
	peer := s.taskPeer(id, c.Progress, c.Ask)
	if c.Task != nil {
		if err := c.Task(id); err != nil {
			task.Cancel(ctx, id, peer)
			return nil, &wire.NoReplyError{Sent: true, Cause: err}
		}
	}
	return task.Await(ctx, id, handle, peer)
}

// ResumeTask waits for a task that the server created for a call of an earlier run. Its
// errors are the same as for CallTool.
func (s *Session) ResumeTask(ctx context.Context, tool, id string, progress func(wire.Progress)) (*wire.Result, error) {
	raw, err := task.Await(ctx, id, nil, s.taskPeer(id, progress, nil))
	return s.callResult(tool, raw, err)
}

func (s *Session) taskPeer(id string, progress func(wire.Progress), ask wire.AskFunc) task.Peer {
	notes := int64(0)
	return task.Peer{
		Legacy: s.isLegacy(),
		Request: func(ctx context.Context, method string, params []byte) ([]byte, error) {
			return s.Request(ctx, &Named{method, id, params, ask})
		},
		Answers: func(ctx context.Context, requests []byte) ([]byte, error) {
			return s.inputResponses(ctx, requests, ask)
		},
		Gone: func() bool { return s.conn.lost() != nil },
		Note: func(message string) {
			if notes++; progress != nil {
				progress(wire.Progress{Progress: strconv.AppendInt(nil, notes, 10), Message: message})
			}
		},
	}
}

// watch sets the two deadlines of a call: one for the time without progress, which alive
// restarts, and one for the total time.
func (s *Session) watch(ctx context.Context) (watched context.Context, alive, stop func()) {
	limit := s.patience()
	ctx, cancel := context.WithCancelCause(ctx)
	clock := s.clock()
	var last atomic.Int64 // the time of the last sign of life
	alive = func() { last.Store(int64(clock.time())) }
	left := func() time.Duration {
		if s.asking.Load() > 0 {
			alive()
		}
		now := clock.time()
		return min(time.Duration(last.Load())+limit-now, hardFactor*limit-now)
	}
	timer := clock.expire(ctx, left, func() { cancel(TimeoutError{Limit: limit, Hard: clock.time() >= hardFactor*limit}) })
	return ctx, alive, func() {
		timer.Stop()
		cancel(nil)
	}
}

// patience is the longest wait for an answer without a sign of life of the server.
func (s *Session) patience() time.Duration {
	if !s.ready.Load() {
		return s.spec.StartupTimeout
	}
	return cmp.Or(s.spec.ToolTimeout, defaultIdle)
}

func readProgress(params []byte) wire.Progress {
	number := func(name string) json.RawMessage {
		if v := jsontext.Member(params, name); jsontext.IsNumber(v) {
			return v
		}
		return nil
	}
	return wire.Progress{Progress: number("progress"), Total: number("total"), Message: jsontext.Text(jsontext.Member(params, "message"))}
}

// callError is the error of a call that has no result.
func (s *Session) callError(err error) error {
	said := func(message string) string { return readable.Cut(s.report.hide(message), maxReported, "…") }
	refusal, refused := errors.AsType[*wire.RPCError](err)
	_, large := errors.AsType[*wire.FrameTooLarge](err)
	_, late := errors.AsType[TimeoutError](err)
	_, needsLogin := errors.AsType[*LoginError](err) // it may wrap an RPC error, which is less exact; so may an error that Passes
	message := err.Error()
	switch {
	case needsLogin, oauth.Passes(err):
	case refused:
		message = refusal.Message
		if e, ok := errors.AsType[*statusError](err); ok {
			message += e.advice()
		}
		switch refusal.Code {
		case wire.CodeURLElicitation:
			message += urlElicitation(refusal)
		case wire.CodeMissingCapability:
			message += missingCapabilities(refusal)
		}
		return &wire.RPCError{Code: refusal.Code, Message: said(message), Data: refusal.Data}
	case large:
		message = fmt.Sprintf("server %q: the answer cannot be read: %v", s.spec.Name, err)
	case late:
		message = fmt.Sprintf("server %q: %v", s.spec.Name, err)
	case s.conn.lost() != nil:
		message = s.lostMessage(err)
	}
	return &wire.NoReplyError{Sent: wire.MayHaveArrived(err), Message: said(message), Cause: err}
}
