package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

const (
	defaultIdle = 120 * time.Second
	hardFactor  = 10 // the hard deadline of a call, in idle times
)

// Call calls a tool. args is one JSON object and is sent byte for byte. The
// request is sent at most once. The error is a *wire.RPCError or a *wire.NoReplyError.
func (s *Session) Call(ctx context.Context, tool string, args json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
	if jsontext.Kind(args) != '{' {
		return nil, &wire.NoReplyError{Message: "not one JSON object"}
	}
	ctx, alive, stop := s.watch(ctx)
	defer stop()
	params := append(jsontext.AppendQuoted([]byte(`{"name":`), tool), `,"arguments":`...)
	params = append(append(params, args...), '}')
	r := s.request("tools/call", params)
	r.AtMostOnce = true
	r.Name = tool
	r.Progress = func(params []byte) {
		alive()
		if progress != nil {
			progress(readProgress(params))
		}
	}
	headers, err := headerFields(s.headers[tool], args)
	if err != nil {
		return nil, &wire.NoReplyError{Cause: err}
	}
	r.Headers = headers
	raw, err := s.exchangeWithInput(ctx, r)
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

// watch sets the two deadlines of a call: one for the time without progress, which
// alive begins again, and one for the whole time.
func (s *Session) watch(ctx context.Context) (watched context.Context, alive, stop func()) {
	limit := cmp.Or(s.spec.ToolTimeout, defaultIdle)
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
	said := func(message string) string { return capped(s.report.hide(message), maxReported) }
	refusal, refused := errors.AsType[*wire.RPCError](err)
	_, large := errors.AsType[*wire.FrameTooLarge](err)
	_, late := errors.AsType[TimeoutError](err)
	_, needsLogin := errors.AsType[*LoginError](err) // it may hold an RPC error, which says less
	message := err.Error()
	switch {
	case needsLogin:
	case refused:
		message = refusal.Message
		switch refusal.Code {
		case wire.CodeURLElicitation:
			message += urlElicitation(refusal)
		case wire.CodeMissingCapability:
			message += missingCapabilities(refusal)
		case wire.CodeHeaderMismatch:
			message += "; the headers follow the list of tools that was read at the start: if the server has changed it since, a new run reads it"
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
