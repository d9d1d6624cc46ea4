package run

import (
	"encoding/json"
	"time"
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
type StartEvent struct {
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
type TextEvent struct {
	Turn int
	Text []byte
}

// ReasoningEvent is a piece of the model's reasoning. reasoning: turn, text.
type ReasoningEvent struct {
	Turn int
	Text []byte
}

// CallEvent is a call that the model asks for.
//
//	tool_call: turn, id, server, tool (absent for an unknown tool), name,
//	arguments (an object; absent when it is not one strict JSON object, then
//	raw holds the text)
type CallEvent struct {
	Turn                   int
	ID, Server, Tool, Name string
	Arguments              json.RawMessage // canonical; nil: Raw
	Raw                    []byte
}

// ApprovalEvent is the verdict on a call.
//
//	approval: id, decision (allow, deny, unapproved), by (flag, policy, config,
//	terminal, approver, default), rule, reason
type ApprovalEvent struct{ ID, Decision, By, Rule, Reason string }

// ProgressEvent is what a server says of a running call.
// progress: id, progress, total, message.
type ProgressEvent struct {
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
type ResultEvent struct {
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

func (u Usage) total() int { return u.Input + u.Output }

// TurnEvent ends a reply of the model. turn: turn, finish, usage
// {input_tokens, output_tokens, reasoning_tokens, cached_tokens}, ms.
type TurnEvent struct {
	Turn   int
	Finish string
	Usage  Usage
	Calls  int // not written: tool_call events tell it
	Time   time.Duration
}

// RetryEvent tells that a request is repeated.
// retry: attempt, of, after_ms, status (absent without an HTTP status), message.
type RetryEvent struct {
	Attempt, Of int
	After       time.Duration
	Status      int
	Message     string
}

// WarningEvent is something the user should know. warning: code, message, server.
type WarningEvent struct{ Code, Message, Server string }

// ToolEvent is one tool of --list-tools or --describe-tool.
// tool: name, server, tool, description, schema, annotations, verdict, rule.
type ToolEvent struct {
	Name, Server, Tool, Description string
	Schema, OutputSchema            json.RawMessage
	Annotations                     json.RawMessage
	Verdict, Rule                   string
}

// ListedServerEvent is one server of --list-servers.
// server: name, target, transport, protocol, tools, status, message.
type ListedServerEvent struct {
	Name, Target, Transport, Protocol string
	Tools                             int
	Status, Message                   string
}

// ItemEvent is one resource or prompt of --list-resources or --list-prompts.
//
//	resource: server, uri, name, description, mime_type, template
//	prompt: server, name, description, arguments
type ItemEvent struct {
	Kind                                 string // "resource" or "prompt"
	Server, URI, Name, Description, MIME string
	Template                             bool
	Arguments                            json.RawMessage
}

// ExplanationEvent is the answer of --explain.
// explanation: name, arguments, decision, by, rule, reason, approver (true:
// one is asked first), rules [{decision, rule, reason}].
type ExplanationEvent struct {
	Name      string
	Arguments json.RawMessage
	ApprovalEvent
	Approver bool
	Rules    []ExplainedRule
}

// ExplainedRule is a rule that matched.
type ExplainedRule struct{ Decision, Rule, Reason string }

// EndEvent is the last event.
//
//	end: status, exit, text (the last turn's), finish, turns, tool_calls,
//	denied, usage (the sum), ms, error {message, hint}, items (of a list)
type EndEvent struct {
	Status    Status
	Exit      int
	Text      []byte
	Finish    string
	Turns     int
	ToolCalls int
	Denied    int
	Usage     Usage
	Time      time.Duration
	Err       *Error
	Items     []Event // -o json: what a list printed
}

func (e *StartEvent) appendJSON(dst []byte) []byte {
	o := beginObject(dst)
	o.str("type", "start")
	o.int("schema", schema)
	o.str("version", e.Version)
	o.str("model", e.Model)
	o.str("api", e.API)
	o.name("servers")
	o.b = append(o.b, '[')
	for i, s := range e.Servers {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		m := beginObject(o.b)
		m.str("name", s.Name)
		m.str("protocol", s.Protocol)
		m.int("tools", int64(s.Tools))
		o.b = m.end()
	}
	o.b = append(o.b, ']')
	o.optional("policy", e.Policy)
	if e.ConfigRules > 0 {
		o.int("config_rules", int64(e.ConfigRules))
	}
	return o.end()
}

func appendDelta(dst []byte, kind string, turn int, text []byte) []byte {
	o := beginObject(dst)
	o.str("type", kind)
	o.int("turn", int64(turn))
	o.text("text", text)
	return o.end()
}

func (e *TextEvent) appendJSON(dst []byte) []byte { return appendDelta(dst, "text", e.Turn, e.Text) }

func (e *ReasoningEvent) appendJSON(dst []byte) []byte {
	return appendDelta(dst, "reasoning", e.Turn, e.Text)
}

func (e *CallEvent) appendJSON(dst []byte) []byte {
	o := beginObject(dst)
	o.str("type", "tool_call")
	o.int("turn", int64(e.Turn))
	o.str("id", e.ID)
	o.optional("server", e.Server)
	o.optional("tool", e.Tool)
	o.str("name", e.Name)
	if e.Arguments != nil {
		o.raw("arguments", e.Arguments)
	} else {
		o.text("raw", e.Raw)
	}
	return o.end()
}

func (e *ApprovalEvent) appendJSON(dst []byte) []byte {
	o := beginObject(dst)
	o.str("type", "approval")
	o.str("id", e.ID)
	e.members(&o)
	return o.end()
}

func (e *ApprovalEvent) members(o *object) {
	o.str("decision", e.Decision)
	o.str("by", e.By)
	o.optional("rule", e.Rule)
	o.optional("reason", e.Reason)
}

func (e *ProgressEvent) appendJSON(dst []byte) []byte {
	o := beginObject(dst)
	o.str("type", "progress")
	o.str("id", e.ID)
	o.raw("progress", e.Progress)
	o.raw("total", e.Total)
	o.optional("message", e.Message)
	return o.end()
}

func (e *ResultEvent) appendJSON(dst []byte) []byte {
	o := beginObject(dst)
	o.str("type", "tool_result")
	o.str("id", e.ID)
	o.str("status", string(e.Status))
	if e.TextJSON != nil {
		o.raw("text", e.TextJSON)
	} else {
		o.text("text", e.Text)
	}
	o.raw("content", e.Content)
	o.raw("structured", e.Structured)
	o.int("bytes", int64(e.Bytes))
	o.bool("truncated", e.Truncated)
	o.int("ms", e.Time.Milliseconds())
	return o.end()
}

func (u Usage) members(o *object) {
	o.name("usage")
	m := beginObject(o.b)
	m.int("input_tokens", int64(u.Input))
	m.int("output_tokens", int64(u.Output))
	m.int("reasoning_tokens", int64(u.Reasoning))
	m.int("cached_tokens", int64(u.Cached))
	o.b = m.end()
}

func (e *TurnEvent) appendJSON(dst []byte) []byte {
	o := beginObject(dst)
	o.str("type", "turn")
	o.int("turn", int64(e.Turn))
	o.str("finish", e.Finish)
	e.Usage.members(&o)
	o.int("ms", e.Time.Milliseconds())
	return o.end()
}

func (e *RetryEvent) appendJSON(dst []byte) []byte {
	o := beginObject(dst)
	o.str("type", "retry")
	o.int("attempt", int64(e.Attempt))
	o.int("of", int64(e.Of))
	o.int("after_ms", e.After.Milliseconds())
	if e.Status != 0 {
		o.int("status", int64(e.Status))
	}
	o.str("message", e.Message)
	return o.end()
}

func (e *WarningEvent) appendJSON(dst []byte) []byte {
	o := beginObject(dst)
	o.str("type", "warning")
	o.str("code", e.Code)
	o.str("message", e.Message)
	o.optional("server", e.Server)
	return o.end()
}

func (e *ToolEvent) appendJSON(dst []byte) []byte {
	o := beginObject(dst)
	o.str("type", "tool")
	o.str("name", e.Name)
	o.str("server", e.Server)
	o.str("tool", e.Tool)
	o.str("description", e.Description)
	o.raw("schema", e.Schema)
	o.raw("output_schema", e.OutputSchema)
	o.raw("annotations", e.Annotations)
	o.str("verdict", e.Verdict)
	o.optional("rule", e.Rule)
	return o.end()
}

func (e *ListedServerEvent) appendJSON(dst []byte) []byte {
	o := beginObject(dst)
	o.str("type", "server")
	o.str("name", e.Name)
	o.str("target", e.Target)
	o.str("transport", e.Transport)
	o.str("protocol", e.Protocol)
	o.int("tools", int64(e.Tools))
	o.str("status", e.Status)
	o.optional("message", e.Message)
	return o.end()
}

func (e *ItemEvent) appendJSON(dst []byte) []byte {
	o := beginObject(dst)
	o.str("type", e.Kind)
	o.str("server", e.Server)
	o.optional("uri", e.URI)
	o.str("name", e.Name)
	o.optional("description", e.Description)
	o.optional("mime_type", e.MIME)
	if e.Template {
		o.bool("template", true)
	}
	o.raw("arguments", e.Arguments)
	return o.end()
}

func (e *ExplanationEvent) appendJSON(dst []byte) []byte {
	o := beginObject(dst)
	o.str("type", "explanation")
	o.str("name", e.Name)
	o.raw("arguments", e.Arguments)
	e.members(&o)
	if e.Approver {
		o.bool("approver", true)
	}
	o.name("rules")
	o.b = append(o.b, '[')
	for i, r := range e.Rules {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		m := beginObject(o.b)
		m.str("decision", r.Decision)
		m.str("rule", r.Rule)
		m.optional("reason", r.Reason)
		o.b = m.end()
	}
	o.b = append(o.b, ']')
	return o.end()
}

func (e *EndEvent) appendJSON(dst []byte) []byte {
	o := beginObject(dst)
	o.str("type", "end")
	o.str("status", string(e.Status))
	o.int("exit", int64(e.Exit))
	o.text("text", e.Text)
	o.str("finish", e.Finish)
	o.int("turns", int64(e.Turns))
	o.int("tool_calls", int64(e.ToolCalls))
	o.int("denied", int64(e.Denied))
	e.Usage.members(&o)
	o.int("ms", e.Time.Milliseconds())
	if e.Err != nil {
		o.name("error")
		m := beginObject(o.b)
		m.str("message", e.Err.Message)
		m.optional("hint", joinLines(e.Err.Hints))
		o.b = m.end()
	}
	if e.Items != nil {
		o.name("items")
		o.b = append(o.b, '[')
		for i, it := range e.Items {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.b = it.appendJSON(o.b)
		}
		o.b = append(o.b, ']')
	}
	return o.end()
}
