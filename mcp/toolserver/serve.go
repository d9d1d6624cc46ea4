package toolserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// Serve reads the messages of client number client from r and writes the answers to w, one
// per line, until r ends, w fails or ctx ends. At the end of r, running calls get the time
// grace, which does not count while an answer waits for the client to read; then they are
// cancelled. Answers given until then are written, however slow w is. A read cannot be
// interrupted: when ctx ends, its goroutine stays. Serve returns the cause of ctx, a
// *WriteError, or the error of r.
func (s *Server) Serve(ctx context.Context, client int, r io.Reader, w io.Writer, grace time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := s.connect(ctx)
	c.client = client
	s.guard.Lock()
	s.served[c] = true
	s.guard.Unlock()
	defer s.leave(c)
	read, written := make(chan error, 1), make(chan struct{})
	goroutine.StartMany(func() {
		defer close(written)
		if err := c.writeAll(w); err != nil {
			cancel(&WriteError{err})
		}
	})
	goroutine.StartMany(func() { read <- c.readAll(ctx, r) })
	var err error
	select {
	case err = <-read:
		close(c.user.gone)
		c.endListens()
		answered := goroutine.Done(c.calls.Wait)
		for waits := true; waits; {
			waits = false
			select {
			case <-answered:
			case <-time.After(grace):
				waits = c.wasFull(grace)
			case <-ctx.Done():
			}
		}
	case <-ctx.Done():
	}
	c.endListens()
	c.end()
	c.finish(false)
	<-written
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == io.EOF {
		return nil
	}
	return err
}

type WriteError struct{ Cause error }

func (e *WriteError) Error() string { return e.Cause.Error() }
func (e *WriteError) Unwrap() error { return e.Cause }

func (c *connection) writeAll(w io.Writer) error {
	for {
		msg, err := c.Receive()
		if err != nil {
			return nil
		}
		if bytes.IndexByte(msg, '\n') >= 0 { // white space of a proxied server
			msg = jsontext.AppendCompact(nil, msg)
		}
		if _, err := w.Write(append(msg, '\n')); err != nil {
			return err
		}
	}
}

// clientBuffer is small, because there may be thousands of clients, and most messages are
// small.
const clientBuffer = 4 << 10

func (c *connection) readAll(ctx context.Context, r io.Reader) error {
	frames := wire.FrameReader{R: r, Buffer: clientBuffer}
	for {
		msg, err := frames.Next()
		if large, ok := errors.AsType[*wire.FrameTooLarge](err); ok && large.ID != nil {
			c.reply(large.ID, nil, &wire.RPCError{Code: wire.CodeInvalidRequest, Message: large.Error()})
			continue
		}
		if err != nil {
			return err
		}
		c.handle(ctx, msg)
		c.awaitRoom()
		c.awaitFewer()
	}
}

// The causes of the context of a call that nobody waits for.
var (
	ErrCancelled = errors.New("cancelled by the client")
	errEnded     = errors.New("the client ended the connection")
)

// end cancels the running calls and waits a moment for them.
func (c *connection) end() {
	c.mu.Lock()
	c.stop(errEnded) // after this no request begins
	c.freed.Broadcast()
	c.mu.Unlock()
	c.lock.Lock()
	c.changed.Broadcast()
	c.lock.Unlock()
	goroutine.Within(wire.ShutdownGrace, c.calls.Wait)
}

// handle handles one frame and keeps its memory. A called tool sees the values of ctx.
func (c *connection) handle(ctx context.Context, frame []byte) {
	if err := wire.ParseMessages(frame, func(m wire.Message) { c.message(ctx, m) }); err != nil {
		c.reply([]byte("null"), nil, &wire.RPCError{Code: codeParse, Message: err.Error()})
	}
}

const (
	codeParse = -32700 // JSON-RPC 2.0: the message is not JSON
	codeBusy  = -32000 // JSON-RPC 2.0: the first code that is left to servers
)

const maxMethod = 1 << 10 // bytes of the name of a method

// The members of _meta that mark a request of 2026-07-28.
const (
	versionKey      = "io.modelcontextprotocol/protocolVersion"
	capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"
	logLevelKey     = "io.modelcontextprotocol/logLevel"
)

