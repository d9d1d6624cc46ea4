// Package event holds all events of a run, and each output form as a function
// from events to bytes: text, NDJSON, the end as one object, the conversation.
// The veil takes secrets out of events before any output sees them.
package event

import (
	"encoding/json"
	"strings"
	"time"

	"toolpipe/run/failure"
)

// Event is something that happened in a run: a closed set, all of it in this
// file. The comments on the types are the specification of the NDJSON output,
// schema 1: each event is one line, an object with the member type and those
// named here. Fields and types may be added within schema 1. The first line
// is start, the last is end, always.
type Event interface {
	appendJSON(dst []byte) []byte // one line without its newline
}

const schema = 1

// StartEvent is the first event.
//
//	start: schema, version, model, api, servers [{name, protocol, tools}],
//	policy (SHA-256, absent without a policy file), config_rules (how many
//	auto_approve rules of the config count, absent when none)
type Start struct {
	Version, Model, API string
	Servers             []ServerInfo
	Policy              string
	ConfigRules         int
}

// ServerInfo is one server in a StartEvent.
type ServerInfo struct {
	Name, Protocol string
	Tools          int
}

// TextEvent is a piece of the answer as it arrives. text: turn, text.
type Text struct {
	Turn int
	Text []byte
}

// ReasoningEvent is a piece of the model's reasoning. reasoning: turn, text.
type Reasoning struct {
	Turn int
	Text []byte
}

// CallEvent is a call that the model asks for.
//
//	tool_call: turn, id, server, tool (absent for an unknown tool), name,
//	arguments (an object; absent when it is not one strict JSON object, then
//	raw holds the text)
type Call struct {
	Turn                   int
	ID, Server, Tool, Name string
	Arguments              json.RawMessage // canonical; nil: Raw
	Raw                    []byte
}

// ApprovalEvent is the verdict on a call.
//
//	approval: id, decision (allow, deny, unapproved), by (flag, policy, config,
//	terminal, approver, default), rule, reason
type Approval struct{ ID, Decision, By, Rule, Reason string }

// ProgressEvent is what a server says of a running call.
// progress: id, progress, total, message.
type Progress struct {
	ID              string
	Progress, Total json.RawMessage
	Message         string
}

// ResultStatus is the status of a tool_result.
type ResultStatus string

const (
	ResultOK      ResultStatus = "ok"
	ResultError   ResultStatus = "error"   // isError
	ResultFailed  ResultStatus = "failed"  // JSON-RPC error, or never sent
	ResultDenied  ResultStatus = "denied"  //
	ResultInvalid ResultStatus = "invalid" // unknown tool, bad arguments
	ResultUnknown ResultStatus = "unknown" // sent, no answer
	ResultNotRun  ResultStatus = "not_run" // the run ended first, or a dry run
)

// ResultEvent answers a CallEvent; every call has exactly one.
//
//	tool_result: id, status, text (whole, also when the model
//	got only its head and tail), content (MCP blocks),
//	structured, bytes (of the whole text), truncated, ms
type Result struct {
	ID         string
	Status     ResultStatus
	Text       []byte
	TextJSON   []byte // Text as a JSON string literal, instead of Text
	Content    json.RawMessage
	Structured json.RawMessage
	Bytes      int
	Truncated  bool
	Time       time.Duration
}

// Usage counts tokens.
type Usage struct{ Input, Output, Reasoning, Cached int }

func (u Usage) Total() int { return u.Input + u.Output }

// TurnEvent ends a reply of the model. turn: turn, finish, usage
// {input_tokens, output_tokens, reasoning_tokens, cached_tokens}, ms.
type Turn struct {
	Turn   int
	Finish string
	Usage  Usage
	Calls  int // not written: tool_call events tell it
	Time   time.Duration
}

// RetryEvent tells that a request is repeated.
// retry: attempt, of, after_ms, status (absent without an HTTP status), message.
type Retry struct {
	Attempt, Of int
	After       time.Duration
	Status      int
	Message     string
}

// WarningEvent is something the user should know. warning: code, message, server.
type Warning struct{ Code, Message, Server string }

// ToolEvent is one tool of --list-tools or --describe-tool.
// tool: name, server, tool, description, schema, annotations, verdict, rule.
type Tool struct {
	Name, Server, Tool, Description string
	Schema, OutputSchema            json.RawMessage
	Annotations                     json.RawMessage
	Verdict, Rule                   string
}

