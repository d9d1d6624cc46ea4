// Package toolserver is a server of the Model Context Protocol: tools as Go
// functions, in this process over an in-memory transport, or over two streams.
// The built-in tools are such servers, and tests use them as peers.
package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/jsontext"
)

// A Server offers tools that are Go functions. New makes one, Add adds its tools;
// then Pipe or Serve may serve it any number of times.
type Server struct {
	name, version string
	instructions  string
	tools         []offered
}

// offered is a tool with its function.
type offered struct {
	tool wire.Tool
	fn   ToolFunc
}

// A ToolFunc makes a call. args is one JSON object, strict, and may be kept.
// progress never blocks. An error that wraps a *CallError with RPC set is
// answered as a JSON-RPC error; any other becomes a result with isError and
// the error's text, which a model can act on. When ctx ends, the client no longer
// waits for the answer.
type ToolFunc func(ctx context.Context, args json.RawMessage, progress func(wire.Progress)) (*wire.Result, error)

// New makes a server without tools.
func New(name, version string) *Server { return &Server{name: name, version: version} }

// Instruct sets the instructions that clients are given. Call it before the server
// is served.
func (s *Server) Instruct(text string) { s.instructions = text }

// Add adds a tool, or replaces the one of the same name. Call it before the server
// is served.
func (s *Server) Add(tool wire.Tool, fn ToolFunc) {
	if i := s.index(tool.Name); i >= 0 {
		s.tools[i] = offered{tool, fn}
		return
	}
	s.tools = append(s.tools, offered{tool, fn})
}

// AddBuiltin is Add for a built-in tool, which gets its arguments checked.
func (s *Server) AddBuiltin(t *Builtin, run func(ctx context.Context, args Arguments, progress func(wire.Progress)) (*wire.Result, error)) {
	s.Add(t.Tool(), func(ctx context.Context, raw json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
		args, err := t.Read(raw)
		if err != nil {
			return nil, err
		}
		return run(ctx, args, progress)
	})
}

// index is where a tool is in the list, -1 if it is not there.
func (s *Server) index(name string) int {
	return slices.IndexFunc(s.tools, func(o offered) bool { return o.tool.Name == name })
}

// discovery is the result of server/discover.
func (s *Server) discovery() []byte {
	b := fmt.Appendf(nil, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":[%q`, wire.ModernRevision)
	for _, v := range wire.LegacyRevisions {
		b = fmt.Appendf(b, `,%q`, v)
	}
	b = append(b, `],"capabilities":{"tools":{}}`...)
	b = s.appendInstructions(b)
	return append(append(s.appendInfo(append(b, `,"_meta":{"io.modelcontextprotocol/serverInfo":`...)), '}'), '}')
}

// initialization is the result of a legacy initialize. A revision that is not
// known is answered with the newest that is.
func (s *Server) initialization(params []byte) []byte {
	version := jsontext.Text(jsontext.Member(params, "protocolVersion"))
	if !slices.Contains(wire.LegacyRevisions[:], version) {
		version = wire.LegacyRevisions[0]
	}
	b := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":`, version)
	return append(s.appendInstructions(s.appendInfo(b)), '}')
}

func (s *Server) appendInfo(b []byte) []byte {
	b = jsontext.AppendQuoted(append(b, `{"name":`...), s.name)
	return append(jsontext.AppendQuoted(append(b, `,"version":`...), s.version), '}')
}

func (s *Server) appendInstructions(b []byte) []byte {
	if s.instructions == "" {
		return b
	}
	return jsontext.AppendQuoted(append(b, `,"instructions":`...), s.instructions)
}

// listing is the result of tools/list: all tools on one page.
func (s *Server) listing(modern bool) []byte {
	b := make([]byte, 0, 512+1024*len(s.tools))
	b = append(b, '{')
	if modern {
		b = append(b, `"resultType":"complete","ttlMs":0,"cacheScope":"private",`...)
	}
	b = append(b, `"tools":[`...)
	for i := range s.tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTool(b, &s.tools[i].tool)
	}
	return append(b, ']', '}')
}

