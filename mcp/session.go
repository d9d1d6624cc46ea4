package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// Session is a connected server. Its methods may be called concurrently.
type Session struct {
	spec      Spec
	report    *reporter
	procs     *process.Processes
	conn      conn
	http      *httpConn       // the connection below conn for a server at a URL, else nil
	child     *stdioTransport // the process below conn for a server over stdio, else nil
	transport string          // "stdio", "http", "sse", "unix", "door" or "local"
	meta      []byte          // 2026-07-28: members of every request's _meta

	askingMeta []byte // meta for requests in which the server may ask the user

	logLevel atomic.Pointer[string] // 2026-07-28: the lowest level to log; nil: no log

	listing atomic.Pointer[toolListing] // of Connect, or of the last Relist
	changes changes

	life       context.Context // ends with Close
	end        context.CancelFunc
	closed     sync.Once
	background sync.WaitGroup   // goroutines of start
	asking     atomic.Int32     // elicitations that the user is answering
	inFlight   requestsInFlight // while one is open, the server may send elicitations
	questions  atomic.Int32     // elicitations of a legacy server, not answered yet

	agreed atomic.Pointer[agreement]
	ready  atomic.Bool // the list of tools came, which ends the start
	warned sync.Map    // the keys of past warnings by warnOnce

	attempts

	mu         sync.Mutex // guards junkSample, and is locked while life ends
	junkSample string     // the first line of the server's stdout that was not a message
}

// attempts are what Connect tried, for its error.
type attempts struct {
	tried []string
	ended string // how the first process ended, if Connect then started another one; "" if it did not end by itself
	words string // the stderr of that process
}

// An agreement is the result of the negotiation. A new one replaces it when a lost session is
// renewed.
type agreement struct {
	revision string // "" before
	about    []byte // what the server said about itself, an object; nil before
}

func (a *agreement) member(path ...string) []byte { return jsontext.Member(a.about, path...) }