// ListedServerEvent is one server of --list-servers.
// server: name, target, transport, protocol, tools, status, message.
type Server struct {
	Name, Target, Transport, Protocol string
	Tools                             int
	Status, Message                   string
}

// ItemEvent is one resource or prompt of --list-resources or --list-prompts.
//
//	resource: server, uri, name, description, mime_type, template
//	prompt: server, name, description, arguments
type Item struct {
	Kind                                 string // "resource" or "prompt"
	Server, URI, Name, Description, MIME string
	Template                             bool
	Arguments                            json.RawMessage
}

// ExplanationEvent is the answer of --explain.
// explanation: name, arguments, decision, by, rule, reason, approver (true:
// one is asked first), rules [{decision, rule, reason}].
type Explanation struct {
	Name      string
	Arguments json.RawMessage
	Approval
	Approver bool
	Rules    []ExplainedRule
}

// ExplainedRule is a rule that matched.
type ExplainedRule struct{ Decision, Rule, Reason string }

// EndEvent is the last event.
//
//	end: status, exit, text (the last turn's), finish, turns, tool_calls,
//	denied, usage (the sum), ms, error {message, hint}, items (of a list)
type End struct {
	Status    failure.Status
	Exit      int
	Text      []byte
	Finish    string
	Turns     int
	ToolCalls int
	Denied    int
	Usage     Usage
	Time      time.Duration
	Err       *failure.Error
	Items     []Event // -o json: what a list printed
}

func (e *Start) appendJSON(dst []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", "start")
	o.int("schema", schema)
	o.Str("version", e.Version)
	o.Str("model", e.Model)
	o.Str("api", e.API)
	o.Name("servers")
	o.B = append(o.B, '[')
	for i, s := range e.Servers {
		if i > 0 {
			o.B = append(o.B, ',')
		}
		m := BeginObject(o.B)
		m.Str("name", s.Name)
		m.Str("protocol", s.Protocol)
		m.int("tools", int64(s.Tools))
		o.B = m.End()
	}
	o.B = append(o.B, ']')
	o.Optional("policy", e.Policy)
	if e.ConfigRules > 0 {
		o.int("config_rules", int64(e.ConfigRules))
	}
	return o.End()
}

func appendDelta(dst []byte, kind string, turn int, text []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", kind)
	o.int("turn", int64(turn))
	o.text("text", text)
	return o.End()
}

func (e *Text) appendJSON(dst []byte) []byte { return appendDelta(dst, "text", e.Turn, e.Text) }

func (e *Reasoning) appendJSON(dst []byte) []byte {
	return appendDelta(dst, "reasoning", e.Turn, e.Text)
}

func (e *Call) appendJSON(dst []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", "tool_call")
	o.int("turn", int64(e.Turn))
	o.Str("id", e.ID)
	o.Optional("server", e.Server)
	o.Optional("tool", e.Tool)
	o.Str("name", e.Name)
	if e.Arguments != nil {
		o.raw("arguments", e.Arguments)
	} else {
		o.text("raw", e.Raw)
	}
	return o.End()
}

func (e *Approval) appendJSON(dst []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", "approval")
	o.Str("id", e.ID)
	e.members(&o)
	return o.End()
}

func (e *Approval) members(o *object) {
	o.Str("decision", e.Decision)
	o.Str("by", e.By)
	o.Optional("rule", e.Rule)
	o.Optional("reason", e.Reason)
}

func (e *Progress) appendJSON(dst []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", "progress")
	o.Str("id", e.ID)
	o.raw("progress", e.Progress)
	o.raw("total", e.Total)
	o.Optional("message", e.Message)
	return o.End()
}

func (e *Result) appendJSON(dst []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", "tool_result")
	o.Str("id", e.ID)
	o.Str("status", string(e.Status))
	if e.TextJSON != nil {
		o.raw("text", e.TextJSON)
	} else {
		o.text("text", e.Text)
	}
	o.raw("content", e.Content)
	o.raw("structured", e.Structured)
	o.int("bytes", int64(e.Bytes))
	o.Bool("truncated", e.Truncated)
	o.int("ms", e.Time.Milliseconds())
	return o.End()
}

