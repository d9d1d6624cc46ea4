package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"toolpipe/stream/goroutine"
)

// Pipe connects to the server inside this process. Requests that need no tool
// are answered within Send; a call has a goroutine of its own. Close cancels
// the calls that run and waits a moment for them.
func (s *Server) Pipe() Transport {
	p := &pipe{wake: make(chan struct{}, 1), closed: make(chan struct{})}
	p.serving = newServing(context.Background(), s, p.put)
	return p
}

type pipe struct {
	serving *serving
	closing sync.Once
	closed  chan struct{}
	wake    chan struct{} // one element: queue is not empty

	mu    sync.Mutex
	queue [][]byte // answers nobody received yet
}

// maxQueued bounds what is kept for a slow receiver beside the answers
// themselves, of which there are no more than requests.
const maxQueued = 1024

func (p *pipe) put(msg []byte, mayDrop bool) {
	p.mu.Lock()
	if mayDrop && len(p.queue) >= maxQueued {
		p.mu.Unlock()
		return
	}
	p.queue = append(p.queue, msg)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *pipe) Send(ctx context.Context, msg []byte) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrNotSent, context.Cause(ctx))
	}
	select {
	case <-p.closed:
		return fmt.Errorf("%w: %w", ErrNotSent, errGone)
	default:
	}
	p.serving.handle(boundsOf(ctx), slices.Clone(msg))
	return nil
}

func (p *pipe) Receive() ([]byte, error) {
	for {
		p.mu.Lock()
		if len(p.queue) > 0 {
			msg := p.queue[0]
			p.queue[0] = nil
			p.queue = p.queue[1:]
			p.mu.Unlock()
			return msg, nil
		}
		p.mu.Unlock()
		select {
		case <-p.wake:
		case <-p.closed:
			return nil, io.EOF
		}
	}
}

func (p *pipe) Close() error {
	p.closing.Do(func() {
		close(p.closed)
		p.serving.end(shutdownGrace)
	})
	return nil
}

// Serve answers the messages of r on w, a line each, until r ends or ctx
// does. At the end of r calls that run have a moment to finish. Reading is
// not interrupted by ctx: who ends ctx closes r too.
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
	frames := frameReader{r: r}
	for {
		msg, err := frames.next()
		if err != nil || ctx.Err() != nil {
			v.settle(shutdownGrace)
			v.end(shutdownGrace)
			mu.Lock()
			defer mu.Unlock()
			if err == io.EOF || err == nil {
				err = broken
			}
			return err
		}
		v.handle(Bounds{}, msg)
	}
}

// serving is one connection's worth of a server.
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

// settle waits for the calls that run, for d at most.
func (v *serving) settle(d time.Duration) {
	idle := make(chan struct{})
	goroutine.Start(func() {
		v.calls.Wait()
		close(idle)
	})
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-idle:
	case <-t.C:
	}
}

// end cancels the calls that run and waits for them, for d at most.
func (v *serving) end(d time.Duration) {
	v.mu.Lock()
	v.ended = true
	busy := len(v.running) > 0
	v.mu.Unlock()
	v.stop()
	if busy {
		v.settle(d)
	}
}

// handle takes one frame, whose memory it keeps. Its calls keep to the bounds.
func (v *serving) handle(bounds Bounds, frame []byte) {
	if err := parseMessages(frame, func(m message) { v.message(bounds, m) }); err != nil {
		v.out(replyError([]byte("null"), codeParse, err.Error()), false)
	}
}

const codeParse = -32700

func (v *serving) message(bounds Bounds, m message) {
	method := text(m.method)
	switch {
	case m.method == nil:
		return // an answer; this server asks nothing
	case m.id == nil:
		if method == "notifications/cancelled" {
			v.cancel(member(m.params, "requestId"))
		}
		return
	}
	asked := text(member(m.params, "_meta", "io.modelcontextprotocol/protocolVersion"))
	if asked != "" && asked != modernRevision {
		v.refuseVersion(m.id, asked)
		return
	}
	modern := asked != ""
	switch method {
	case "server/discover":
		v.out(replyResult(m.id, v.server.discovery()), false)
	case "initialize":
		v.out(replyResult(m.id, v.server.initialization(m.params)), false)
	case "ping":
		v.out(replyResult(m.id, []byte("{}")), false)
	case "tools/list":
		v.out(replyResult(m.id, v.server.listing(modern)), false)
	case "tools/call":
		v.call(bounds, m, modern)
	default:
		v.out(replyError(m.id, codeMethodNotFound, fmt.Sprintf("no method %q", method)), false)
	}
}

func (v *serving) refuseVersion(id []byte, asked string) {
	b := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"unsupported protocol version","data":{"requested":%s,"supported":[%q`,
		id, codeUnsupportedVersion, quoted(asked), modernRevision)
	for _, version := range legacyRevisions {
		b = fmt.Appendf(b, ",%q", version)
	}
	v.out(append(b, "]}}}"...), false)
}

func (v *serving) call(bounds Bounds, m message, modern bool) {
	name, args := text(member(m.params, "name")), member(m.params, "arguments")
	if args == nil {
		args = []byte("{}")
	}
	if kind(args) != '{' {
		v.out(replyError(m.id, codeInvalidParams, "arguments are not an object"), false)
		return
	}
	ctx, cancel := context.WithCancel(WithBounds(v.ctx, bounds))
	id := string(m.id)
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
		result, code, failure := v.server.run(ctx, name, json.RawMessage(args), v.progress(member(m.params, "_meta", "progressToken")))
		v.mu.Lock()
		delete(v.running, id)
		v.mu.Unlock()
		switch {
		case ctx.Err() != nil: // nobody waits for it
		case failure != "":
			v.out(replyError(m.id, code, failure), false)
		default:
			v.out(replyCall(m.id, result, modern), false)
		}
	})
}

func replyCall(id []byte, r *Result, modern bool) []byte {
	result := callResult(r, modern)
	b := make([]byte, 0, len(result)+len(id)+40)
	b = append(append(b, `{"jsonrpc":"2.0","id":`...), id...)
	return append(append(append(b, `,"result":`...), result...), '}')
}

func (v *serving) cancel(id []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if cancel := v.running[string(id)]; cancel != nil {
		cancel()
	}
}

// progress is what a call tells its progress to; nothing when the client did
// not ask.
func (v *serving) progress(token []byte) func(Progress) {
	if token == nil {
		return func(Progress) {}
	}
	return func(p Progress) {
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
			b = appendQuoted(append(b, `,"message":`...), p.Message)
		}
		v.out(append(b, '}', '}'), true)
	}
}
