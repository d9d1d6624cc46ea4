// Package event holds every event of a run, and the forms of standard output as
// functions from events to bytes: the answer as text, one event a line, the end
// as one object, the conversation, lists for people.
//
// Package run makes the events and hands them to an Emitter, which gives each to
// every Output in the same order. Secrets are taken out of them before that. The
// first event is Start and the last is End; no control character leaves in JSON.
package event

import (
	"encoding/json"
	"time"

	"toolpipe/run/failure"
)

// Event is something that happened in a run. All kinds of events are in this
// file, and their comments are the specification of the NDJSON output, schema 1:
// each event is one line, an object with the member type and the members named
// here. Members and types may be added within schema 1.
type Event interface {
	members(o *object) // writes the members, the type first
}

const schema = 1

// Start is the first event.
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

// ServerInfo is one server in Start.
type ServerInfo struct {
	Name, Protocol string
	Tools          int
}

// Text is a piece of the answer as it arrives. text: turn, text.
type Text struct {
	Turn int
	Text []byte
}

// Reasoning is a piece of the model's reasoning. reasoning: turn, text.
type Reasoning struct {
	Turn int
	Text []byte
}

// Call is a call that the model asks for.
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

// Approval is the verdict on a call.
//
//	approval: id, decision (allow, deny, unapproved), by (flag, policy, config,
//	terminal, approver, default), rule, reason
type Approval struct{ ID, Decision, By, Rule, Reason string }

// Denial tells the user why the call may not run. The rule is named, which the
// model is not told of. It is "" when there is nothing more to say.
func (e *Approval) Denial() string {
	switch {
	case e.Decision != "deny" || e.By == "terminal" || e.Rule == "":
		return e.Reason
	case e.Reason == "":
		return "by " + e.Rule
	}
	return "by " + e.Rule + ": " + e.Reason
}

// Progress is what a server says of a running call.
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
	ResultError   ResultStatus = "error"  // isError
	ResultFailed  ResultStatus = "failed" // JSON-RPC error, or never sent
	ResultDenied  ResultStatus = "denied"
	ResultInvalid ResultStatus = "invalid" // unknown tool, bad arguments
	ResultUnknown ResultStatus = "unknown" // sent, no answer
	ResultNotRun  ResultStatus = "not_run" // the run ended first, or a dry run
)

// Result answers a Call; every call has exactly one.
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

// Total counts each token once.
func (u Usage) Total() int { return u.Input + u.Output }

// Turn ends a reply of the model. turn: turn, finish, usage
// {input_tokens, output_tokens, reasoning_tokens, cached_tokens}, ms.
type Turn struct {
	Turn   int
	Finish string
	Usage  Usage
	Time   time.Duration
}

// Retry tells that a request is repeated.
//
//	retry: attempt, of (absent when only the time is limited), after_ms,
//	status (absent without an HTTP status), message
type Retry struct {
	Attempt, Of int
	After       time.Duration
	Status      int
	Message     string
}

// Warning is something the user should know. warning: code, message, server.
type Warning struct{ Code, Message, Server string }

// Tool is one tool of --list-tools or --describe-tool.
// tool: name, server, tool, description, schema, annotations, verdict, rule.
type Tool struct {
	Name, Server, Tool, Description string
	Schema, OutputSchema            json.RawMessage
	Annotations                     json.RawMessage
	Verdict, Rule                   string
}

// Server is one server of --list-servers.
// server: name, target, transport, protocol, tools, status, message.
type Server struct {
	Name, Target, Transport, Protocol string
	Tools                             int
	Status, Message                   string
}

// Item is one resource or prompt of --list-resources or --list-prompts.
//
//	resource: server, uri, name, description, mime_type, template
//	prompt: server, name, description, arguments [{name, description, required}]
type Item struct {
	Kind                                 string // "resource" or "prompt"
	Server, URI, Name, Description, MIME string
	Template                             bool
	Arguments                            []PromptArgument // of a prompt; nil: not written
}

// PromptArgument is one argument that a prompt takes.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// Explanation is the answer of --explain.
//
//	explanation: name, arguments, decision, by, rule, reason, approver (true
//	when an approver is asked before), rules [{decision, rule, reason}]
type Explanation struct {
	Name      string
	Arguments json.RawMessage
	Approval
	Approver bool
	Rules    []ExplainedRule
}

// ExplainedRule is a rule that matched.
type ExplainedRule struct{ Decision, Rule, Reason string }

// End is the last event.
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