func appendTool(b []byte, t *wire.Tool) []byte {
	b = jsontext.AppendQuoted(append(b, `{"name":`...), t.Name)
	if t.Title != "" {
		b = jsontext.AppendQuoted(append(b, `,"title":`...), t.Title)
	}
	if t.Description != "" {
		b = jsontext.AppendQuoted(append(b, `,"description":`...), t.Description)
	}
	b = append(b, `,"inputSchema":`...)
	if t.InputSchema == nil {
		b = append(b, `{"type":"object"}`...)
	}
	b = append(b, t.InputSchema...)
	if t.OutputSchema != nil {
		b = append(append(b, `,"outputSchema":`...), t.OutputSchema...)
	}
	switch {
	case t.Annotations != nil:
		b = append(append(b, `,"annotations":`...), t.Annotations...)
	case t.ReadOnly:
		b = append(b, `,"annotations":{"readOnlyHint":true}`...)
	}
	return append(b, '}')
}

// callResult is a tool's answer as the result of tools/call.
func callResult(r *wire.Result, modern bool) []byte {
	b := make([]byte, 0, 256+resultSize(r))
	b = append(b, '{')
	if modern {
		b = append(b, `"resultType":"complete",`...)
	}
	b = append(b, `"content":`...)
	if r.Raw != nil {
		b = append(b, r.Raw...)
	} else {
		b = appendBlocks(b, r.Content)
	}
	if r.Structured != nil {
		b = append(append(b, `,"structuredContent":`...), r.Structured...)
	}
	if r.TextComplete {
		b = append(b, `,"_meta":{"`+wire.TextCompleteKey+`":true}`...)
	}
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}')
}

func appendBlocks(b []byte, blocks []wire.Block) []byte {
	b = append(b, '[')
	for i := range blocks {
		if i > 0 {
			b = append(b, ',')
		}
		if blocks[i].Raw != nil {
			b = append(b, blocks[i].Raw...)
			continue
		}
		b = append(append(append(b, `{"type":"text","text":`...), blocks[i].Text...), '}')
	}
	return append(b, ']')
}

func resultSize(r *wire.Result) int {
	n := len(r.Raw) + len(r.Structured)
	for i := range r.Content {
		n += len(r.Content[i].Raw) + len(r.Content[i].Text) + 40
	}
	return n
}

// TextResult is a result of one text block. Invalid UTF-8 is replaced.
func TextResult[T string | []byte](s T) *wire.Result {
	return &wire.Result{Content: []wire.Block{{Type: "text", Text: jsontext.AppendQuoted(make([]byte, 0, len(s)+len(s)/8+2), s)}}}
}

const maxFailure = 32 << 10 // bytes of an error that are answered

// failedResult is the result of a tool that failed. An error may quote an
// argument, and an argument may be as long as a model likes.
func failedResult(err error) *wire.Result {
	text := err.Error()
	if len(text) > maxFailure {
		text = fmt.Sprintf("%s\n[toolpipe] %d bytes of the error are left out\n", WholeRunes([]byte(text[:maxFailure])), len(text)-maxFailure)
	}
	r := TextResult(text)
	r.IsError = true
	return r
}

// Call runs a tool without a client. An error of the tool itself is a result with
// IsError.
func (s *Server) Call(ctx context.Context, name string, args json.RawMessage) (*wire.Result, error) {
	result, _, failure := s.run(ctx, name, args, func(wire.Progress) {})
	if failure != "" {
		return nil, errors.New(failure)
	}
	return result, nil
}

// run calls a tool. The failure is a complete JSON-RPC error object; a panic is
// one too, so that a defect of one tool is not the end of the run.
func (s *Server) run(ctx context.Context, name string, args json.RawMessage, progress func(wire.Progress)) (result *wire.Result, code int, failure string) {
	i := s.index(name)
	if i < 0 {
		return nil, wire.CodeInvalidParams, fmt.Sprintf("server %q has no tool %q", s.name, name)
	}
	defer func() {
		if p := recover(); p != nil {
			result, code, failure = nil, wire.CodeInternal, fmt.Sprintf("defect in tool %q: %v", name, goroutine.NewPanic(p))
		}
	}()
	result, err := s.tools[i].fn(ctx, args, progress)
	if e, ok := errors.AsType[*wire.CallError](err); ok && e.RPC {
		return nil, e.Code, e.Message
	}
	if err != nil {
		return failedResult(err), 0, ""
	}
	if result == nil {
		result = &wire.Result{}
	}
	return result, 0, ""
}