func (c *connection) message(ctx context.Context, m wire.Message) {
	method := jsontext.Text(m.Method[:min(len(m.Method), maxMethod)])
	switch {
	case m.Method == nil:
		c.answered(m)
		return
	case len(m.Method) > maxMethod && m.ID != nil:
		c.reply(m.ID, nil, &wire.RPCError{Code: wire.CodeMethodNotFound, Message: fmt.Sprintf("the name of the method has more than %d bytes", maxMethod)})
		return
	case m.ID == nil:
		if method == "notifications/cancelled" {
			c.cancel(jsontext.Member(m.Params, "requestId"))
		}
		return
	}
	asked := jsontext.Text(jsontext.Member(m.Params, "_meta", versionKey))
	modern := asked != ""
	switch {
	case modern && asked != wire.ModernRevision:
		data := fmt.Appendf(nil, `{"requested":%s,"supported":%s}`, jsontext.Quoted(asked), supportedVersions())
		c.reply(m.ID, nil, &wire.RPCError{Code: wire.CodeUnsupportedVersion, Message: "unsupported protocol version", Data: data})
	case modern && jsontext.Kind(jsontext.Member(m.Params, "_meta", capabilitiesKey)) != '{':
		c.reply(m.ID, nil, invalidParams("_meta has no "+capabilitiesKey))
	case method == "server/discover":
		c.reply(m.ID, c.server.discovery(), nil)
	case method == "initialize" && !modern:
		c.declared(jsontext.Member(m.Params, "capabilities"))
		c.reply(m.ID, c.server.initialization(m.Params), nil)
	case method == "ping" && !modern:
		c.reply(m.ID, []byte("{}"), nil)
	case method == "tools/list":
		page, err := c.server.listing(m.Params, modern)
		c.reply(m.ID, page, err)
	case modern && c.server.Front != nil && c.continues(m):
	case method == "tools/call":
		c.call(ctx, m, modern)
	case method == "subscriptions/listen" && modern && c.server.Front != nil:
		c.listen(m)
	case (method == "resources/subscribe" || method == "resources/unsubscribe") && !modern && c.server.Front != nil:
		uri := jsontext.Text(jsontext.Member(m.Params, "uri"))
		c.begin(ctx, m, func(context.Context, *request) func() (replier, error) {
			return func() (replier, error) {
				return result([]byte("{}")), c.server.subscribe(c.ctx, c.listens.legacy, uri, method == "resources/subscribe")
			}
		})
	case c.server.Front == nil, modern && (method == "initialize" || method == "ping" || method == "logging/setLevel"):
		c.reply(m.ID, nil, &wire.RPCError{Code: wire.CodeMethodNotFound, Message: fmt.Sprintf("no method %q", method)})
	default:
		c.request(ctx, m, method, modern)
	}
}

func invalidParams(message string) error {
	return &wire.RPCError{Code: wire.CodeInvalidParams, Message: message}
}

func (c *connection) reply(id, result []byte, err error) {
	if err == nil {
		c.put(wire.ReplyResult(id, result), false)
		return
	}
	e, ok := errors.AsType[*wire.RPCError](err)
	if !ok {
		e = &wire.RPCError{Code: wire.CodeInternal, Message: err.Error()}
	}
	c.put(e.Reply(id), false)
}

// A replier writes the reply with a result. The id may have changed when the result is there: a
// client that was asked something sends its request again.
type replier func(id []byte) []byte

func result(object []byte) replier {
	return func(id []byte) []byte { return wire.ReplyResult(id, object) }
}