func newSession(spec Spec, hooks Hooks, procs *process.Processes) *Session {
	s := &Session{spec: spec, procs: procs, report: newReporter(hooks, &spec)}
	s.agreed.Store(&agreement{})
	s.listing.Store(&toolListing{})
	if hooks.Log != nil || hooks.LogMessage != nil {
		s.logLevel.Store(new("info"))
	}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Protocol is the negotiated revision.
func (s *Session) Protocol() string { return s.agreed.Load().revision }

// Restarted reports whether a process of the server was started more than once to find out
// its revision.
func (s *Session) Restarted() bool { return slices.Contains(s.tried, freshProcess) }

func (s *Session) isLegacy() bool {
	revision := s.Protocol()
	return revision != "" && revision != wire.ModernRevision
}

func (s *Session) Transport() string { return s.transport }

// Instructions are the server's instructions for the model; "" for none.
func (s *Session) Instructions() string { return jsontext.Text(s.agreed.Load().member("instructions")) }

// About is the _meta with the server's description of itself; nil for none.
func (s *Session) About() []byte { return s.agreed.Load().member("_meta") }

// Lost says why the server cannot be reached any more, with its name and the end of its stderr;
// nil while it can be reached.
func (s *Session) Lost() error {
	if cause := s.conn.lost(); cause != nil {
		return errors.New(s.report.hide(s.lostMessage(cause)))
	}
	return nil
}

// Close ends the session and its process, within a limited time. No hook is called after it
// returned. A question to the user that is still open is abandoned.
func (s *Session) Close() error {
	s.closed.Do(func() {
		s.mu.Lock()
		s.end()
		s.mu.Unlock()
		if s.conn != nil {
			s.conn.close()
		}
		goroutine.Within(wire.ShutdownGrace, s.background.Wait)
		s.report.stop()
	})
	return nil
}

// start calls f in a goroutine that Close waits for. After the end of life it does nothing.
func (s *Session) start(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() == nil {
		goroutine.StartIn(&s.background, f)
	}
}

// request makes a request of this session, with its _meta. ask asks the user; it may be nil.
func (s *Session) request(method string, params []byte, ask wire.AskFunc) *wire.Request {
	r := &wire.Request{Method: method, Params: params, Meta: s.meta, Ask: ask}
	if ask != nil && s.spec.Elicit == "each" {
		r.Meta = s.askingMeta
	}
	if level := s.logLevel.Load(); level != nil && s.meta != nil {
		r.Meta = joinMembers(r.Meta, append([]byte(`"io.modelcontextprotocol/logLevel":`), jsontext.Quoted(*level)...))
	}
	if method != "tools/call" {
		r.Meta = joinMembers(r.Meta, s.spec.Client.Meta)
	}
	return r
}

// joinMembers joins members of two objects, without braces.
func joinMembers(a, b []byte) []byte {
	if len(a) == 0 || len(b) == 0 {
		return append(a[:len(a):len(a)], b...)
	}
	return slices.Concat(a, []byte{','}, b)
}

// received handles a request or a notification of the server. It may be called from any
// goroutine and does not block. respond takes the complete response to a request, once, at
// any later time; progress takes the params of a progress notification.
func (s *Session) received(m wire.Message, respond, progress func([]byte)) {
	switch method := jsontext.Text(m.Method); {
	case m.Method == nil:
	case m.ID != nil:
		s.onRequest(m, respond)
	case method == "notifications/progress":
		progress(m.Params)
	case method == "notifications/message":
		s.logMessage(m.Params)
	case method == "notifications/tools/list_changed" && !s.ready.Load():
		s.report.log("the list of tools changed before it was read")
	case s.ready.Load():
		s.changed(method, m.Params)
	}
}

func (s *Session) garbled(frame []byte) { s.report.log("not JSON: " + wire.Snippet(frame)) }

func (s *Session) logMessage(params []byte) {
	s.report.logMessage(params)
	data := jsontext.Member(params, "data")
	line := jsontext.Text(data)
	if jsontext.Kind(data) != '"' {
		line = wire.Snippet(jsontext.AppendCompact(nil, data))
	}
	if logger := jsontext.Text(jsontext.Member(params, "logger")); logger != "" {
		line = logger + ": " + line
	}
	s.report.log(jsontext.Text(jsontext.Member(params, "level")) + ": " + line)
}

// has reports whether the server declares a capability or an extension.
func (s *Session) has(capability string) bool {
	a := s.agreed.Load()
	return a.member("capabilities", capability) != nil || a.member("capabilities", "extensions", capability) != nil
}

func (s *Session) Completes() bool { return s.has("completions") }

// LogFrom asks the server to log from level on, if it can log. For a modern server every
// later request carries the level.
func (s *Session) LogFrom(ctx context.Context, level string) error {
	if !s.isLegacy() {
		s.logLevel.Store(&level)
		return nil
	}
	if !s.has("logging") {
		return nil
	}
	_, err := s.Request(ctx, &Named{Method: "logging/setLevel", Params: append(jsontext.AppendQuoted([]byte(`{"level":`), level), '}')})
	return err
}

func (s *Session) warnOnce(key, code, message string) {
	if _, again := s.warned.LoadOrStore(key, true); !again {
		s.report.warn(code, message)
	}
}

// onResponsesDropped is called once, when the server sends requests and does not read the
// responses.
func (s *Session) onResponsesDropped() {
	s.report.log("the server sends requests and does not read the responses; some responses are dropped")
}

// onLost is called once, when the connection ended before close was called. During the start
// the loss is reported as the error of Connect.
func (s *Session) onLost(cause error) {
	if s.ready.Load() {
		s.warnOnce("gone", "server_lost", s.lostMessage(cause))
	}
}

// lostMessage reports why the server cannot be used, with the end of its stderr.
func (s *Session) lostMessage(cause error) string {
	message := fmt.Sprintf("server %q is lost: %s", s.spec.Name, cause)
	if last := process.LastLines(s.stderr(), 5); last != "" {
		message += "; last on its stderr: " + strings.ReplaceAll(last, "\n", " | ")
	}
	return message
}

func (s *Session) stderr() string {
	if s.child == nil {
		return ""
	}
	return s.child.stderr.String()
}

// onRequest answers a request of a legacy server. A modern server gets no answer: in
// 2026-07-28 servers send no requests and clients no responses.
func (s *Session) onRequest(m wire.Message, reply func([]byte)) {
	method := jsontext.Text(m.Method)
	if s.Protocol() == wire.ModernRevision {
		s.report.log("the server sent the request " + wire.Snippet([]byte(method)) + ", which " + wire.ModernRevision + " does not have; it gets no answer")
		return
	}
	switch method {
	case "ping":
		reply(wire.ReplyResult(m.ID, []byte("{}")))
	case "elicitation/create":
		s.elicitation(m, reply)
	default:
		reply(wire.ReplyError(m.ID, wire.CodeMethodNotFound, "not supported: "+wire.Snippet([]byte(method))))
	}
}

// A conn carries requests to one server and returns the replies. Over a Transport all replies
// come on one stream and are matched by id. Over HTTP each reply comes in the response to its
// request.
type conn interface {
	// exchange sends the request and waits for its reply, until ctx ends. The
	// error is a *wire.RPCError, a *wire.NoReplyError, or a *statusError.
	exchange(ctx context.Context, r *wire.Request) ([]byte, error)

	// postMessage sends a notification or a response, which have no reply. It returns when
	// the server has taken the message.
	postMessage(ctx context.Context, msg []byte) error

	// lost is the reason why nothing can be sent any more; nil while sending is possible.
	lost() error

	// close ends the connection, within a bounded time.
	close()
}
