// Package toolserver is a server of the Model Context Protocol: tools as Go
// functions, in this process over an in-memory transport, or over two streams.
// The built-in tools are such servers, and tests use them as peers.
//
// A connection has one client. The calls:
//
//	client                 connection               program
//	tools/call           ->  call     ->  a tool's function, or Front.Call
//	any other request    ->  request  ->  Front.Request
//	subscriptions        -> subscribe ->  Front.Subscribe
//	answer, progress     <-  reply    <-  what these functions return
//	elicitation/create   <-  asker    <-  HostCall.Ask, HostRequest.Ask
//	list or resource     <-  announce <-  Server.Announce, Server.Replace
//	  has changed
//	log message          <-  log      <-  Server.Log
package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// A Server offers tools that are Go functions. New makes one, Add adds its tools; then Pipe
// or Serve may serve it any number of times, also at once.
type Server struct {
	// Instructions explain to clients how to use the tools; "" for none. Set them before the
	// server is served.
	Instructions string
	// Front, if set, is what the server offers in addition to functions. Set it before the
	// server is served.
	Front *Front
	// Meta are further members of the server's _meta about itself, without braces; nil for
	// none. Set them before the server is served.
	Meta []byte

	name, version string

	mu    sync.RWMutex // guards tools, which Replace changes while the server is served
	tools []offered
	clients
}

// A Front makes the server a proxy for others: it handles all calls, and has resources,
// prompts and logs.
type Front struct {
	// Call gets the calls in the order of their arrival, before the next request is read. The
	// function that it returns is called in a new goroutine and gives the answer. The cause
	// of ctx is the reason why nobody waits for the answer any more.
	Call func(ctx context.Context, c *HostCall) (answer func() (*wire.Result, error))
	// Request answers any other request. The result is an object. An error that wraps a
	// *wire.RPCError is passed on unchanged.
	Request func(ctx context.Context, r *HostRequest) (result []byte, err error)
	// Subscribe turns announcements about a resource (Server.Announce) on or off. It is
	// called when the first client subscribes, and when the last one leaves.
	Subscribe func(ctx context.Context, uri string, on bool) error

	// Only is the name of the only tool that a list with these params needs; "" for all. It may
	// be nil.
	Only func(params []byte) string

	ToolsChange bool // the list of tools may change (Replace)
	Completes   bool // arguments of prompts and of templates can be completed
}

// A HostCall is a call by the client of a Front.
type HostCall struct {
	Client   int // the number of the client, from Serve
	Name     string
	Args     json.RawMessage
	Meta     []byte // the _meta of the request; nil for none
	Progress func(wire.Progress)
	Ask      Asker // nil: the client did not declare that it can ask its user
	// Settled is closed when the client has the answer, or has read enough of its messages. A
	// Front that runs no more calls until then keeps few answers in memory.
	Settled <-chan struct{}
}

// A HostRequest is any other request by the client.
type HostRequest struct {
	Client int // as in HostCall
	Method string
	Params []byte
	Ask    Asker // as in HostCall
}

type offered struct {
	tool    wire.Tool
	fn      ToolFunc
	builtin *Builtin // its definition; nil if it is not a built-in tool
}

// A ToolFunc makes a call. args is one JSON object, already checked, and may be kept.
// progress never blocks. An error becomes a result with isError and the error's text, so that
// a model can react. When ctx ends, the client no longer waits for the answer.
type ToolFunc func(ctx context.Context, args json.RawMessage, progress func(wire.Progress)) (*wire.Result, error)

func New(name, version string) *Server {
	return &Server{name: name, version: version, clients: clients{served: map[*connection]bool{}, subscribers: map[string][]*listener{}}}
}

func (s *Server) Name() string { return s.name }

// Add adds a tool; no other tool may have its name. Call it before the server is served.
func (s *Server) Add(tool wire.Tool, fn ToolFunc) {
	s.tools = append(s.tools, offered{tool: tool, fn: fn})
}

// Replace sets the tools of a server with a Front, and announces the change to its clients.
func (s *Server) Replace(tools []wire.Tool) {
	s.mu.Lock()
	s.tools = nil
	for _, t := range tools {
		s.tools = append(s.tools, offered{tool: t})
	}
	s.mu.Unlock()
	s.Announce(listChanged, []byte("{}"))
}