func (u Usage) members(o *object) {
	o.Name("usage")
	m := BeginObject(o.B)
	m.int("input_tokens", int64(u.Input))
	m.int("output_tokens", int64(u.Output))
	m.int("reasoning_tokens", int64(u.Reasoning))
	m.int("cached_tokens", int64(u.Cached))
	o.B = m.End()
}

func (e *Turn) appendJSON(dst []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", "turn")
	o.int("turn", int64(e.Turn))
	o.Str("finish", e.Finish)
	e.Usage.members(&o)
	o.int("ms", e.Time.Milliseconds())
	return o.End()
}

func (e *Retry) appendJSON(dst []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", "retry")
	o.int("attempt", int64(e.Attempt))
	o.int("of", int64(e.Of))
	o.int("after_ms", e.After.Milliseconds())
	if e.Status != 0 {
		o.int("status", int64(e.Status))
	}
	o.Str("message", e.Message)
	return o.End()
}

func (e *Warning) appendJSON(dst []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", "warning")
	o.Str("code", e.Code)
	o.Str("message", e.Message)
	o.Optional("server", e.Server)
	return o.End()
}

func (e *Tool) appendJSON(dst []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", "tool")
	o.Str("name", e.Name)
	o.Str("server", e.Server)
	o.Str("tool", e.Tool)
	o.Str("description", e.Description)
	o.raw("schema", e.Schema)
	o.raw("output_schema", e.OutputSchema)
	o.raw("annotations", e.Annotations)
	o.Str("verdict", e.Verdict)
	o.Optional("rule", e.Rule)
	return o.End()
}

func (e *Server) appendJSON(dst []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", "server")
	o.Str("name", e.Name)
	o.Str("target", e.Target)
	o.Str("transport", e.Transport)
	o.Str("protocol", e.Protocol)
	o.int("tools", int64(e.Tools))
	o.Str("status", e.Status)
	o.Optional("message", e.Message)
	return o.End()
}

func (e *Item) appendJSON(dst []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", e.Kind)
	o.Str("server", e.Server)
	o.Optional("uri", e.URI)
	o.Str("name", e.Name)
	o.Optional("description", e.Description)
	o.Optional("mime_type", e.MIME)
	if e.Template {
		o.Bool("template", true)
	}
	o.raw("arguments", e.Arguments)
	return o.End()
}

func (e *Explanation) appendJSON(dst []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", "explanation")
	o.Str("name", e.Name)
	o.raw("arguments", e.Arguments)
	e.members(&o)
	if e.Approver {
		o.Bool("approver", true)
	}
	o.Name("rules")
	o.B = append(o.B, '[')
	for i, r := range e.Rules {
		if i > 0 {
			o.B = append(o.B, ',')
		}
		m := BeginObject(o.B)
		m.Str("decision", r.Decision)
		m.Str("rule", r.Rule)
		m.Optional("reason", r.Reason)
		o.B = m.End()
	}
	o.B = append(o.B, ']')
	return o.End()
}

func (e *End) appendJSON(dst []byte) []byte {
	o := BeginObject(dst)
	o.Str("type", "end")
	o.Str("status", string(e.Status))
	o.int("exit", int64(e.Exit))
	o.text("text", e.Text)
	o.Str("finish", e.Finish)
	o.int("turns", int64(e.Turns))
	o.int("tool_calls", int64(e.ToolCalls))
	o.int("denied", int64(e.Denied))
	e.Usage.members(&o)
	o.int("ms", e.Time.Milliseconds())
	if e.Err != nil {
		o.Name("error")
		m := BeginObject(o.B)
		m.Str("message", e.Err.Message)
		m.Optional("hint", joinLines(e.Err.Hints))
		o.B = m.End()
	}
	if e.Items != nil {
		o.Name("items")
		o.B = append(o.B, '[')
		for i, it := range e.Items {
			if i > 0 {
				o.B = append(o.B, ',')
			}
			o.B = it.appendJSON(o.B)
		}
		o.B = append(o.B, ']')
	}
	return o.End()
}

func Quoted(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

// Refusal is a denial as a person is told of it: with the rule, whose place is
// no business of the model's.
func Refusal(decision, by, rule, reason string) string {
	if decision != "deny" || by == "terminal" || rule == "" {
		return reason
	}
	return "by " + rule + Quoted(reason)
}

func joinLines(lines []string) string { return strings.Join(lines, "\n") }
