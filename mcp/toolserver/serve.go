package toolserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/jsontext"
)

// Serve answers the messages of r on w, a line each, until r ends, w fails or ctx
// ends. At the end of r the calls that run get the time grace, then they are
// cancelled; what is answered until then is written, however slowly w takes it. A
// read cannot be interrupted: when ctx ends it is left behind. Serve returns the
// cause of ctx, a *WriteError, or the error of r.
func (s *Server) Serve(ctx context.Context, r io.Reader, w io.Writer, grace time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := s.pipe(ctx)
	s.client.Store(p.serving)
	written, read := make(chan struct{}), make(chan error, 1)
	goroutine.Start(func() {
		defer close(written)
		if err := p.writeAll(w); err != nil {
			cancel(&WriteError{err})
		}
	})
	goroutine.Start(func() { read <- p.readAll(ctx, r) })
	var err error
	select {
	case err = <-read:
		idle := make(chan struct{})
		goroutine.Start(func() {
			p.serving.calls.Wait()
			close(idle)
		})
		select {
		case <-idle:
		case <-time.After(grace):
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	p.serving.end()
	p.finish()
	<-written
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// WriteError is why answers could not be written.
type WriteError struct{ Cause error }

func (e *WriteError) Error() string { return e.Cause.Error() }
func (e *WriteError) Unwrap() error { return e.Cause }

func (p *pipe) writeAll(w io.Writer) error {
	for {
		msg, err := p.Receive()
		if err != nil {
			return nil
		}
		if bytes.IndexByte(msg, '\n') >= 0 { // white space of a server behind this one
			msg = jsontext.AppendCompact(nil, msg)
		}
		if _, err := w.Write(append(msg, '\n')); err != nil {
			return err
		}
	}
}

func (p *pipe) readAll(ctx context.Context, r io.Reader) error {
	frames := wire.FrameReader{R: r}
	for {
		msg, err := frames.Next()
		if err != nil {
			return err
		}
		p.serving.handle(ctx, msg)
		p.awaitRoom()
	}
}

// serving is a server on one connection.
type serving struct {
	server *Server
	out    func(msg []byte, mayDrop bool)
	ctx    context.Context
	stop   context.CancelCauseFunc
	calls  sync.WaitGroup
	slots  chan struct{} // holds an element for each request that is being answered

	mu       sync.Mutex
	ended    bool
	running  map[string]request // by its id, as it came
	logLevel int                // that a legacy client set: the index in logLevels
}

// request is a request that is being answered.
type request struct {
	cancel   context.CancelCauseFunc
	logLevel int // that the request asks for
}

// maxRunning is how many requests may be answered at once. When there are more, no
// further request is read.
const maxRunning = 1024

// Causes of the context of a call that nobody waits for.
var (
	ErrCancelled = errors.New("cancelled by the client")
	errEnded     = errors.New("the client ended the connection")
)

func newServing(ctx context.Context, s *Server, out func([]byte, bool)) *serving {
	v := &serving{server: s, out: out, slots: make(chan struct{}, maxRunning), running: map[string]request{}, logLevel: len(logLevels)}
	v.ctx, v.stop = context.WithCancelCause(ctx)
	return v
}

// end cancels the calls that run and waits a moment for them.
func (v *serving) end() {
	v.mu.Lock()
	v.ended = true
	busy := len(v.running) > 0
	v.mu.Unlock()
	v.stop(errEnded)
	if busy {
		goroutine.Within(wire.ShutdownGrace, v.calls.Wait)
	}
}

// handle takes one frame, whose memory it keeps. A tool that it calls sees the
// values of ctx.
func (v *serving) handle(ctx context.Context, frame []byte) {
	if err := wire.ParseMessages(frame, func(m wire.Message) { v.message(ctx, m) }); err != nil {
		v.reply([]byte("null"), nil, &wire.RPCError{Code: codeParse, Message: err.Error()})
	}
}

const codeParse = -32700 // JSON-RPC 2.0: the message is not JSON

// The members of a request's _meta that make it one of 2026-07-28.
const (
	versionKey      = "io.modelcontextprotocol/protocolVersion"
	capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"
	logLevelKey     = "io.modelcontextprotocol/logLevel"
)

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
	asked := jsontext.Text(jsontext.Member(m.Params, "_meta", versionKey))
	modern := asked != ""
	switch {
	case modern && asked != wire.ModernRevision:
		v.reply(m.ID, nil, unsupported(asked))
	case modern && jsontext.Kind(jsontext.Member(m.Params, "_meta", capabilitiesKey)) != '{':
		v.reply(m.ID, nil, invalidParams("_meta has no "+capabilitiesKey))
	case method == "server/discover":
		v.reply(m.ID, v.server.discovery(), nil)
	case method == "initialize" && !modern:
		v.reply(m.ID, v.server.initialization(m.Params), nil)
	case method == "ping" && !modern:
		v.reply(m.ID, []byte("{}"), nil)
	case method == "tools/list":
		page, err := v.server.listing(m.Params, modern)
		v.reply(m.ID, page, err)
	case method == "tools/call":
		v.call(ctx, m, modern)
	case v.server.Front == nil, modern && (method == "initialize" || method == "ping" || method == "logging/setLevel"):
		v.reply(m.ID, nil, &wire.RPCError{Code: wire.CodeMethodNotFound, Message: fmt.Sprintf("no method %q", method)})
	default:
		v.request(ctx, m, method, modern)
	}
}

func invalidParams(message string) error {
	return &wire.RPCError{Code: wire.CodeInvalidParams, Message: message}
}

func unsupported(asked string) error {
	data := fmt.Appendf(nil, `{"requested":%s,"supported":%s}`, jsontext.Quoted(asked), supportedVersions())
	return &wire.RPCError{Code: wire.CodeUnsupportedVersion, Message: "unsupported protocol version", Data: data}
}

// reply answers a request with a result or an error.
func (v *serving) reply(id, result []byte, err error) {
	if err == nil {
		v.out(wire.ReplyResult(id, result), false)
		return
	}
	e, ok := errors.AsType[*wire.RPCError](err)
	if !ok {
		e = &wire.RPCError{Code: wire.CodeInternal, Message: err.Error()}
	}
	v.out(e.Reply(id), false)
}

// begin has a request answered in a goroutine of its own. prepare is called before
// the next request is taken. Its context ends with the connection, or when the client
// cancels the request, and has the values of sent.
func (v *serving) begin(sent context.Context, m wire.Message, prepare func(context.Context) (answer func() ([]byte, error))) {
	select {
	case v.slots <- struct{}{}:
	case <-v.ctx.Done():
		return
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(sent))
	unlink := goroutine.AfterContext(v.ctx, func() { cancel(context.Cause(v.ctx)) })
	release := func() {
		unlink()
		cancel(nil)
		<-v.slots
	}
	id := string(m.ID)
	v.mu.Lock()
	if _, twice := v.running[id]; v.ended || twice {
		v.mu.Unlock()
		release()
		return
	}
	v.running[id] = request{cancel: cancel, logLevel: logLevel(jsontext.Member(m.Params, "_meta", logLevelKey))}
	v.calls.Add(1)
	v.mu.Unlock()
	answer := prepare(ctx)
	goroutine.Start(func() {
		defer v.calls.Done()
		defer release()
		result, err := answer()
		v.mu.Lock()
		delete(v.running, id)
		v.mu.Unlock()
		if context.Cause(ctx) != ErrCancelled {
			v.reply(m.ID, result, err)
		}
	})
}

func (v *serving) call(sent context.Context, m wire.Message, modern bool) {
	name, args := jsontext.Text(jsontext.Member(m.Params, "name")), jsontext.Member(m.Params, "arguments")
	if args == nil || string(args) == "null" {
		args = []byte("{}")
	}
	if jsontext.Kind(args) != '{' {
		v.reply(m.ID, nil, invalidParams("arguments are not an object"))
		return
	}
	v.begin(sent, m, func(ctx context.Context) func() ([]byte, error) {
		call := v.server.prepare(ctx, name, json.RawMessage(args), v.progress(ctx, jsontext.Member(m.Params, "_meta", "progressToken")))
		return func() ([]byte, error) {
			result, err := call()
			if err != nil {
				return nil, err
			}
			return callResult(result, modern), nil
		}
	})
}

// request has the front answer a request.
func (v *serving) request(sent context.Context, m wire.Message, method string, modern bool) {
	if method == "logging/setLevel" {
		level := logLevel(jsontext.Member(m.Params, "level"))
		if level == len(logLevels) {
			v.reply(m.ID, nil, invalidParams("no level of the specification"))
			return
		}
		v.mu.Lock()
		v.logLevel = level
		v.mu.Unlock()
	}
	v.begin(sent, m, func(ctx context.Context) func() ([]byte, error) {
		return func() ([]byte, error) {
			result, err := v.server.Front.Request(ctx, method, m.Params)
			if err == nil && modern {
				result = modernResult(result, method != "prompts/get")
			}
			return result, err
		}
	})
}

func (v *serving) cancel(id []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r, ok := v.running[string(id)]; ok {
		r.cancel(ErrCancelled)
	}
}

// progress gives the function that sends the progress of a call. It does nothing
// when the client did not ask for progress.
func (v *serving) progress(ctx context.Context, token []byte) func(wire.Progress) {
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
		v.out(wire.Notification("notifications/progress", append(params, '}')), true)
	}
}

// logLevels are the levels of log notifications, the least severe first.
var logLevels = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// logLevel is the index of a level, one more than the last for anything else.
func logLevel(level []byte) int {
	if i := slices.Index(logLevels[:], jsontext.Text(level)); i >= 0 {
		return i
	}
	return len(logLevels)
}

// Log sends the client of Serve a log notification, if it asked for that level, or
// one of the requests that are being answered did. params are those of
// notifications/message.
func (s *Server) Log(params []byte) {
	v, level := s.client.Load(), logLevel(jsontext.Member(params, "level"))
	if v == nil || level == len(logLevels) {
		return
	}
	v.mu.Lock()
	wanted := level >= v.logLevel
	for _, r := range v.running {
		wanted = wanted || level >= r.logLevel
	}
	v.mu.Unlock()
	if wanted {
		v.out(wire.Notification("notifications/message", params), true)
	}
}