func (s *Server) discovery() []byte {
	b := fmt.Appendf(nil, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":%s,"capabilities":%s`, supportedVersions(), s.capabilities())
	b = appendText(b, "instructions", s.Instructions)
	b = fmt.Appendf(b, `,"_meta":{"io.modelcontextprotocol/serverInfo":%s`, s.info())
	if s.Meta != nil {
		b = append(append(b, ','), s.Meta...)
	}
	return append(b, "}}"...)
}

func supportedVersions() string {
	return `["` + wire.ModernRevision + `","` + strings.Join(wire.LegacyRevisions[:], `","`) + `"]`
}

func (s *Server) capabilities() string {
	if s.Front == nil {
		return `{"tools":{}}`
	}
	tools, completions := "{}", ""
	if s.Front.ToolsChange {
		tools = `{"listChanged":true}`
	}
	if s.Front.Completes {
		completions = `,"completions":{}`
	}
	return `{"tools":` + tools + `,"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{}` + completions + `}`
}

// initialization is the result of a legacy initialize. An unknown revision is answered with
// the newest legacy one.
func (s *Server) initialization(params []byte) []byte {
	version := jsontext.Text(jsontext.Member(params, "protocolVersion"))
	if !slices.Contains(wire.LegacyRevisions[:], version) {
		version = wire.LegacyRevisions[0]
	}
	b := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"serverInfo":%s`, version, s.capabilities(), s.info())
	if s.Meta != nil {
		b = append(append(append(b, `,"_meta":{`...), s.Meta...), '}')
	}
	return append(appendText(b, "instructions", s.Instructions), '}')
}

func (s *Server) info() string {
	return fmt.Sprintf(`{"name":%s,"version":%s}`, jsontext.Quoted(s.name), jsontext.Quoted(s.version))
}

// appendMember appends a member to an object that already has one, unless value is nil.
func appendMember(b []byte, name string, value []byte) []byte {
	if value == nil {
		return b
	}
	return append(append(append(append(b, `,"`...), name...), `":`...), value...)
}

// appendText appends a string member, unless it is empty.
func appendText(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return appendMember(b, name, jsontext.Quoted(text))
}

// pageSize is how many items a page of a list has. It is large because many clients read only
// the first page.
const pageSize = 128

// Page is the page of a list at the cursor in params: an object with the items under key.
// item appends one item. A cursor is the number of the first item.
func Page(params []byte, key string, items int, item func(b []byte, i int) []byte) ([]byte, error) {
	from := 0
	if cursor := jsontext.Member(params, "cursor"); cursor != nil && string(cursor) != "null" {
		n, err := strconv.Atoi(jsontext.Text(cursor))
		if err != nil || n < 0 || n > items {
			return nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: "no page has this cursor: " + wire.Snippet(cursor)}
		}
		from = n
	}
	to := min(from+pageSize, items)
	b := append(append([]byte(`{"`), key...), `":[`...)
	for i := from; i < to; i++ {
		if i > from {
			b = append(b, ',')
		}
		b = item(b, i)
	}
	b = append(b, ']')
	if to < items {
		b = fmt.Appendf(b, `,"nextCursor":"%d"`, to)
	}
	return append(b, '}'), nil
}

func (s *Server) listing(params []byte, modern bool) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	tools := s.tools
	if s.Front != nil && s.Front.Only != nil {
		only := s.Front.Only(params)
		if i := slices.IndexFunc(tools, func(o offered) bool { return o.tool.Name == only }); i >= 0 {
			tools = tools[i : i+1]
		}
	}
	page, err := Page(params, "tools", len(tools), func(b []byte, i int) []byte { return appendTool(b, &tools[i].tool, modern) })
	if err == nil && modern {
		page = modernResult(page, true)
	}
	return page, err
}

// modernResult makes an object a complete result of 2026-07-28. cacheable adds the members
// that forbid caching, for results that clients may otherwise cache.
func modernResult(result []byte, cacheable bool) []byte {
	b := []byte(`{"resultType":"complete"`)
	if cacheable {
		b = append(b, `,"ttlMs":0,"cacheScope":"private"`...)
	}
	if len(result) > 2 {
		b = append(b, ',')
	}
	return append(b, result[1:]...)
}

// appendInputSchema appends a schema of arguments. It adds the type, which is required,
// because many servers leave it out.
func appendInputSchema(b, schema []byte) []byte {
	if jsontext.Member(schema, "type") != nil {
		return append(b, schema...)
	}
	b = append(b, `{"type":"object"`...)
	for name, value := range jsontext.Members(schema) {
		b = append(append(append(append(b, ','), name...), ':'), value...)
	}
	return append(b, '}')
}

func appendTool(b []byte, t *wire.Tool, modern bool) []byte {
	b = fmt.Appendf(b, `{"name":%s`, jsontext.Quoted(t.Name))
	b = appendText(b, "title", t.Title)
	b = appendText(b, "description", t.Description)
	b = appendInputSchema(append(b, `,"inputSchema":`...), t.InputSchema)
	// Clients of revisions before 2026-07-28 refuse the whole list for another schema.
	if modern || jsontext.Text(jsontext.Member(t.OutputSchema, "type")) == "object" {
		b = appendMember(b, "outputSchema", t.OutputSchema)
	}
	b = appendMember(b, "annotations", t.Annotations)
	b = appendMember(b, "_meta", t.Meta)
	return append(b, '}')
}

// Call runs a tool without a client. An error of the tool itself is a result with IsError;
// any other error is a *wire.RPCError.
func (s *Server) Call(ctx context.Context, name string, args json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
	result, err := s.run(ctx, name, args, progress)
	if err == nil && result.Raw == nil {
		result.Raw = appendBlocks(nil, result.Content)
	}
	return result, err
}

// run calls a tool. Its error is a *wire.RPCError. A panic becomes one too, so that a defect
// of one tool does not end the run.
func (s *Server) run(ctx context.Context, name string, args json.RawMessage, progress func(wire.Progress)) (result *wire.Result, err error) {
	s.mu.RLock()
	i := slices.IndexFunc(s.tools, func(o offered) bool { return o.tool.Name == name })
	var fn ToolFunc
	if i >= 0 {
		fn = s.tools[i].fn
	}
	s.mu.RUnlock()
	if fn == nil {
		return nil, invalidParams(fmt.Sprintf("server %q has no tool %q", s.name, name))
	}
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, &wire.RPCError{Code: wire.CodeInternal, Message: fmt.Sprintf("defect in tool %q: %v", name, goroutine.NewPanic(p))}
		}
	}()
	result, err = fn(ctx, args, progress)
	if err != nil {
		return failedResult(err), nil
	}
	if result == nil {
		result = &wire.Result{}
	}
	return result, nil
}