// begin answers a request in a new goroutine. It calls prepare before the next request is
// read. The context of prepare ends with the connection, or when the client cancels the
// request, and has the values of sent.
func (c *connection) begin(sent context.Context, m wire.Message, prepare func(context.Context, *request) (answer func() (replier, error))) {
	c.mu.Lock()
	id := string(m.ID)
	_, twice := c.running[id]
	if isFull := len(c.running) >= maxRunning; isFull || twice || c.ctx.Err() != nil {
		c.mu.Unlock()
		if isFull && !twice {
			c.reply(m.ID, nil, &wire.RPCError{Code: codeBusy, Message: fmt.Sprintf("busy: %d requests are being answered", maxRunning)})
		}
		return
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(sent))
	unlink := goroutine.AfterContext(c.ctx, func() { cancel(context.Cause(c.ctx)) })
	r := &request{id: m.ID, cancel: cancel, logLevel: logLevel(jsontext.Member(m.Params, "_meta", logLevelKey)), size: len(m.Params), settled: func() {}}
	c.running[id] = r
	c.taken += r.size
	c.calls.Add(1)
	c.mu.Unlock()
	c.logFrom(r.logLevel)
	answer := prepare(ctx, r)
	goroutine.Start(func() {
		defer c.calls.Done()
		defer cancel(nil)
		defer unlink()
		reply, err := answer()
		switch id := c.release(r); {
		case id == nil || context.Cause(ctx) == ErrCancelled:
		case err != nil:
			c.reply(id, nil, err)
		default:
			c.put(reply(id), false)
		}
		c.awaitRoom()
		r.settled()
	})
}

// release removes a request from the running ones, and returns the id to answer; nil if the
// client already has an answer.
func (c *connection) release(r *request) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := r.id
	r.id = nil
	delete(c.running, string(id))
	c.taken -= r.size
	c.freed.Broadcast()
	return id
}

func (c *connection) call(sent context.Context, m wire.Message, modern bool) {
	name, args := jsontext.Text(jsontext.Member(m.Params, "name")), jsontext.Member(m.Params, "arguments")
	if args == nil || string(args) == "null" {
		args = []byte("{}")
	}
	if jsontext.Kind(args) != '{' {
		c.reply(m.ID, nil, invalidParams("arguments are not an object"))
		return
	}
	c.begin(sent, m, func(ctx context.Context, r *request) func() (replier, error) {
		progress := c.progress(ctx, jsontext.Member(m.Params, "_meta", "progressToken"))
		call := func() (*wire.Result, error) { return c.server.run(ctx, name, args, progress) }
		if c.server.Front != nil {
			settled := make(chan struct{})
			r.settled = func() { close(settled) }
			call = c.server.Front.Call(ctx, &HostCall{c.client, name, args, jsontext.Member(m.Params, "_meta"), progress, c.asker(r, m, progress), settled})
		}
		return func() (replier, error) {
			result, err := call()
			return func(id []byte) []byte { return callReply(id, result, modern) }, err
		}
	})
}

func (c *connection) request(sent context.Context, m wire.Message, method string, modern bool) {
	if method == "logging/setLevel" {
		level := logLevel(jsontext.Member(m.Params, "level"))
		if level == len(logLevels) {
			c.reply(m.ID, nil, invalidParams("not a level of the specification"))
			return
		}
		c.mu.Lock()
		c.listens.logLevel = level
		c.mu.Unlock()
		m.Params = c.server.leastLevel(level)
	}
	c.begin(sent, m, func(ctx context.Context, r *request) func() (replier, error) {
		return func() (replier, error) {
			select {
			case c.asked <- struct{}{}:
				r.settled = func() { <-c.asked }
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			ask := c.asker(r, m, func(wire.Progress) {})
			object, err := c.server.Front.Request(ctx, &HostRequest{c.client, method, m.Params, ask})
			if err == nil && modern {
				object = modernResult(object, method != "prompts/get" && method != "completion/complete")
			}
			return result(object), err
		}
	})
}

func (c *connection) cancel(id []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.running[string(id)]; ok {
		r.cancel(ErrCancelled)
	}
	c.unlisten(string(id))
}

// progress returns the function that sends the progress of a call. The function does nothing
// if the client did not ask for progress.
func (c *connection) progress(ctx context.Context, token []byte) func(wire.Progress) {
	if jsontext.Kind(token) != '"' && !jsontext.IsNumber(token) {
		return func(wire.Progress) {}
	}
	return func(p wire.Progress) {
		if ctx.Err() != nil {
			return
		}
		params := fmt.Appendf(nil, `{"progressToken":%s,"progress":%s`, token, cmp.Or(string(p.Progress), "0"))
		params = appendMember(params, "total", p.Total)
		params = appendText(params, "message", p.Message)
		c.put(wire.Notification("notifications/progress", append(params, '}')), true)
	}
}
