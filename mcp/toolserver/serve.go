package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/jsontext"
)

// Serve answers the messages of r on w, a line each, until r ends or ctx
// does. At the end of r the calls that run have a moment to finish. The end of ctx
// does not interrupt a read: the caller closes r too.
func (s *Server) Serve(ctx context.Context, r io.Reader, w io.Writer) error {
	var mu sync.Mutex
	var broken error
	v := newServing(ctx, s, func(msg []byte, _ bool) {
		mu.Lock()
		defer mu.Unlock()
		if _, err := w.Write(append(msg, '\n')); err != nil && broken == nil {
			broken = err
		}
	})
	frames := wire.FrameReader{R: r}
	for {
		msg, err := frames.Next()
		if err != nil || ctx.Err() != nil {
			goroutine.Within(wire.ShutdownGrace, v.calls.Wait)
			v.end()
			mu.Lock()
			defer mu.Unlock()
			if err == io.EOF || err == nil {
				err = broken
			}
			return err
		}
		v.handle(ctx, msg)
	}
}

// serving is a server on one connection.
type serving struct {
	server *Server
	out    func(msg []byte, mayDrop bool)
	ctx    context.Context
	stop   context.CancelFunc
	calls  sync.WaitGroup

	mu      sync.Mutex
	ended   bool
	running map[string]context.CancelFunc // by the request's id, as it came
}

func newServing(ctx context.Context, s *Server, out func([]byte, bool)) *serving {
	v := &serving{server: s, out: out}
	v.ctx, v.stop = context.WithCancel(ctx)
	return v
}

// end cancels the calls that run and waits a moment for them.
func (v *serving) end() {
	v.mu.Lock()
	v.ended = true
	busy := len(v.running) > 0
	v.mu.Unlock()
	v.stop()
	if busy {
		goroutine.Within(wire.ShutdownGrace, v.calls.Wait)
	}
}

// handle takes one frame, whose memory it keeps. A tool that it calls sees the
// values of ctx.
func (v *serving) handle(ctx context.Context, frame []byte) {
	if err := wire.ParseMessages(frame, func(m wire.Message) { v.message(ctx, m) }); err != nil {
		v.out(wire.ReplyError([]byte("null"), codeParse, err.Error()), false)
	}
}

const codeParse = -32700

func (v *serving) message(ctx context.Context, m wire.Message) {
	method := jsontext.Text(m.Method)
	switch {
	case m.Method == nil:
		return // an answer, though this server sends no requests
	case m.ID == nil:
		if method == "notifications/cancelled" {
			v.cancel(jsontext.Member(m.Params, "requestId"))
		}
		return
	}
	asked := jsontext.Text(jsontext.Member(m.Params, "_meta", "io.modelcontextprotocol/protocolVersion"))
	if asked != "" && asked != wire.ModernRevision {
		v.refuseVersion(m.ID, asked)
		return
	}
	modern := asked != ""
	switch method {
	case "server/discover":
		v.out(wire.ReplyResult(m.ID, v.server.discovery()), false)
	case "initialize":
		v.out(wire.ReplyResult(m.ID, v.server.initialization(m.Params)), false)
	case "ping":
		v.out(wire.ReplyResult(m.ID, []byte("{}")), false)
	case "tools/list":
		v.out(wire.ReplyResult(m.ID, v.server.listing(modern)), false)
	case "tools/call":
		v.call(ctx, m, modern)
	default:
		v.out(wire.ReplyError(m.ID, wire.CodeMethodNotFound, fmt.Sprintf("no method %q", method)), false)
	}
}

func (v *serving) refuseVersion(id []byte, asked string) {
	b := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"unsupported protocol version","data":{"requested":%s,"supported":[%q`,
		id, wire.CodeUnsupportedVersion, jsontext.Quoted(asked), wire.ModernRevision)
	for _, version := range wire.LegacyRevisions {
		b = fmt.Appendf(b, ",%q", version)
	}
	v.out(append(b, "]}}}"...), false)
}

// callContext ends with the connection, and has the values of the context in
// which the request was sent.
type callContext struct {
	context.Context
	sent context.Context
}

func (c callContext) Value(key any) any {
	if value := c.Context.Value(key); value != nil {
		return value
	}
	return c.sent.Value(key)
}

func (v *serving) call(sent context.Context, m wire.Message, modern bool) {
	name, args := jsontext.Text(jsontext.Member(m.Params, "name")), jsontext.Member(m.Params, "arguments")
	if args == nil {
		args = []byte("{}")
	}
	if jsontext.Kind(args) != '{' {
		v.out(wire.ReplyError(m.ID, wire.CodeInvalidParams, "arguments are not an object"), false)
		return
	}
	ctx, cancel := context.WithCancel(callContext{v.ctx, sent})
	id := string(m.ID)
	v.mu.Lock()
	if v.ended || v.running[id] != nil {
		v.mu.Unlock()
		cancel()
		return
	}
	if v.running == nil {
		v.running = make(map[string]context.CancelFunc)
	}
	v.running[id] = cancel
	v.calls.Add(1)
	v.mu.Unlock()
	goroutine.Start(func() {
		defer v.calls.Done()
		defer cancel()
		result, code, failure := v.server.run(ctx, name, json.RawMessage(args), v.progress(jsontext.Member(m.Params, "_meta", "progressToken")))
		v.mu.Lock()
		delete(v.running, id)
		v.mu.Unlock()
		switch {
		case ctx.Err() != nil: // the client no longer waits for the result
		case failure != "":
			v.out(wire.ReplyError(m.ID, code, failure), false)
		default:
			v.out(wire.ReplyResult(m.ID, callResult(result, modern)), false)
		}
	})
}

func (v *serving) cancel(id []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if cancel := v.running[string(id)]; cancel != nil {
		cancel()
	}
}

// progress gives the function that sends the progress of a call. It does nothing
// when the client did not ask for progress.
func (v *serving) progress(token []byte) func(wire.Progress) {
	if token == nil {
		return func(wire.Progress) {}
	}
	return func(p wire.Progress) {
		b := append([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`), token...)
		b = append(b, `,"progress":`...)
		if p.Progress == nil {
			b = append(b, '0')
		}
		b = append(b, p.Progress...)
		if p.Total != nil {
			b = append(append(b, `,"total":`...), p.Total...)
		}
		if p.Message != "" {
			b = jsontext.AppendQuoted(append(b, `,"message":`...), p.Message)
		}
		v.out(append(b, '}', '}'), true)
	}
}
